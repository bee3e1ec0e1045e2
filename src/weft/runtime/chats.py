"""Chats as Markdown files: a path written out, and a file read into a tree with its notes found again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from weft.context.layers.chats import Chat, ChatContext, ChatMessage, read_chat, write_chat
from weft.context.layers.resolving import NoteReference, resolve_notes
from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.knowledge.notes import Mounted
from weft.runtime.contexts.items import item_of, mounted_in, read_items
from weft.runtime.operations.agents import AddAgent
from weft.runtime.operations.envelopes import add_legacy_text
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.nodes import AppendHistory
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.trees import Plant
from weft.store.envelopes import legacy_texts
from weft.store.references import find_agent, find_tree
from weft.tree.agent import AgentType
from weft.tree.content import plain_text
from weft.tree.item import Item
from weft.tree.node import Role
from weft.tree.tree import Mode, Tree, title_from
from weft.tree.wire import iso

if TYPE_CHECKING:
    from weft.grove.grove import Grove

__all__ = ["ImportChat", "LoadedChat", "chat_of", "chat_text", "load_chat"]

_SPEAKER = "Imported"
_MODEL = "imported:unknown"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_MESSAGE_LIMIT = 100_000
_TITLE_LIMIT = 500


def chat_text(grove: "Grove", tree: str, node: str | None) -> str:
    return write_chat(chat_of(grove, tree, node))


def chat_of(grove: "Grove", tree: str, node: str | None) -> Chat:
    """The path to a node as a chat: what was said, and what was attached; nothing of what was sent."""
    read = grove.read
    value = read.tree(tree)
    if value.mode is not Mode.DIALOGUE:
        raise InvalidInputError("a text in buffer mode is no chat", hint="weft read writes it out")
    path = read.path(tree, node)
    with read.store.read() as session:
        saved = legacy_texts(session, find_tree(session, value.id))
    messages: list[ChatMessage] = []
    warnings: list[str] = []
    for each in path:
        text = plain_text(each.content)
        if each.role is Role.TOOL:
            warnings.append(f"[{each.local_id}] is what a tool gave, and is not part of a chat")
        elif text or each.attachments:
            messages.append(
                ChatMessage(
                    role=each.role.value,
                    text=text,
                    context=_context(each.attachments),
                    time=iso(each.created_at),
                    id=each.id,
                    processed_text=saved.get(each.id),
                )
            )
    return Chat(title=value.title, messages=tuple(messages), warnings=tuple(warnings))


def _context(items: Sequence[Item]) -> ChatContext:
    """Notes that a tag or folder stands for are not listed again."""
    stood_for = {
        name for item in items if item.type in {"tag", "folder"} for name in item.content.split("\n")
    }
    notes = [item for item in items if item.type in {"note", "active_note"} and item.id not in stood_for]
    known = {"note", "active_note", "url", "tag", "folder"}
    return ChatContext(
        notes=tuple(NoteReference(item.id, item.sha256) for item in notes),
        urls=tuple(item.id for item in items if item.type == "url"),
        tags=tuple(item.id for item in items if item.type == "tag"),
        folders=tuple(item.id.removeprefix("folder:") for item in items if item.type == "folder"),
        others=tuple(item.id for item in items if item.type not in known),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedChat:
    """What came of a file."""

    tree: Tree
    messages: int
    warnings: tuple[str, ...]


def load_chat(grove: "Grove", text: str, *, agent: str | None = None, title: str | None = None) -> LoadedChat:
    """A new tree from a chat: all of it, or nothing. Contents are read fresh.

    `agent` is the model that its answers are put down to.
    """
    chat = read_chat(text)
    if not chat.messages:
        raise InvalidInputError(
            "no message was found: this is not a chat", hint="messages begin with **user**: or **ai**:"
        )
    if len(chat.messages) > _MESSAGE_LIMIT:
        raise LimitExceededError(f"a chat has at most {_MESSAGE_LIMIT:,} messages")
    finder = _Finder(grove, list(chat.warnings))
    items = [finder.items(message.context) for message in chat.messages]
    named = title or " ".join(chat.title.split()) or title_from(chat.messages[0].text)
    operation = ImportChat(title=named[:_TITLE_LIMIT], messages=chat.messages, items=items, agent=agent)
    tree = grove.read.tree(grove.perform(operation).id)
    return LoadedChat(tree=tree, messages=len(chat.messages), warnings=tuple(dict.fromkeys(finder.warnings)))


class _Finder:
    """Finds what a chat names: by full path, then by unique base name, else not at all."""

    def __init__(self, grove: "Grove", warnings: list[str]) -> None:
        self._grove = grove
        self._mounted: Mounted = mounted_in(grove.caller)
        self._listing = self._mounted.paths()
        self.warnings = warnings
        self._drain()

    def items(self, context: ChatContext) -> list[Item]:
        found: dict[str, Item] = {}
        notes = [self._known(each) for each in context.notes]
        for resolved, asked in zip(resolve_notes(notes, self._listing), notes, strict=True):
            if resolved.warning is not None:
                self.warnings.append(resolved.warning)
            if resolved.path is None:
                continue
            item = self._read(resolved.path)
            if item is not None:
                found[item.id] = item
                if asked.sha256 is not None and item.sha256 != asked.sha256:
                    self.warnings.append(f"{item.id} has changed since; it is read as it is now")
        for name in context.urls:
            found[name] = Item(id=name, type="url", content="")
            self.warnings.append(f"{name} is named, but not fetched")
        references = [*context.tags, *(f"folder:{name}" for name in context.folders), *context.others]
        for reference in references:
            for item in self._expanded(reference):
                found.setdefault(item.id, item)
        return list(found.values())

    def _known(self, asked: NoteReference) -> NoteReference:
        """A note by its id: its vault's name is part of it only while an earlier vault has that path too."""
        if ":" not in asked.path:
            return asked
        try:
            return asked._replace(path=self._mounted.place(asked.path).id)
        except WeftError:
            return asked

    def _read(self, path: str) -> Item | None:
        try:
            return item_of(self._mounted.note(path))
        except WeftError as error:
            self.warnings.append(f"{path} is skipped: {error.message}")
            return None

    def _expanded(self, reference: str) -> Sequence[Item]:
        text = (
            reference
            if reference.startswith(("#", "folder:", "doc:", "[")) or "#" in reference
            else f"#{reference}"
        )
        try:
            read = read_items(self._grove.caller, [text])
        except WeftError as error:
            self.warnings.append(f"{reference} is skipped: {error.message}")
            return ()
        self.warnings += read.warnings
        return read.items

    def _drain(self) -> None:
        self.warnings += self._mounted.warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportChat(Editing):
    """Plant a tree with a chat's messages, in one transaction."""

    verb: ClassVar[str] = "import a chat"
    title: str
    messages: Sequence[ChatMessage]
    items: Sequence[Sequence[Item]]
    agent: str | None = None

    def apply(self, scope: Scope) -> Tree:
        # The grove first, as everyone who needs both does.
        scope.open_grove()
        speaker = self._speaker(scope)
        tree = Plant(title=self.title, content="", mode=Mode.DIALOGUE).apply(scope)
        for message, items in zip(self.messages, self.items, strict=True):
            role = _ROLES[message.role]
            made = AppendHistory(
                tree=tree.id,
                content=message.text,
                attachments=items,
                role=role,
                author=speaker if role is Role.ASSISTANT else None,
            ).apply(scope)
            if message.processed_text is not None:
                state = scope.open_tree(tree.id)
                add_legacy_text(scope, state, scope.node(state, made.id), message.processed_text)
        return tree

    def _speaker(self, scope: Scope) -> str | None:
        """Who the answers are put down to: the model that was named, or one that stands for any."""
        if self.agent is not None or all(each.role != "assistant" for each in self.messages):
            return self.agent
        try:
            key = find_agent(scope.transaction, _SPEAKER)
        except WeftError:
            return AddAgent(name=_SPEAKER, type=AgentType.MODEL, model_ref=_MODEL).apply(scope).id
        return scope.transaction.agent(key).ulid
