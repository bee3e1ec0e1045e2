"""Every kind of event, and what it means backwards."""

from collections.abc import Mapping

from weft.runtime.undoing.making import Making, Moving, Typing
from weft.runtime.undoing.marking import Bookmarking, Excluding, Itemising, Pruning, Restoring
from weft.runtime.undoing.preferring import Preferring
from weft.runtime.undoing.projects import ArchivingProject, Assigning, ChangingProject, StartingProject
from weft.runtime.undoing.records import Recording
from weft.runtime.undoing.referring import Folding, Linking, Tagging
from weft.runtime.undoing.remembering import Remembering
from weft.runtime.undoing.step import Reversal
from weft.runtime.undoing.vaults import Mounting
from weft.runtime.undoing.wholes import (
    AddingAgent,
    ArchivingAgent,
    ArchivingDocument,
    ChangingAgent,
    Describing,
    Planting,
    PuttingAway,
    Saving,
    StartingDocument,
)
from weft.tree.event_kinds import EventKind, Subject

__all__ = ["REVERSALS"]

REVERSALS: Mapping[EventKind, Reversal] = {
    **dict.fromkeys((kind for kind in EventKind if kind.subject is Subject.NODE), Making()),
    EventKind.SWITCH: Moving(),
    EventKind.TYPE: Typing(),
    **dict.fromkeys((EventKind.EXCLUDE, EventKind.INCLUDE), Excluding()),
    **dict.fromkeys((EventKind.BOOKMARK, EventKind.UNBOOKMARK), Bookmarking()),
    EventKind.PRUNE: Pruning(),
    EventKind.RESTORE: Restoring(),
    **dict.fromkeys((EventKind.ATTACH, EventKind.DETACH), Itemising()),
    **dict.fromkeys((EventKind.COLLAPSE, EventKind.EXPAND, EventKind.UNCOLLAPSE), Folding()),
    **dict.fromkeys((EventKind.LINK, EventKind.UNLINK), Linking()),
    **dict.fromkeys((EventKind.TAG, EventKind.UNTAG), Tagging()),
    EventKind.DESCRIBE: Describing(),
    EventKind.ASSIGN: Assigning(),
    **dict.fromkeys((EventKind.ARCHIVE, EventKind.UNARCHIVE), PuttingAway()),
    **dict.fromkeys((EventKind.PIN, EventKind.UNPIN, EventKind.STASH, EventKind.UNSTASH), Remembering()),
    EventKind.PLANT: Planting(),
    EventKind.DOCUMENT: StartingDocument(),
    EventKind.SAVE: Saving(),
    **dict.fromkeys((EventKind.ARCHIVE_DOCUMENT, EventKind.RESTORE_DOCUMENT), ArchivingDocument()),
    EventKind.PROJECT: StartingProject(),
    EventKind.CHANGE_PROJECT: ChangingProject(),
    **dict.fromkeys((EventKind.ARCHIVE_PROJECT, EventKind.RESTORE_PROJECT), ArchivingProject()),
    EventKind.PREFER_IN_GROVE: Preferring(),
    **dict.fromkeys((EventKind.MOUNT, EventKind.UNMOUNT), Mounting()),
    EventKind.RECORD: Recording(),
    EventKind.AGENT: AddingAgent(),
    EventKind.CHANGE_AGENT: ChangingAgent(),
    **dict.fromkeys((EventKind.ARCHIVE_AGENT, EventKind.RESTORE_AGENT), ArchivingAgent()),
}
"""How each kind that is reversible is taken back and done again."""
