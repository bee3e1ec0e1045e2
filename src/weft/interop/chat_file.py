"""Chats as Markdown: the visible text, what was attached, and a hidden comment."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, cast

from weft.context.envelope import canonical
from weft.context.items.blocks import one_line
from weft.context.items.note_lookup import NoteReference
from weft.errors import InvalidInputError
from weft.tree.json import JsonValue

_ROLES = {"user": "user", "ai": "assistant", "assistant": "assistant", "system": "system"}
_SAID_BY = {"user": "user", "assistant": "ai", "system": "system"}
_HEADER = re.compile(r"(?:#{1,6} +)?\*\*(user|ai|assistant|system)\*\*: ?", re.IGNORECASE)
_CONTEXT = re.compile(r"\[Context: (.*)\]\s*\Z")
_TIME = re.compile(r"\[Timestamp: (.*)\]\s*\Z")
_COMMENT = re.compile(r"<!-- (weft|copilot)-context: (.*) -->\s*\Z")
_STRUCTURE = (
    r"(?:\*\*(?:user|ai|assistant|system)\*\*:|\[Context: |\[Timestamp: |<!-- (?:weft|copilot)-context: )"
)
_LIKE_STRUCTURE = re.compile(rf"\\*{_STRUCTURE}", re.IGNORECASE)
_ESCAPED = re.compile(rf"\\+{_STRUCTURE}", re.IGNORECASE)
_LABELS = {"Notes": "notes", "URLs": "urls", "Tags": "tags", "Folders": "folders"}

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContext:
    """What a message had attached: notes by their full paths, everything else as it is."""

    notes: tuple[NoteReference, ...] = ()
    urls: Names = ()
    tags: Names = ()
    folders: Names = ()
    others: Names = ()
    """Ids of what the line has no place for: lines of notes, documents, nodes. Only the comment has them."""

    def __bool__(self) -> bool:
        return bool(self.notes or self.urls or self.tags or self.folders or self.others)

    @property
    def line(self) -> str:
        parts = (
            ("Notes", [note.path for note in self.notes]),
            ("URLs", self.urls),
            ("Tags", self.tags),
            ("Folders", self.folders),
        )
        shown = [f"{label}: {', '.join(map(one_line, names))}" for label, names in parts if names]
        return f"[Context: {' | '.join(shown)}]" if shown else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    role: str
    """`user`, `assistant` or `system`."""
    text: str
    """As it is displayed."""
    context: ChatContext = field(default_factory=ChatContext)
    time: str = ""
    """As it is shown, in any form."""
    id: str = ""
    processed_text: str | None = None
    """Of a message that was saved without an envelope: what was sent for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    title: str = ""
    messages: tuple[ChatMessage, ...] = ()
    warnings: Names = ()
    """What could not be read."""


def write_chat(chat: Chat) -> str:
    """A chat as a Markdown file. Envelopes are not in it: contents are read fresh when it is loaded."""
    lines = [
        "---",
        f"topic: {json.dumps(chat.title, ensure_ascii=False)}",
        "tags:",
        "  - weft-chat",
        "---",
        "",
    ]
    for message in chat.messages:
        lines += _written(message)
    return "\n".join(lines)


def _written(message: ChatMessage) -> Iterator[str]:
    if message.role not in _SAID_BY:
        raise InvalidInputError(
            f"a chat has no role {message.role!r}", hint=f"use one of {', '.join(_SAID_BY)}"
        )
    first, *rest = message.text.split("\n")
    yield f"**{_SAID_BY[message.role]}**: {first}"
    for line in rest:
        yield f"\\{line}" if _LIKE_STRUCTURE.match(line) else line
    if message.context.line:
        yield message.context.line
    if message.time:
        yield f"[Timestamp: {one_line(message.time)}]"
    yield f"<!-- weft-context: {_hidden(message)} -->"
    yield ""


def _hidden(message: ChatMessage) -> str:
    context = message.context
    hidden: dict[str, JsonValue] = {"id": message.id} if message.id else {}
    if context.notes:
        hidden["notes"] = [
            {"path": note.path} if note.sha256 is None else {"path": note.path, "sha256": note.sha256}
            for note in context.notes
        ]
    listed = (
        ("urls", context.urls),
        ("tags", context.tags),
        ("folders", context.folders),
        ("others", context.others),
    )
    hidden |= {name: list(values) for name, values in listed if values}
    if message.processed_text is not None:
        hidden["processedText"] = message.processed_text
    # Two dashes, or one with a bracket, would end the comment.
    text = canonical(hidden).replace("--", "-\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def read_chat(text: str) -> Chat:
    """Read a chat that we wrote exactly, and one that others wrote as well as it can be."""
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    lines = text.removeprefix("\ufeff").split("\n")
    title, start = _front(lines)
    warnings: list[str] = []
    messages: list[ChatMessage] = []
    heads = [index for index in range(start, len(lines)) if _HEADER.match(lines[index])]
    for head, end in pairwise([*heads, len(lines)]):
        messages.append(_message(lines[head:end], warnings, len(messages)))
    return Chat(title=title, messages=tuple(messages), warnings=tuple(warnings))


def _front(lines: Sequence[str]) -> tuple[str, int]:
    """The title, and the line after the front matter."""
    if not lines or lines[0].strip() != "---":
        return "", 0
    title = ""
    for index in range(1, len(lines)):
        if lines[index].strip() == "---":
            return title, index + 1
        if lines[index].startswith("topic:"):
            title = _title(lines[index].removeprefix("topic:").strip())
    return "", 0


def _title(text: str) -> str:
    try:
        title = json.loads(text)
    except ValueError:
        return text
    return title if isinstance(title, str) else text


def _message(lines: Sequence[str], warnings: list[str], number: int) -> ChatMessage:
    header = cast("re.Match[str]", _HEADER.match(lines[0]))
    body = [lines[0][header.end() :], *lines[1:]]
    _drop_blank(body)
    comment = _taken(body, _COMMENT)
    ours = comment is not None and comment[1] == "weft"
    if comment is not None and not ours:
        _drop_blank(body)
    time = _taken(body, _TIME)
    visible = _taken(body, _CONTEXT)
    hidden: Mapping[str, JsonValue] = {} if comment is None else _read_hidden(comment[2], warnings, number)
    content = (
        "\n".join([body[0], *map(_unescaped, body[1:])] if body else []) if ours else "\n".join(body).strip()
    )
    return ChatMessage(
        role=_ROLES[header[1].lower()],
        text=content,
        context=_context(visible[0].rstrip() if visible else "", hidden),
        time=time[1] if time is not None else "",
        id=str(hidden.get("id", "")),
        processed_text=saved if isinstance(saved := hidden.get("processedText"), str) else None,
    )


def _drop_blank(body: list[str]) -> None:
    while len(body) > 1 and not body[-1].strip():
        body.pop()


def _taken(body: list[str], pattern: re.Pattern[str]) -> "re.Match[str] | None":
    """The last line, if it is one of these."""
    match = pattern.match(body[-1]) if len(body) > 1 else None
    if match is not None:
        body.pop()
    return match


def _unescaped(line: str) -> str:
    return line[1:] if _ESCAPED.match(line) else line


def _read_hidden(text: str, warnings: list[str], number: int) -> Mapping[str, JsonValue]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping):
        return cast("Mapping[str, JsonValue]", value)
    warnings.append(f"the hidden context of message {number + 1} cannot be read; its visible line is used")
    return {}


def _context(line: str, hidden: Mapping[str, JsonValue]) -> ChatContext:
    """The comment's, which is exact; the line's, if that was changed by hand."""
    exact = ChatContext(
        notes=tuple(_notes(hidden.get("notes"))),
        urls=tuple(_strings(hidden.get("urls"))),
        tags=tuple(_strings(hidden.get("tags"))),
        folders=tuple(_strings(hidden.get("folders"))),
        others=tuple(_strings(hidden.get("others"))),
    )
    if exact and (not line or exact.line == line):
        return exact
    return _context_of_line(line, exact) if line else ChatContext()


def _context_of_line(line: str, exact: ChatContext) -> ChatContext:
    hashes = {note.path: note for note in exact.notes}
    names: dict[str, list[str]] = {}
    label = "notes"
    for part in line.removeprefix("[Context: ").removesuffix("]").split(" | "):
        head, colon, values = part.partition(": ")
        if colon and head in _LABELS:
            label, part = _LABELS[head], values  # noqa: PLW2901 - a part without a label goes on with the last
        names.setdefault(label, []).extend(each.strip() for each in part.split(", ") if each.strip())
    return ChatContext(
        notes=tuple(hashes.get(path, NoteReference(path)) for path in names.get("notes", ())),
        urls=tuple(names.get("urls", ())),
        tags=tuple(names.get("tags", ())),
        folders=tuple(names.get("folders", ())),
        others=exact.others,
    )


def _notes(value: JsonValue) -> Iterator[NoteReference]:
    for each in _list(value):
        if isinstance(each, str):
            yield NoteReference(each)
        elif isinstance(each, Mapping) and isinstance(path := each.get("path"), str):
            digest = each.get("sha256")
            yield NoteReference(path, digest if isinstance(digest, str) else None)


def _strings(value: JsonValue) -> Iterator[str]:
    return (each for each in _list(value) if isinstance(each, str))


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
