"""Weft: a loom for branching conversations and texts, and the engine that decides what a model sees."""

from typing import TYPE_CHECKING

from weft.errors import WeftError

if TYPE_CHECKING:
    # The database, the engine and the providers load when a name is first used.
    from weft.context.manifest import Manifest
    from weft.context.result import Context
    from weft.grove.agent import AgentHandle, Collaborated, CollaboratorRun
    from weft.grove.document import DocumentHandle
    from weft.grove.grove import Grove
    from weft.grove.grove import open_grove as open  # noqa: A004 - `weft.open()` is how people say it
    from weft.grove.node import NodeHandle, NodePath
    from weft.grove.project import ProjectHandle
    from weft.grove.search import SearchHit
    from weft.grove.tree import TreeHandle
    from weft.grove.vault import VaultHandle
    from weft.runtime.contexts.options import ContextOptions
    from weft.runtime.generation.options import GenerationOptions, RunOptions
    from weft.runtime.generation.service import Generated, Stream
    from weft.runtime.search.results import Hits
    from weft.tree.agent import Agent, AgentType, Permission
    from weft.tree.content import Content
    from weft.tree.document import Document
    from weft.tree.item import Item
    from weft.tree.node import Node, Role, Status
    from weft.tree.reference import Project
    from weft.tree.tree import Mode, Path, Tree
else:
    from weft.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "Agent",
    "AgentHandle",
    "AgentType",
    "Collaborated",
    "CollaboratorRun",
    "Content",
    "Context",
    "ContextOptions",
    "Document",
    "DocumentHandle",
    "Generated",
    "GenerationOptions",
    "Grove",
    "Hits",
    "Item",
    "Manifest",
    "Mode",
    "Node",
    "NodeHandle",
    "NodePath",
    "Path",
    "Permission",
    "Project",
    "ProjectHandle",
    "Role",
    "RunOptions",
    "SearchHit",
    "Status",
    "Stream",
    "Tree",
    "TreeHandle",
    "VaultHandle",
    "WeftError",
    "__version__",
    "open",
]

__version__ = "0.1.0"
