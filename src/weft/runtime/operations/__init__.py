"""Everything that can be done to a grove, the same for people and models.

An operation is a value: what is to be done. The executor checks who may, runs it in one
transaction, and every one appends its event.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # An operation loads when it is first used: most programs use few of them.
    from weft.runtime.operations.attachments import Detach
    from weft.runtime.operations.collapsed_ranges import Collapse, Expand, Uncollapse
    from weft.runtime.operations.cursors import CommitBuffer, Direction, Switch, TypeText
    from weft.runtime.operations.documents import CreateDocument
    from weft.runtime.operations.edits import Edit, Erase, Join, Split
    from weft.runtime.operations.metadata import Bookmark, Exclude, Include, Prune, Restore, Unbookmark
    from weft.runtime.operations.nodes import Annotate, Append, Merge
    from weft.runtime.operations.projects import CreateProject
    from weft.runtime.operations.references import LinkTogether, TagTarget, Unlink, Untag
    from weft.runtime.operations.trees import Archive, DeleteTree, Describe, Plant, Unarchive
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Annotate",
    "Append",
    "Archive",
    "Bookmark",
    "Collapse",
    "CommitBuffer",
    "CreateDocument",
    "CreateProject",
    "DeleteTree",
    "Describe",
    "Detach",
    "Direction",
    "Edit",
    "Erase",
    "Exclude",
    "Expand",
    "Include",
    "Join",
    "LinkTogether",
    "Merge",
    "Plant",
    "Prune",
    "Restore",
    "Split",
    "Switch",
    "TagTarget",
    "TypeText",
    "Unarchive",
    "Unbookmark",
    "Uncollapse",
    "Unlink",
    "Untag",
]
