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

__all__ = ["FINAL", "REVERSALS_IN_GROVE", "REVERSALS_IN_TREE"]

_REFERRING: Mapping[str, Reversal] = {
    **dict.fromkeys(("link", "unlink"), Linking()),
    **dict.fromkeys(("tag", "untag"), Tagging()),
}

REVERSALS_IN_TREE: Mapping[str, Reversal] = {
    **dict.fromkeys(
        ("append", "generate", "annotate", "merge", "edit", "erase", "split", "join", "commit"), Making()
    ),
    "switch": Moving(),
    "type": Typing(),
    **dict.fromkeys(("exclude", "include"), Excluding()),
    **dict.fromkeys(("bookmark", "unbookmark"), Bookmarking()),
    "prune": Pruning(),
    "restore": Restoring(),
    **dict.fromkeys(("attach", "detach"), Itemising()),
    **dict.fromkeys(("collapse", "expand", "uncollapse"), Folding()),
    **_REFERRING,
    "describe": Describing(),
    "assign": Assigning(),
    **dict.fromkeys(("archive", "unarchive"), PuttingAway()),
    **dict.fromkeys(("pin", "unpin", "stash", "unstash"), Remembering()),
}
"""What is recorded in a tree's chain."""

REVERSALS_IN_GROVE: Mapping[str, Reversal] = {
    "plant": Planting(),
    "document": StartingDocument(),
    "save": Saving(),
    **dict.fromkeys(("archive-document", "restore-document"), ArchivingDocument()),
    "project": StartingProject(),
    "change-project": ChangingProject(),
    **dict.fromkeys(("archive-project", "restore-project"), ArchivingProject()),
    "prefer-in-grove": Preferring(),
    **dict.fromkeys(("mount", "unmount"), Mounting()),
    "record": Recording(),
    "agent": AddingAgent(),
    "change-agent": ChangingAgent(),
    **dict.fromkeys(("archive-agent", "restore-agent"), ArchivingAgent()),
    **_REFERRING,
}
"""What is recorded in the grove's."""

FINAL: Mapping[str, str] = {
    "delete": "deleting a tree cannot be undone: it is gone for good, and undo stops there",
    "import": "an import cannot be undone: archive or delete what came with it; undo stops there",
    "delete-document": "deleting a document cannot be undone: it is gone for good, and undo stops there",
    **dict.fromkeys(
        ("user", "archive-user", "restore-user", "set-role", "add-token", "revoke-token"),
        "who may enter is not a matter of undo: change it with weft users; undo stops there",
    ),
    "delete-records": "deleting records cannot be undone: they are gone for good, and undo stops there",
}
"""Kinds that nothing brings back, and how that is said."""
