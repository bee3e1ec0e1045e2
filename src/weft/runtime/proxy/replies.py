"""Answers of upstreams, read from their bytes: one JSON value, or server-sent events as far as they came."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from weft.interop.loose_json import first_text, loads, mapping, sequence, text
from weft.runtime.proxy.history import HistoryPart, read_reply
from weft.runtime.proxy.wires import Wire
from weft.tree.attempt import Usage
from weft.tree.json import JsonObject, JsonValue

_MOST_CHOICES = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an upstream answered."""

    choices: tuple[tuple[HistoryPart, ...], ...] = ()
    usage: Usage = field(default_factory=Usage)
    id: str = ""
    """The upstream's own id of the answer."""
    is_complete: bool = False
    """False: the stream broke off before its end."""
    error: str = ""

    @property
    def text(self) -> str:
        """The words of the first choice."""
        return "\n".join(part.text for part in (self.choices[0] if self.choices else ()) if part.text)


def parse_reply(wire: Wire, body: bytes, *, status: int, is_stream: bool) -> Reply:
    """Read an answer; what cannot be read gives a reply without choices."""
    if is_stream and status < 400:
        return _READERS[wire](list(_events(body)))
    whole = loads(body)
    if status >= 400 or not isinstance(whole, Mapping) or wire is Wire.COUNT:
        error = _error_in(mapping(whole)) if status >= 400 else ""
        return Reply(is_complete=status < 400, error=error or (f"status {status}" if status >= 400 else ""))
    return _whole(wire, whole, is_complete=True)


def _error_in(body: JsonObject) -> str:
    error = body.get("error")
    return error if isinstance(error, str) else first_text(mapping(error), "message", "type")


def _whole(wire: Wire, body: JsonObject, *, is_complete: bool) -> Reply:
    """One JSON value."""
    match wire:
        case Wire.MESSAGES | Wire.COUNT:
            said: list[JsonValue] = [body.get("content")]
        case Wire.CHAT:
            said = [mapping(each).get("message") for each in sequence(body.get("choices"))]
        case Wire.COMPLETIONS:
            said = [mapping(each).get("text") for each in sequence(body.get("choices"))]
        case Wire.RESPONSES:
            said = [body.get("output")]
            is_complete = is_complete and first_text(body, "status") not in {
                "failed",
                "incomplete",
                "cancelled",
            }
    return Reply(
        choices=tuple(read_reply(wire, each) for each in said[:_MOST_CHOICES]),
        usage=usage_of(wire, mapping(body.get("usage"))),
        id=first_text(body, "id"),
        is_complete=is_complete,
        error=_error_in(body),
    )


def usage_of(wire: Wire, usage: JsonObject) -> Usage:
    """Tokens as the upstream counts them; a prompt's tokens include the cached ones."""
    if wire.is_anthropic:
        read, written = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
        plain, said = _count(usage, "input_tokens"), _count(usage, "output_tokens")
        prompt = None if plain is None else plain + (read or 0) + (written or 0)
        total = None if prompt is None else prompt + (said or 0)
        return Usage(prompt=prompt, completion=said, total=total, cached_read=read, cached_write=written)
    if wire is Wire.RESPONSES:
        details = mapping(usage.get("input_tokens_details"))
        prompt, said = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    else:
        details = mapping(usage.get("prompt_tokens_details"))
        prompt, said = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return Usage(
        prompt=prompt,
        completion=said,
        total=_count(usage, "total_tokens"),
        cached_read=_count(details, "cached_tokens"),
        cached_write=_count(details, "cache_write_tokens"),
    )


def _count(usage: JsonObject, name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _events(body: bytes) -> Iterator[JsonObject]:
    """The data of each event; comments, marks of the end and what is not JSON are passed over."""
    for block in body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        data = b"\n".join(
            line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")
        )
        if data.strip() in {b"", b"[DONE]"}:
            continue
        try:
            value: object = orjson.loads(data)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            yield cast("JsonObject", value)


def _messages(events: Sequence[JsonObject]) -> Reply:
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, JsonValue] = {}
    name = error = ""
    is_complete = False
    for event in events:
        match first_text(event, "type"):
            case "message_start":
                message = mapping(event.get("message"))
                name = first_text(message, "id")
                usage.update(mapping(message.get("usage")))
            case "content_block_start":
                blocks[_index(event)] = dict(mapping(event.get("content_block")))
            case "content_block_delta":
                _add_delta(blocks.setdefault(_index(event), {}), mapping(event.get("delta")))
            case "message_delta":
                usage.update(
                    {key: each for key, each in mapping(event.get("usage")).items() if each is not None}
                )
            case "message_stop":
                is_complete = True
            case "error":
                error = _error_in(event)
            case _:
                pass
    said = [_finished(blocks[index]) for index in sorted(blocks)]
    return Reply(
        choices=(read_reply(Wire.MESSAGES, said),) if said else (),
        usage=usage_of(Wire.MESSAGES, usage),
        id=name,
        is_complete=is_complete and not error,
        error=error,
    )


def _index(event: JsonObject) -> int:
    value = event.get("index")
    return value if isinstance(value, int) else 0


def _add_delta(block: dict[str, Any], delta: JsonObject) -> None:
    for kind, name in _DELTAS.items():
        said = delta.get(kind)
        if isinstance(said, str):
            held = block.get(name)
            block[name] = (held if isinstance(held, str) else "") + said


_DELTAS = {"text": "text", "thinking": "thinking", "signature": "signature", "partial_json": "_json"}


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    """A block whose input came in pieces of JSON."""
    written = block.pop("_json", None)
    if isinstance(written, str) and written:
        read = loads(written)
        block["input"] = written if read is None else read
    return block


def _chat(events: Sequence[JsonObject]) -> Reply:
    messages: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[int, dict[str, Any]]] = {}
    finished: set[int] = set()
    usage: JsonObject = {}
    name = error = ""
    for event in events:
        name = name or first_text(event, "id")
        usage = mapping(event.get("usage")) or usage
        error = error or _error_in(event)
        for each in sequence(event.get("choices")):
            choice = mapping(each)
            index, delta = _index(choice), mapping(choice.get("delta"))
            message = messages.setdefault(index, {})
            for field_name in ("content", "reasoning_content", "reasoning", "refusal"):
                said = delta.get(field_name)
                if isinstance(said, str):
                    message[field_name] = message.get(field_name, "") + said
            for call in sequence(delta.get("tool_calls")):
                _add_call(calls.setdefault(index, {}), mapping(call))
            if choice.get("finish_reason") is not None:
                finished.add(index)
    for index, made in calls.items():
        messages[index]["tool_calls"] = [made[at] for at in sorted(made)]
    return Reply(
        choices=tuple(read_reply(Wire.CHAT, messages[index]) for index in sorted(messages)),
        usage=usage_of(Wire.CHAT, usage),
        id=name,
        is_complete=bool(messages) and finished >= messages.keys() and not error,
        error=error,
    )


def _add_call(calls: dict[int, dict[str, Any]], piece: JsonObject) -> None:
    held = calls.setdefault(_index(piece), {"id": "", "function": {"name": "", "arguments": ""}})
    held["id"] = held["id"] or first_text(piece, "id")
    function = mapping(piece.get("function"))
    held["function"]["name"] += text(function.get("name"))
    held["function"]["arguments"] += text(function.get("arguments"))


def _completions(events: Sequence[JsonObject]) -> Reply:
    texts: dict[int, str] = {}
    finished: set[int] = set()
    usage: JsonObject = {}
    name = error = ""
    for event in events:
        name = name or first_text(event, "id")
        usage = mapping(event.get("usage")) or usage
        error = error or _error_in(event)
        for each in sequence(event.get("choices")):
            choice = mapping(each)
            index = _index(choice)
            texts[index] = texts.get(index, "") + text(choice.get("text"))
            if choice.get("finish_reason") is not None:
                finished.add(index)
    return Reply(
        choices=tuple(read_reply(Wire.COMPLETIONS, texts[index]) for index in sorted(texts)),
        usage=usage_of(Wire.COMPLETIONS, usage),
        id=name,
        is_complete=bool(texts) and finished >= texts.keys() and not error,
        error=error,
    )


def _responses(events: Sequence[JsonObject]) -> Reply:
    """The last event has everything; without it, the items that were finished and the text of the next."""
    items: dict[int, JsonValue] = {}
    started: dict[int, str] = {}
    name = error = ""
    for event in events:
        kind = first_text(event, "type")
        response = mapping(event.get("response"))
        name = name or first_text(response, "id")
        if kind in {"response.completed", "response.incomplete", "response.failed"}:
            return _whole(Wire.RESPONSES, response, is_complete=kind == "response.completed")
        at = event.get("output_index")
        place = at if isinstance(at, int) else 0
        match kind:
            case "response.output_item.done":
                items[place] = event.get("item")
            case "response.output_text.delta":
                started[place] = started.get(place, "") + text(event.get("delta"))
            case "error" | "response.error":
                error = _error_in(event) or first_text(event, "message")
            case _:
                pass
    for place, said in started.items():
        items.setdefault(place, {"type": "message", "role": "assistant", "content": said})
    said_items: list[JsonValue] = [items[place] for place in sorted(items)]
    choices = (read_reply(Wire.RESPONSES, said_items),) if said_items else ()
    return Reply(choices=choices, id=name, error=error)


_READERS = {
    Wire.MESSAGES: _messages,
    Wire.COUNT: _messages,
    Wire.CHAT: _chat,
    Wire.COMPLETIONS: _completions,
    Wire.RESPONSES: _responses,
}
