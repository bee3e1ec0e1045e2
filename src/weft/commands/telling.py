"""How an action is told of afterwards, in the trace: `viewed a7x2`, `continued from b3k9`."""

from typing import NamedTuple, assert_never

from weft.commands import values as v

__all__ = ["Told", "told"]


class Told(NamedTuple):
    verb: str
    target: str = ""
    noun: str = "node"
    """What its targets are counted as when the trace is compressed."""


def told(action: v.Action) -> Told:  # noqa: C901, PLR0912 - one case for each command
    match action:
        case v.View(node):
            return Told("viewed", node)
        case v.ViewBranch(node):
            return Told("viewed branch of", node)
        case v.ViewResult(number):
            return Told("viewed", f"result:{number}", "result")
        case v.List(node, what):
            return Told(f"listed {what} of", node)
        case v.Tree(start):
            return Told("drew tree", f"from {start}" if start else "", "")
        case v.Switch(to):
            return Told("switched to", str(to))
        case v.Search(query):
            return Told("searched", f'"{_short(query)}"', "")
        case v.Think():
            return Told("thought", noun="")
        case v.Help():
            return Told("asked for help", noun="")
        case v.Pin(target):
            return Told("pinned", _target(target), "pin")
        case v.Stash(label):
            return Told("stashed", f'"{_short(label)}"', "")
        case v.Recall(label):
            return Told("recalled", f'"{_short(label)}"', "")
        case v.Drop(target):
            return Told("dropped", _target(target), "")
        case v.Memory():
            return Told("looked at memory", noun="")
        case v.Continue(start):
            return Told("continued from" if start else "continued", start or "")
        case v.Merge(nodes):
            return Told("merged", " and ".join(nodes))
        case v.Collapse(first, last):
            return Told("collapsed", f"{first}-{last}", "range")
        case v.Expand(name):
            return Told("expanded", f'"{_short(name)}"', "range")
        case v.Read(title):
            return Told("read", f'doc:"{_short(title)}"', "document")
        case v.Write(title):
            return Told("wrote", f'doc:"{_short(title)}"', "document")
        case v.Undo():
            return Told("undid", noun="")
        case v.Redo():
            return Told("redid", noun="")
        case (
            v.Respond(node)
            | v.Annotate(node)
            | v.Edit(node)
            | v.Split(node)
            | v.Join(node)
            | v.Attach(node)
            | v.Link(node)
            | v.Unlink(node)
            | v.Tag(node)
            | v.Untag(node)
            | v.Bookmark(node)
            | v.Unbookmark(node)
            | v.Prune(node)
            | v.Restore(node)
            | v.Exclude(node)
            | v.Include(node)
        ):
            return Told(_PAST[type(action).__name__.lower()], node)
        case _:
            assert_never(action)


_PAST = {
    "respond": "responded to",
    "annotate": "annotated",
    "edit": "edited",
    "split": "split",
    "join": "joined",
    "attach": "attached to",
    "link": "linked",
    "unlink": "unlinked",
    "tag": "tagged",
    "untag": "untagged",
    "bookmark": "bookmarked",
    "unbookmark": "unbookmarked",
    "prune": "pruned",
    "restore": "restored",
    "exclude": "excluded",
    "include": "included",
}


def _target(target: v.NodeTarget | v.DocumentTarget | v.ResultTarget | v.StashTarget) -> str:
    match target:
        case v.NodeTarget(node):
            return node
        case v.DocumentTarget(title):
            return f'doc:"{_short(title)}"'
        case v.ResultTarget(number):
            return f"result:{number}"
        case v.StashTarget(label):
            return f'stash "{_short(label)}"'
        case _:
            assert_never(target)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else line[:39] + "…"
