"""The tables of a grove.

The tree's key leads every primary key and index of what belongs to a tree, so that
rows of one tree lie together and a database can be sharded by tree. Inside, rows use
integer keys that count up within their tree; ULIDs and local ids are for the border.
Times are microseconds since 1970, UTC. Tree 0 is the grove itself.
"""

from weft.store.schema.columns import *  # noqa: F403 - every table, by its name
from weft.store.schema.evidence import *  # noqa: F403 - every table, by its name
from weft.store.schema.proxy import *  # noqa: F403 - every table, by its name
from weft.store.schema.records import *  # noqa: F403 - every table, by its name
from weft.store.schema.search_index import *  # noqa: F403 - every table, by its name
from weft.store.schema.trees import *  # noqa: F403 - every table, by its name
from weft.store.schema.work import *  # noqa: F403 - every table, by its name
