"""Messages as others write them: OpenAI's and Anthropic's dictionaries, read and copied, never changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from weft.context.masking import Mask, MaskRule, mask_of
from weft.context.shorten import least_tokens, shorten_texts
from weft.context.tokens import JOINT, Estimator
from weft.errors import InvalidInputError

PlainMessage: TypeAlias = Mapping[str, object]
Place: TypeAlias = tuple[str | int, ...]

SYSTEM_ROLES = frozenset({"system", "developer"})
ROLES = frozenset({"user", "assistant", "tool", "function"}) | SYSTEM_ROLES
_COUNTED = ("name", "refusal", "reasoning_content", "tool_call_id")
_STRUCTURED = ("tool_calls", "function_call", "audio")
_TEXTS = frozenset({"text", "input_text", "output_text"})
_MEDIA = frozenset(
    {"image", "image_url", "input_image", "input_audio", "audio", "document", "file", "input_file", "video"}
)


class MessageShape(NamedTuple):
    """What fitting has to know of a message."""

    role: str
    """`tool` for whatever carries results, however its author spells it."""
    tokens: int
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


class Measurer(NamedTuple):
    """How messages are counted."""

    estimator: Estimator
    media_tokens: int

    def shape(self, message: PlainMessage, index: int) -> MessageShape:
        """Read one message, whatever it carries."""
        role = message.get("role")
        if not isinstance(role, str) or role not in ROLES:
            raise InvalidInputError(
                f"messages[{index}] has the role {role!r}", hint=f"roles are {', '.join(sorted(ROLES))}"
            )
        of_text = self.estimator.of_text
        tokens = sum(of_text(text) for _, text in _slots(message)) + self.fixed(message)
        calls, results = tuple(calls_of(message)), tuple(results_of(message))
        if role == "function":
            # The old shape has no ids: a result belongs to whatever stands before it.
            results = results or ("",)
        carried = role == "tool" or bool(results)
        return MessageShape("tool" if carried else role, max(1, tokens), calls, results)

    def fixed(self, message: PlainMessage) -> int:
        """Tokens that no shortening can save: media, tool calls, names, whatever is signed."""
        of_text = self.estimator.of_text
        tokens = sum(of_text(value) for value in map(message.get, _COUNTED) if isinstance(value, str))
        tokens += sum(of_text(_json(value)) for value in map(message.get, _STRUCTURED) if value)
        content = message.get("content")
        if content is not None and not isinstance(content, str | list | tuple):
            # No provider's shape: whatever it is, it is not nothing.
            tokens += of_text(_json(content))
        return tokens + sum(self._block(block) for block in _blocks(message.get("content")))

    def of_tools(self, tools: object) -> int:
        """The schemas of tools, as the JSON that is sent."""
        given = _blocks(tools)
        if given is not tools or not all(isinstance(each, Mapping) for each in given):
            raise InvalidInputError(f"tools must be a list of dictionaries, got {tools!r}")
        return self.estimator.of_text(_json(given)) if given else 0

    def _block(self, block: object) -> int:
        """The part of a block that is not its text."""
        if isinstance(block, str):
            return 0
        if not isinstance(block, Mapping):
            return self.estimator.of_text(_json(block))
        fields = cast("PlainMessage", block)
        kind = _kind(fields)
        if kind == "document":
            return self._document(fields)
        if kind in _MEDIA:
            return self.media_tokens
        if kind == "tool_result":
            return sum(self._block(inner) for inner in _blocks(fields.get("content")))
        if kind in _TEXTS and isinstance(fields.get("text"), str):
            return 0
        return self.estimator.of_text(_json(fields))

    def _document(self, block: PlainMessage) -> int:
        """Anthropic's: words where it is given as words, else a medium like any other."""
        source = block.get("source")
        if not isinstance(source, Mapping):
            return self.media_tokens
        fields = cast("PlainMessage", source)
        words = {"text": "data", "content": "content"}.get(_kind(fields))
        if words is None:
            return self.media_tokens
        inside: PlainMessage = {"content": fields.get(words)}
        texts = sum(self.estimator.of_text(text) for _, text in _slots(inside))
        return max(1, texts + self.fixed(inside))

    def floor(self, message: PlainMessage) -> int:
        """The fewest tokens that the message can be brought down to."""
        least, of_text = least_tokens(self.estimator), self.estimator.of_text
        return max(1, self.fixed(message) + sum(min(least, of_text(text)) for _, text in _slots(message)))

    def shortened(self, message: PlainMessage, most: int) -> PlainMessage:
        """A copy whose longest texts are brought down to what there is room for."""
        shorter = shorten_texts(dict(_slots(message)), most - self.fixed(message), self.estimator)
        for place, text in shorter.items():
            message = _with_text(message, place, text)
        return message

    def masks(self, message: PlainMessage, names: Mapping[str, str], rule: MaskRule) -> tuple[Mask, ...]:
        """The message's tool results as lines, in their order. What holds anything opaque stays whole."""
        return tuple(self._mask(message, each, names, rule) for each in _result_slots(message))

    def _mask(
        self, message: PlainMessage, slot: "ResultSlot", names: Mapping[str, str], rule: MaskRule
    ) -> Mask:
        inside: PlainMessage = {"content": slot.content}
        if not all(map(_is_shown, _blocks(slot.content))):
            return Mask()
        of_text = self.estimator.of_text
        tokens = sum(of_text(text) for _, text in _slots(inside)) + self.fixed(inside)
        name = names.get(slot.call or "") or _name(message)
        return mask_of(name, tokens, f", call {slot.call}" if slot.call else "", rule, of_text)


def masked(message: PlainMessage, masks: Sequence[Mask]) -> PlainMessage:
    """A copy whose first tool results are lines; all else of it is untouched and in place."""
    for slot, mask in zip(_result_slots(message), masks, strict=False):
        if mask.line:
            message = _with_text(message, slot.place, mask.line)
    return message


def _is_shown(block: object) -> bool:
    """Whether a block of a tool's result is words or a medium, and nothing that only its provider understands."""
    return isinstance(block, str) or (
        isinstance(block, Mapping) and _kind(cast("PlainMessage", block)) in _TEXTS | _MEDIA
    )


def _kind(block: PlainMessage) -> str:
    """What a block says it is; anything else than a word is no kind that we know."""
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _blocks(content: object) -> Sequence[object]:
    return cast("Sequence[object]", content) if isinstance(content, list | tuple) else ()


def _slots(message: PlainMessage) -> Iterator[tuple[Place, str]]:
    """Every text that could be shortened, and where it stands."""
    content = message.get("content")
    if isinstance(content, str):
        yield ("content",), content
    for index, block in enumerate(_blocks(content)):
        yield from _slots_of_block(block, ("content", index))


def _slots_of_block(block: object, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(block, str):
        yield place, block
    if not isinstance(block, Mapping):
        return
    fields = cast("PlainMessage", block)
    text, content = fields.get("text"), fields.get("content")
    kind = _kind(fields)
    if kind in _TEXTS and isinstance(text, str):
        yield (*place, "text"), text
    elif kind == "tool_result" and isinstance(content, str):
        yield (*place, "content"), content
    elif kind == "tool_result":
        for index, inner in enumerate(_blocks(content)):
            yield from _slots_of_block(inner, (*place, "content", index))


def _with_text(value: object, place: Place, text: str) -> PlainMessage:
    """A copy of a structure with one text changed; what is not on the way is shared."""
    return cast("PlainMessage", _replaced(value, place, text))


def _replaced(value: object, place: Place, text: str) -> object:
    if not place:
        return text
    step, rest = place[0], place[1:]
    if isinstance(step, int):
        items = list(cast("Sequence[object]", value))
        items[step] = _replaced(items[step], rest, text)
        return items
    fields = dict(cast("PlainMessage", value))
    fields[step] = _replaced(fields[step], rest, text)
    return fields


def calls_of(message: PlainMessage) -> Iterator[str]:
    """The ids of the tools' calls that a message makes."""
    return (call for call, _ in named_calls(message))


def named_calls(message: PlainMessage) -> Iterator[tuple[str, str]]:
    """The ids of the tools' calls that a message makes, and the names of the tools."""
    for call in _objects(message.get("tool_calls")):
        yield str(call.get("id")), _name(call.get("function", call.get("custom")))
    if function := message.get("function_call"):
        yield "", _name(function)
    for block in _objects(message.get("content")):
        if block.get("type") == "tool_use":
            yield str(block.get("id")), _name(block)


def _name(tool: object) -> str:
    name = cast("PlainMessage", tool).get("name") if isinstance(tool, Mapping) else None
    return name if isinstance(name, str) else ""


def _objects(value: object) -> Iterator[PlainMessage]:
    return (cast("PlainMessage", each) for each in _blocks(value) if isinstance(each, Mapping))


def results_of(message: PlainMessage) -> Iterator[str]:
    """The ids of the calls that a message answers."""
    return (slot.call for slot in _result_slots(message) if slot.call is not None)


class ResultSlot(NamedTuple):
    """Where a message holds the result of a tool's call."""

    call: str | None
    """None in the old shape, which has no ids."""
    place: Place
    content: object


def _result_slots(message: PlainMessage) -> Iterator[ResultSlot]:
    content = message.get("content")
    if message.get("role") in {"tool", "function"}:
        call = str(message.get("tool_call_id")) if message.get("role") == "tool" else None
        yield ResultSlot(call, ("content",), content)
    for index, block in enumerate(_blocks(content)):
        if isinstance(block, Mapping) and cast("PlainMessage", block).get("type") == "tool_result":
            fields = cast("PlainMessage", block)
            place: Place = ("content", index, "content")
            yield ResultSlot(str(fields.get("tool_use_id")), place, fields.get("content"))


def carries_result(message: PlainMessage) -> bool:
    """Whether a message answers a tool call, whoever is said to have written it."""
    if message.get("role") in {"tool", "function"}:
        return True
    # Words alone, which most messages are, answer nothing.
    return not isinstance(message.get("content"), str) and any(True for _ in results_of(message))


def speaker_of(message: PlainMessage) -> str:
    """The role as fitting sees it: `tool` for whatever carries results."""
    role = cast("str", message["role"])
    return "tool" if role not in SYSTEM_ROLES and carries_result(message) else role


def _json(value: object) -> str:
    import json  # noqa: PLC0415 - plain messages never need it, and imports are counted in milliseconds

    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"a message holds what cannot be written as JSON: {error}") from None


def joined_before(marker: str, message: PlainMessage) -> PlainMessage:
    """A copy of a message that begins with a marker."""
    content = message.get("content")
    if isinstance(content, str) and content:
        return {**message, "content": f"{marker}{JOINT}{content}"}
    blocks = _blocks(content)
    return {**message, "content": [_text_block(marker, blocks), *blocks] if blocks else marker}


def joined_after(message: PlainMessage, marker: str) -> PlainMessage:
    content = message.get("content")
    if isinstance(content, str) and content:
        return {**message, "content": f"{content}{JOINT}{marker}"}
    blocks = _blocks(content)
    return {**message, "content": [*blocks, _text_block(marker, blocks)] if blocks else marker}


def are_plain(*messages: PlainMessage) -> bool:
    """Whether messages say nothing but who speaks and what, so that two can become one."""
    return all(message.keys() <= {"role", "content"} for message in messages)


def merged(one: PlainMessage, other: PlainMessage) -> PlainMessage:
    """Two messages of one role as one, with a blank line between texts."""
    before, after = one.get("content"), other.get("content")
    if isinstance(before, str) and isinstance(after, str):
        return {**other, "content": f"{before}{JOINT}{after}"}
    return {**other, "content": [*_as_blocks(before), *_as_blocks(after)]}


def _as_blocks(content: object) -> Sequence[object]:
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else _blocks(content)


def _text_block(text: str, beside: Sequence[object]) -> PlainMessage:
    """A block in the dialect of those it will stand beside."""
    kinds = {_kind(cast("PlainMessage", block)) for block in beside if isinstance(block, Mapping)}
    dialect = any(kind.startswith("input_") for kind in kinds)
    return {"type": "input_text" if dialect else "text", "text": text}
