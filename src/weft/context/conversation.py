"""A conversation as plain turns: the simplest way to say what a path holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.engine import assemble
from weft.context.envelope import Envelope
from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import ContextItem
from weft.context.items.library import Attached
from weft.context.request import ContextRequest, Pending, Profile, Strip
from weft.context.rows import Candidate, PathOutline, Reason, tokens_of_content
from weft.context.settings import LayerSettings, Preferences
from weft.context.system import Standing, SystemParts
from weft.context.tokens import DEFAULT, NO_LIMIT, Estimator
from weft.errors import InvalidInputError
from weft.tree.content import (
    Content,
    Image,
    Text,
    as_content,
    content_from_wire,
    content_to_wire,
    holds_results,
    kind_of,
    makes_calls,
)
from weft.tree.item import Item
from weft.tree.json import JsonObject, JsonValue
from weft.tree.measure import measure_content
from weft.tree.tool_spec import ToolSpec
from weft.tree.tree import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationTurn:
    """What one side asked and the other answered."""

    id: str
    text: str | Content
    items: tuple[ContextItem, ...] = ()
    answer: str | Content | None = None
    processed_text: str | None = None
    """Of a message that was saved without an envelope: sent as it is."""
    left_out: Reason | None = None
    pinned: frozenset[str] = frozenset()
    """Ids of items that were put into the library by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Everything about a conversation that its requests have in common."""

    id: str = ""
    turns: tuple[ConversationTurn, ...] = ()
    system: SystemParts = field(default_factory=SystemParts)
    standing: Standing = field(default_factory=Standing)
    settings: LayerSettings = field(default_factory=LayerSettings)
    preferences: Preferences = field(default_factory=Preferences)
    profile: Profile = field(default_factory=Profile)
    estimator: Estimator = DEFAULT
    window: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    tool_descriptions: str = ""
    readers: frozenset[str] = frozenset()
    """Names of tools that read on where only an outline is shown."""
    memory_block: str = ""
    loom_context: str = ""
    strip: Strip | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContextRequest:
    """What a turn brings: the wire's input."""

    chat_id: str = ""
    current_message_id: str = ""
    user_text: str = ""
    attachments: tuple[ContextItem, ...] = ()
    tool_outputs: tuple[ToolOutput, ...] = ()
    provider: str = ""
    budget: int | None = None
    """None: as much as there is."""

    def to_wire(self) -> JsonObject:
        return {
            "chatId": self.chat_id,
            "currentMessageId": self.current_message_id,
            "userText": self.user_text,
            "attachments": [_attachment_to_wire(each) for each in self.attachments],
            "toolOutputs": [
                {"name": each.name, "content": each.whole, "attributes": dict(each.attributes)}
                for each in self.tool_outputs
            ],
            "provider": self.provider,
            "budget": self.budget,
        }


def assemble_turn(
    conversation: Conversation,
    request: PromptContextRequest,
    *,
    fresh: Mapping[str, ContextItem] | None = None,
) -> Envelope:
    """The envelope of the next turn of a conversation."""
    rows, contents, attached = _rows(conversation)
    asked = ContextRequest(
        mode=Mode.DIALOGUE,
        layered=True,
        outline=PathOutline(tail=rows),
        budget=NO_LIMIT if request.budget is None else request.budget,
        window=conversation.window,
        system=conversation.system,
        preferences=conversation.preferences,
        estimator=conversation.estimator,
        profile=conversation.profile,
        pending=Pending(text=request.user_text),
        conversation_id=request.chat_id or conversation.id,
        message_id=request.current_message_id,
        attached=attached,
        items=request.attachments,
        fresh=dict(fresh or {}),
        standing=conversation.standing,
        tool_outputs=request.tool_outputs,
        tools=conversation.tools,
        tool_descriptions=conversation.tool_descriptions,
        readers=conversation.readers,
        memory_block=conversation.memory_block,
        loom_context=conversation.loom_context,
        strip=conversation.strip,
        alone=bool(request.user_text or request.attachments),
        settings=conversation.settings,
    )
    return assemble(asked, contents).laid_out


def _rows(conversation: Conversation) -> tuple[list[Candidate], dict[str, Content], list[Attached]]:
    rows: list[Candidate] = []
    contents: dict[str, Content] = {}
    attached: list[Attached] = []
    ruler = 0
    for turn in conversation.turns:
        asked = as_content(turn.text) if turn.processed_text is None else Text(turn.processed_text)
        sides = [("user", turn.id, asked)]
        if turn.answer is not None:
            sides.append(("assistant", f"{turn.id}.answer", as_content(turn.answer)))
        attached += [
            Attached(len(rows), item, pinned=item.id in turn.pinned, left_out=turn.left_out)
            for item in turn.items
        ]
        for role, name, content in sides:
            ruler += measure_content(content).tokens
            tokens = tokens_of_content(content, conversation.estimator)
            rows.append(
                Candidate(
                    name,
                    name,
                    role,
                    tokens,
                    ruler,
                    kind=kind_of(content),
                    left_out=turn.left_out,
                    asks=makes_calls(content),
                    answers=holds_results(content),
                )
            )
            contents[name] = content
    return rows, contents, attached


def _attachment_to_wire(each: ContextItem) -> JsonObject:
    shown = {"title": each.title, "created": each.created, "modified": each.modified}
    images: JsonObject = {"images": [content_to_wire(image) for image in each.images]} if each.images else {}
    return {
        "id": each.id,
        "type": each.type,
        "sha256": each.sha256,
        "content": each.content,
        "recoverable": each.recoverable,
        **{name: value for name, value in shown.items() if value is not None},
        **images,
    }


def read_prompt_request(value: JsonValue) -> PromptContextRequest:
    """Read the wire's input; errors name the field."""
    fields = _object(value, "request")
    return PromptContextRequest(
        chat_id=_text(fields, "chatId"),
        current_message_id=_text(fields, "currentMessageId"),
        user_text=_text(fields, "userText"),
        attachments=tuple(
            _attachment(each, f"attachments[{index}]")
            for index, each in enumerate(_list(fields, "attachments"))
        ),
        tool_outputs=tuple(
            _tool_output(each, f"toolOutputs[{index}]")
            for index, each in enumerate(_list(fields, "toolOutputs"))
        ),
        provider=_text(fields, "provider"),
        budget=_count(fields, "budget"),
    )


def _attachment(value: JsonValue, path: str) -> ContextItem:
    fields = _object(value, path)
    name, kind = _text(fields, "id", path), _text(fields, "type", path)
    if not name or not kind:
        raise InvalidInputError(f"{path} needs an id and a type")
    recoverable = fields.get("recoverable", True)
    if not isinstance(recoverable, bool):
        raise InvalidInputError(f"{path}.recoverable must be true or false")
    item = Item(id=name, type=kind, content=_text(fields, "content", path), recoverable=recoverable)
    given = fields.get("sha256")
    if given is not None and given != item.sha256:
        raise InvalidInputError(f"{path}.sha256 is not the hash of its content")
    return ContextItem(
        item=item,
        title=_text(fields, "title", path) or None,
        created=_text(fields, "created", path) or None,
        modified=_text(fields, "modified", path) or None,
        images=tuple(_images(fields, path)),
    )


def _images(fields: Mapping[str, JsonValue], path: str) -> Iterator[Image]:
    for index, each in enumerate(_list(fields, "images", path)):
        image = content_from_wire(each, path=f"{path}.images[{index}]")
        if not isinstance(image, Image):
            raise InvalidInputError(f"{path}.images[{index}] must be an image")
        yield image


def _tool_output(value: JsonValue, path: str) -> ToolOutput:
    fields = _object(value, path)
    attributes = _object(fields.get("attributes") or {}, f"{path}.attributes")
    return ToolOutput(
        name=_text(fields, "name", path),
        content=_text(fields, "content", path),
        attributes={name: _text(attributes, name, f"{path}.attributes") for name in attributes},
    )


def _object(value: JsonValue, path: str) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{path} must be an object")
    return value


def _text(fields: Mapping[str, JsonValue], name: str, path: str = "request") -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInputError(f"{path}.{name} must be a string")
    return value


def _list(fields: Mapping[str, JsonValue], name: str, path: str = "request") -> Sequence[JsonValue]:
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise InvalidInputError(f"{path}.{name} must be a list")
    return value


def _count(fields: Mapping[str, JsonValue], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"request.{name} must be a whole number of at least 0")
    return value
