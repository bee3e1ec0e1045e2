"""Every kind of event, and what is true of it: the only list of kinds.

A kind's value is the word in the event log, in exports and on the wire; it never changes.
Code that treats some kinds alike asks for an attribute, so that a new kind is declared here
once and is known everywhere. Compare a recorded word with `EventKind.X.value`, or take `EventKind.of`.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, Flag, StrEnum, auto
from typing import Self

from weft.tree.json import JsonObject


class Subject(Enum):
    """What an event of some kind changes."""

    GROVE = auto()
    HISTORY = auto()
    NODE = auto()
    CURSOR = auto()
    BUFFER = auto()
    EXCLUSION = auto()
    BOOKMARK = auto()
    PRUNE = auto()
    ITEM = auto()
    RANGE = auto()
    LINK = auto()
    TAG = auto()
    MEMORY = auto()
    TREE = auto()
    DOCUMENT = auto()
    PROJECT = auto()
    AGENT = auto()
    VAULT = auto()
    RECORD = auto()
    SETTINGS = auto()
    USER = auto()
    CALL = auto()
    TIMESTAMP = auto()
    SUMMARY = auto()
    GROUP_INDEX = auto()


class Trait(Flag):
    """What else is true of a kind."""

    NONE = 0
    CREATES_NODES = auto()
    """Its payload's `nodes` are new nodes. The list may be empty."""
    EVIDENCE = auto()
    """Not a step of an agent's work: undo skips it, because a call that was made stays made."""
    STEP = auto()
    """An undo or a redo: it names the event that it steps over."""
    BEGINNING = auto()
    """The first event of the grove: there is nothing before it to go back to."""
    KEEPS_PATHS = auto()
    """The path to every node that was there before reads as it did: it adds nodes, or is about other things."""
    CHANGES_LISTING = auto()
    """Trees or documents appear in the list of resources, disappear from it or get another title."""


_USERS = "who may enter is not a matter of undo: change it with weft users; undo stops there"


class EventKind(StrEnum):
    """One kind of event. Kinds without `final`, evidence, step or beginning can be undone and redone."""

    _value_: str
    subject: Subject
    traits: Trait
    final: str | None
    """Why it cannot be undone; None where that is not so."""

    def __new__(
        cls, word: str, subject: Subject, traits: Trait = Trait.NONE, final: str | None = None
    ) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.subject = subject
        member.traits = traits
        member.final = final
        return member

    FOUND = "found", Subject.GROVE, Trait.BEGINNING
    UNDO = "undo", Subject.HISTORY, Trait.STEP
    REDO = "redo", Subject.HISTORY, Trait.STEP

    APPEND = "append", Subject.NODE, Trait.CREATES_NODES | Trait.KEEPS_PATHS
    GENERATE = "generate", Subject.NODE, Trait.CREATES_NODES | Trait.KEEPS_PATHS
    ANNOTATE = "annotate", Subject.NODE, Trait.CREATES_NODES
    MERGE = "merge", Subject.NODE, Trait.CREATES_NODES | Trait.KEEPS_PATHS
    EDIT = "edit", Subject.NODE, Trait.CREATES_NODES
    ERASE = "erase", Subject.NODE, Trait.CREATES_NODES
    SPLIT = "split", Subject.NODE, Trait.CREATES_NODES
    JOIN = "join", Subject.NODE, Trait.CREATES_NODES
    COMMIT = "commit", Subject.NODE, Trait.CREATES_NODES
    # A switch commits the working buffer first.
    SWITCH = "switch", Subject.CURSOR, Trait.CREATES_NODES
    TYPE = "type", Subject.BUFFER, Trait.KEEPS_PATHS

    EXCLUDE = "exclude", Subject.EXCLUSION
    INCLUDE = "include", Subject.EXCLUSION
    BOOKMARK = "bookmark", Subject.BOOKMARK
    UNBOOKMARK = "unbookmark", Subject.BOOKMARK
    PRUNE = "prune", Subject.PRUNE
    RESTORE = "restore", Subject.PRUNE
    ATTACH = "attach", Subject.ITEM
    DETACH = "detach", Subject.ITEM
    COLLAPSE = "collapse", Subject.RANGE
    EXPAND = "expand", Subject.RANGE
    UNCOLLAPSE = "uncollapse", Subject.RANGE
    LINK = "link", Subject.LINK, Trait.KEEPS_PATHS
    UNLINK = "unlink", Subject.LINK, Trait.KEEPS_PATHS
    TAG = "tag", Subject.TAG, Trait.KEEPS_PATHS
    UNTAG = "untag", Subject.TAG, Trait.KEEPS_PATHS
    PIN = "pin", Subject.MEMORY, Trait.KEEPS_PATHS
    UNPIN = "unpin", Subject.MEMORY, Trait.KEEPS_PATHS
    STASH = "stash", Subject.MEMORY, Trait.KEEPS_PATHS
    UNSTASH = "unstash", Subject.MEMORY, Trait.KEEPS_PATHS
    RECALL = "recall", Subject.MEMORY, Trait.EVIDENCE | Trait.KEEPS_PATHS
    THINK = "think", Subject.MEMORY, Trait.EVIDENCE | Trait.KEEPS_PATHS

    PLANT = "plant", Subject.TREE, Trait.CREATES_NODES | Trait.CHANGES_LISTING
    DESCRIBE = "describe", Subject.TREE, Trait.CHANGES_LISTING | Trait.KEEPS_PATHS
    ASSIGN = "assign", Subject.TREE, Trait.KEEPS_PATHS
    ARCHIVE = "archive", Subject.TREE, Trait.CHANGES_LISTING
    UNARCHIVE = "unarchive", Subject.TREE, Trait.CHANGES_LISTING
    DELETE = (
        *("delete", Subject.TREE, Trait.CHANGES_LISTING),
        "deleting a tree cannot be undone: it is gone for good, and undo stops there",
    )
    IMPORT = (
        *("import", Subject.GROVE, Trait.CHANGES_LISTING),
        "an import cannot be undone: archive or delete what came with it; undo stops there",
    )

    DOCUMENT = "document", Subject.DOCUMENT, Trait.CHANGES_LISTING
    SAVE = "save", Subject.DOCUMENT
    ARCHIVE_DOCUMENT = "archive-document", Subject.DOCUMENT, Trait.CHANGES_LISTING
    RESTORE_DOCUMENT = "restore-document", Subject.DOCUMENT, Trait.CHANGES_LISTING
    DELETE_DOCUMENT = (
        *("delete-document", Subject.DOCUMENT, Trait.CHANGES_LISTING),
        "deleting a document cannot be undone: it is gone for good, and undo stops there",
    )
    PROJECT = "project", Subject.PROJECT
    CHANGE_PROJECT = "change-project", Subject.PROJECT
    ARCHIVE_PROJECT = "archive-project", Subject.PROJECT
    RESTORE_PROJECT = "restore-project", Subject.PROJECT
    AGENT = "agent", Subject.AGENT
    CHANGE_AGENT = "change-agent", Subject.AGENT
    ARCHIVE_AGENT = "archive-agent", Subject.AGENT
    RESTORE_AGENT = "restore-agent", Subject.AGENT
    MOUNT = "mount", Subject.VAULT
    UNMOUNT = "unmount", Subject.VAULT
    RECORD = "record", Subject.RECORD
    DELETE_RECORDS = (
        *("delete-records", Subject.RECORD, Trait.NONE),
        "deleting records cannot be undone: they are gone for good, and undo stops there",
    )
    PREFER_IN_GROVE = "prefer-in-grove", Subject.SETTINGS
    PREFER = "prefer", Subject.SETTINGS, Trait.EVIDENCE | Trait.KEEPS_PATHS

    USER = "user", Subject.USER, Trait.NONE, _USERS
    ARCHIVE_USER = "archive-user", Subject.USER, Trait.NONE, _USERS
    RESTORE_USER = "restore-user", Subject.USER, Trait.NONE, _USERS
    SET_ROLE = "set-role", Subject.USER, Trait.NONE, _USERS
    ADD_TOKEN = "add-token", Subject.USER, Trait.NONE, _USERS
    REVOKE_TOKEN = "revoke-token", Subject.USER, Trait.NONE, _USERS

    ATTEMPT = "attempt", Subject.CALL, Trait.EVIDENCE | Trait.KEEPS_PATHS
    ENVELOPE = "envelope", Subject.CALL, Trait.EVIDENCE | Trait.KEEPS_PATHS
    KEEP_RESULT = "keep-result", Subject.CALL, Trait.EVIDENCE | Trait.KEEPS_PATHS
    ASK_APPROVAL = "ask-approval", Subject.CALL, Trait.EVIDENCE | Trait.KEEPS_PATHS
    DECIDE_APPROVAL = "decide-approval", Subject.CALL, Trait.EVIDENCE | Trait.KEEPS_PATHS
    TIMESTAMP = "timestamp", Subject.TIMESTAMP, Trait.EVIDENCE
    CERTIFY = "certify", Subject.TIMESTAMP, Trait.EVIDENCE
    SUMMARISE = "summarise", Subject.SUMMARY, Trait.EVIDENCE | Trait.KEEPS_PATHS
    INDEX_GROUPS = "index-groups", Subject.GROUP_INDEX, Trait.EVIDENCE
    OPEN_GROUP = "open-group", Subject.GROUP_INDEX, Trait.EVIDENCE
    FORGET_GROUPS = "forget-groups", Subject.GROUP_INDEX, Trait.EVIDENCE

    @classmethod
    def of(cls, word: str) -> Self | None:
        """The kind of a recorded event; None for a word that this version of Weft does not know."""
        try:
            return cls(word)
        except ValueError:
            return None

    @property
    def is_reversible(self) -> bool:
        """True if undo takes it back."""
        return self.final is None and not self.traits & (Trait.EVIDENCE | Trait.STEP | Trait.BEGINNING)


def _with(trait: Trait) -> frozenset[str]:
    return frozenset(kind.value for kind in EventKind if trait in kind.traits)


CREATING_KINDS = _with(Trait.CREATES_NODES)
EVIDENCE_KINDS = _with(Trait.EVIDENCE)
STEP_KINDS = _with(Trait.STEP)
LISTING_KINDS = _with(Trait.CHANGES_LISTING)
PATH_KEEPING_KINDS = _with(Trait.KEEPS_PATHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One step of an undo or a redo."""

    direction: str
    """`undo` or `redo`."""
    kind: str
    """Of the operation that was undone or redone."""
    ordinal: int
    """Of that operation's event."""
    event: int
    """The ordinal of the event that records this step."""
    tree_id: str | None
    """None: in the grove itself."""
    nodes: tuple[str, ...]
    """Ids of nodes that it hid or showed."""
    run: str | None = None
    """The generation it is a part of: its continuations are undone together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One recorded operation, as a history lists it."""

    ordinal: int
    kind: str
    agent_id: str
    agent_name: str
    created_at: datetime
    payload: JsonObject
    nodes: tuple[str, ...]
    """Local ids of the nodes it is about."""
    undone: bool
    """True if it was undone and not redone since."""
