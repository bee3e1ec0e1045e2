"""A command in its canonical form: what hints show, traces keep, and `parse` reads back."""

from typing import assert_never

from weft.commands import values as v
from weft.commands.strings import written

__all__ = ["write_command"]


def write_command(command: v.Command) -> str:
    """The command as the catalog would say it, without the arrow."""
    text = write_action(command.action)
    if command.tree is not None:
        text += f" in tree:{written(command.tree)}"
    return f"{text} in:grove" if command.grove else text


def write_action(action: v.Action) -> str:  # noqa: C901, PLR0912 - one case for each command
    match action:
        case v.View(node, full, annotations):
            return f"view {node}{' full' if full else ''}{' with-annotations' if annotations else ''}"
        case v.ViewBranch(node, shape):
            return f"view branch:{node} as:{shape}"
        case v.ViewResult(number):
            return f"view result:{number}"
        case v.List(node, what):
            return f"list {node} {what}"
        case v.Tree(start, depth, summary):
            words = ["tree", f"from:{start}" if start else "", f"depth:{depth}", "summary" if summary else ""]
            return " ".join(filter(None, words))
        case v.Switch(to):
            return f"switch {to}" if isinstance(to, v.Direction) else f"switch to {to}"
        case v.Search(query):
            return f"search {written(query)}"
        case v.Think(text):
            return f"think {text}".rstrip()
        case v.Help(name):
            return f"help {name or ''}".rstrip()
        case v.Pin() | v.Stash() | v.Recall() | v.Drop() | v.Memory():
            return _remembering(action)
        case v.Respond(node, text, context, instruction):
            return (
                f"respond {node} {written(text)}{_ids('context', context)}{_ids('instruction', instruction)}"
            )
        case v.Annotate(node, text):
            return f"annotate {node} {written(text)}"
        case v.Edit(node, text):
            return f"edit {node} {written(text)}"
        case v.Merge(nodes, text):
            return f"merge {' '.join(nodes)} {written(text)}"
        case v.Split(node, at):
            return f"split {node} at:{written(at)}"
        case v.Attach(node, item):
            return f"attach {node} {written(item)}"
        case v.Continue():
            return _continue(action)
        case v.Read() | v.Write():
            return _document(action)
        case v.Join(node) | v.Prune(node) | v.Restore(node) | v.Exclude(node) | v.Include(node):
            return f"{type(action).__name__.lower()} {node}"
        case v.Unbookmark(node):
            return f"unbookmark {node}"
        case v.Undo() | v.Redo():
            return type(action).__name__.lower()
        case v.Link(node, to, note):
            return f"link {node} to {_target(to)}{f' note:{written(note)}' if note else ''}"
        case v.Unlink(node, to):
            return f"unlink {node} from {_target(to)}"
        case v.Tag(node, name):
            return f"tag {node} {written(name)}"
        case v.Untag(node, name):
            return f"untag {node} {written(name)}"
        case v.Bookmark(node, label):
            return f"bookmark {node}{f' {written(label)}' if label is not None else ''}"
        case v.Collapse(first, last, name, description):
            more = f" {written(description)}" if description else ""
            return f"collapse {first}-{last} {written(name)}{more}"
        case v.Expand(name):
            return f"expand {written(name)}"
        case _:
            assert_never(action)


def _remembering(action: v.Pin | v.Stash | v.Recall | v.Drop | v.Memory) -> str:
    match action:
        case v.Pin(target):
            return f"pin {_target(target)}"
        case v.Stash(label, what):
            return f"stash {written(label)} {_stashed(what)}"
        case v.Recall(label):
            return f"recall {written(label)}"
        case v.Drop(target):
            return f"drop {_dropped(target)}"
        case v.Memory(view):
            return "memory" if view is v.MemoryView.ALL else f"memory {view}"
        case _:
            assert_never(action)


def _stashed(what: v.Literal | v.ContentOf | v.SummaryOf) -> str:
    match what:
        case v.Literal(text):
            return written(text)
        case v.ContentOf(node):
            return f"content-of:{node}"
        case v.SummaryOf(first, last):
            return f"summary-of:{first}-{last}"
        case _:
            assert_never(what)


def _dropped(target: v.NodeTarget | v.DocumentTarget | v.ResultTarget | v.StashTarget) -> str:
    match target:
        case v.StashTarget(label):
            return f"stash:{written(label)}"
        case v.NodeTarget(node):
            return f"pin:{node}"
        case v.ResultTarget() | v.DocumentTarget():
            return f"pin {_target(target)}"
        case _:
            assert_never(target)


def _target(target: v.NodeTarget | v.DocumentTarget | v.TreeTarget | v.ResultTarget) -> str:
    match target:
        case v.NodeTarget(node):
            return node
        case v.DocumentTarget(title, section):
            return f"doc:{written(title)}{f' section:{written(section)}' if section else ''}"
        case v.TreeTarget(title):
            return f"tree:{written(title)}"
        case v.ResultTarget(number):
            return f"result:{number}"
        case _:
            assert_never(target)


def _ids(name: str, ids: tuple[str, ...]) -> str:
    return f" {name}:{','.join(ids)}" if ids else ""


def _continue(action: v.Continue) -> str:
    words = [
        "continue",
        f"from {action.start}" if action.start else "",
        f"n:{action.n}" if action.n != 1 else "",
    ]
    words.append(f"tokens:{action.tokens}" if action.tokens is not None else "")
    words.append(f"temp:{action.temperature:.12g}" if action.temperature is not None else "")
    words.append("stop:" + ",".join(written(each) for each in action.stop) if action.stop else "")
    words.append(f"using agent:{written(action.agent)}" if action.agent is not None else "")
    return " ".join(filter(None, words))


def _document(action: v.Read | v.Write) -> str:
    if isinstance(action, v.Read):
        return f"read doc:{written(action.document)}{_part(action.part)}"
    return f"write doc:{written(action.document)} {_place(action.place)} {written(action.text)}"


def _part(part: v.SummaryOnly | v.Lines | v.SectionOf | None) -> str:
    match part:
        case None:
            return ""
        case v.SummaryOnly():
            return " summary"
        case v.Lines(first, last):
            return f" lines:{first}-{last}"
        case v.SectionOf(section):
            return f" section:{written(section)}"
        case _:
            assert_never(part)


def _place(place: v.Append | v.At | v.Replace) -> str:
    match place:
        case v.Append():
            return "append"
        case v.At(where):
            return f"at:{where}" if isinstance(where, int) else f"at:{written(where)}"
        case v.Replace(what):
            return (
                f"replace:{what.first}-{what.last}"
                if isinstance(what, v.Lines)
                else f"replace:{written(what)}"
            )
        case _:
            assert_never(place)
