"""Chats as Markdown files: write a path to one, and read one into a new tree with its notes attached."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.context.items.blocks import READ_URL
from weft.context.items.note_lookup import NoteReference, resolve_notes
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.interop.chat_file import Chat, ChatContext, ChatMessage, read_chat, write_chat
from weft.knowledge.notes import Mounted
from weft.knowledge.tools.base import WebPage
from weft.runtime.contexts.items import item_of, read_items
from weft.runtime.operations.agents import AddAgent
from weft.runtime.operations.envelopes import add_legacy_text
from weft.runtime.operations.executor import Caller, Editing
from weft.runtime.operations.nodes import AppendHistory
from weft.runtime.operations.projects import mounted_in
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.trees import Plant
from weft.runtime.tools.service import ToolService
from weft.runtime.tools.tool_context import tool_context
from weft.runtime.views.reader import Reader
from weft.store.lookup import find_agent, find_tree
from weft.store.request_records import legacy_texts
from weft.tree.agent import AgentType
from weft.tree.content import plain_text
from weft.tree.item import Item
from weft.tree.json_names import iso
from weft.tree.node import Role
from weft.tree.tree import Mode, Tree, title_from

_IMPORTED = "Imported"
_MODEL = "imported:unknown"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
_MESSAGE_LIMIT = 100_000
_TITLE_LIMIT = 500


def chat_text(caller: Caller, tree: str, node: str | None) -> str:
    """The path to a node as a chat in Markdown: its messages and attachments, not the requests sent to models."""
    reader = Reader.of(caller)
    value = reader.tree(tree)
    if value.mode is not Mode.DIALOGUE:
        raise InvalidInputError("a tree in buffer mode is not a chat", hint=Hint(HintKind.READ_TEXT))
    path = reader.path(tree, node)
    with caller.store.read() as session:
        saved = legacy_texts(session, find_tree(session, value.id))
    messages: list[ChatMessage] = []
    warnings: list[str] = []
    for each in path:
        text = plain_text(each.content)
        if each.role is Role.TOOL:
            warnings.append(f"[{each.local_id}] is a tool's result, and is not written to a chat")
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
    return write_chat(Chat(title=value.title, messages=tuple(messages), warnings=tuple(warnings)))


def _context(items: Sequence[Item]) -> ChatContext:
    """Notes that came with a tag or folder are not listed again."""
    expanded = {name for item in items if item.type in {"tag", "folder"} for name in item.content.split("\n")}
    notes = [item for item in items if item.type in {"note", "active_note"} and item.id not in expanded]
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
    """The tree that a file became."""

    tree: Tree
    messages: int
    warnings: tuple[str, ...]


def load_chat(caller: Caller, text: str, *, agent: str | None = None, title: str | None = None) -> LoadedChat:
    """Plant a tree from a chat: all of it, or nothing. Notes are read as they are now.

    `agent` is the model that becomes the author of the answers.
    """
    chat = read_chat(text)
    if not chat.messages:
        raise InvalidInputError(
            "this is not a chat: it has no messages", hint="messages begin with **user**: or **ai**:"
        )
    if len(chat.messages) > _MESSAGE_LIMIT:
        raise LimitExceededError(f"a chat has at most {_MESSAGE_LIMIT:,} messages")
    finder = NoteFinder(caller, chat.warnings)
    items = [finder.items(message.context) for message in chat.messages]
    named = title or " ".join(chat.title.split()) or title_from(chat.messages[0].text)
    operation = ImportChat(title=named[:_TITLE_LIMIT], messages=chat.messages, items=items, agent=agent)
    tree = Reader.of(caller).tree(caller.perform(operation).id)
    return LoadedChat(tree=tree, messages=len(chat.messages), warnings=tuple(dict.fromkeys(finder.warnings)))


class NoteFinder:
    """Finds the notes that a chat names: by full path, then by unique base name."""

    def __init__(self, caller: Caller, warnings: Sequence[str]) -> None:
        self._caller = caller
        self._mounted: Mounted = mounted_in(caller)
        self._listing = self._mounted.paths()
        self.warnings = [*warnings, *self._mounted.warnings]

    def items(self, context: ChatContext) -> list[Item]:
        items: dict[str, Item] = {}
        notes = [self._known(each) for each in context.notes]
        for resolved, reference in zip(resolve_notes(notes, self._listing), notes, strict=True):
            if resolved.warning is not None:
                self.warnings.append(resolved.warning)
            if resolved.path is None:
                continue
            item = self._read(resolved.path)
            if item is not None:
                items[item.id] = item
                if reference.sha256 is not None and item.sha256 != reference.sha256:
                    self.warnings.append(
                        f"{item.id} has changed since the chat was saved; its present content is attached"
                    )
        for name in context.urls:
            items[name] = self._page(name)
        references = [*context.tags, *(f"folder:{name}" for name in context.folders), *context.others]
        for reference in references:
            for item in self._expanded(reference):
                items.setdefault(item.id, item)
        return list(items.values())

    @cached_property
    def _read_url(self) -> Callable[[str], WebPage] | None:
        """Reads a page; None where the tool is off for this caller."""
        offered = {each.name: each for each in ToolService(self._caller).offered()}
        reads = READ_URL in offered and offered[READ_URL].off is None
        return tool_context(self._caller).read_url if reads else None

    def _page(self, address: str) -> Item:
        """The page as `readUrl` reads it. Without its text it stays attached, and contexts omit it."""
        why = "readUrl is off" if self._read_url is None else ""
        if self._read_url is not None:
            try:
                page = self._read_url(address)
                if page.text.strip():
                    return Item(id=address, type="url", content=page.text, title=page.title or None)
                why = "it has no text"
            except WeftError as error:
                why = error.message
        self.warnings.append(f"{address} is omitted from contexts: its page was not read ({why})")
        return Item(id=address, type="url", content="")

    def _known(self, reference: NoteReference) -> NoteReference:
        """A note by its id: its vault's name is part of it only while an earlier vault has that path too."""
        if ":" not in reference.path:
            return reference
        try:
            return reference._replace(path=self._mounted.place(reference.path).id)
        except WeftError:
            return reference

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
            read = read_items(self._caller, [text])
        except WeftError as error:
            self.warnings.append(f"{reference} is skipped: {error.message}")
            return ()
        self.warnings += read.warnings
        return read.items


class ImportChat(Editing, verb="import a chat"):
    """Plant a tree with a chat's messages, in one transaction."""

    title: str
    messages: Sequence[ChatMessage]
    items: Sequence[Sequence[Item]]
    agent: str | None = None

    def apply(self, scope: Scope) -> Tree:
        # The grove is locked before the tree, as in every operation that needs both.
        scope.open_grove()
        author = self._author(scope)
        tree = Plant(title=self.title, content="", mode=Mode.DIALOGUE).apply(scope)
        for message, items in zip(self.messages, self.items, strict=True):
            role = _ROLES[message.role]
            node = AppendHistory(
                tree=tree.id,
                content=message.text,
                attachments=items,
                role=role,
                author=author if role is Role.ASSISTANT else None,
            ).apply(scope)
            if message.processed_text is not None:
                state = scope.open_tree(tree.id)
                add_legacy_text(scope, state, scope.node(state, node.id), message.processed_text)
        return tree

    def _author(self, scope: Scope) -> str | None:
        """The author of the answers: the named model, or one called Imported."""
        if self.agent is not None or all(each.role != "assistant" for each in self.messages):
            return self.agent
        try:
            key = find_agent(scope.transaction, _IMPORTED)
        except WeftError:
            return AddAgent(name=_IMPORTED, type=AgentType.MODEL, model_ref=_MODEL).apply(scope).id
        return scope.transaction.agent(key).ulid
