"""Parts of messages in the vendors' own shapes: Anthropic blocks, OpenAI messages and Responses items."""

import base64
import binascii
from collections.abc import Iterator, Mapping

from weft.interop.conversation import EmbeddedImage, Part, UnpairedResult
from weft.interop.loose_json import NOTHING, arguments_of, first_text, mapping, sequence, text
from weft.tree.content import Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonObject, JsonValue
from weft.tree.node import Role

ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "gpt": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "chatgpt": Role.ASSISTANT,
    "gemini": Role.ASSISTANT,
    "function_call": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "observation": Role.TOOL,
    "tool_response": Role.TOOL,
}
_OPAQUE = ("signature", "data", "encrypted_content")


def role_named(name: str) -> Role:
    """The role that a program's word stands for; an unknown one is a person's."""
    return ROLES.get(name.strip().lower(), Role.USER)


def text_parts(value: JsonValue) -> tuple[Part, ...]:
    """A string, or a list of strings and text objects."""
    if isinstance(value, str):
        return (Text(value),) if value else ()
    return tuple(part for item in sequence(value) for part in _block(item))


def content_parts(value: JsonValue) -> tuple[Part, ...]:
    """Content of a message: text, or blocks of any of the vendors."""
    return text_parts([value] if isinstance(value, Mapping) else value)


def _block(item: JsonValue) -> Iterator[Part]:
    if isinstance(item, str):
        yield Text(item)
        return
    block = mapping(item)
    match text(block.get("type")):
        case "text" | "input_text" | "output_text" | "summary_text" | "":
            said = first_text(block, "text", "value", "content")
            if said:
                yield Text(said)
        case "thinking" | "reasoning" | "reasoning_content" | "think" | "redacted_thinking":
            yield from thinking(block)
        case (
            "tool_use"
            | "toolCallRequest"
            | "server_tool_use"
            | "tool_call"
            | "function_call"
            | "mcp_tool_use"
        ):
            yield tool_call(block)
        case (
            "tool_result"
            | "toolCallResult"
            | "web_search_tool_result"
            | "mcp_tool_result"
            | "function_call_output"
        ):
            yield tool_result(block)
        case "image" | "image_url" | "input_image" | "image_file":
            yield image(block)
        case "refusal":
            yield Text(text(block.get("refusal")))
        case kind:
            yield Text(first_text(block, "text", "value", "transcript") or f"[{kind}]")


def thinking(block: JsonObject) -> Iterator[Thinking]:
    """Reasoning, with what its provider wants back untouched."""
    summaries = [first_text(mapping(each), "text", "summary") for each in sequence(block.get("summary"))]
    inner = [first_text(mapping(each), "text") for each in sequence(block.get("content"))]
    said = first_text(block, "thinking", "think", "text", "value", "content")
    said = said or "\n".join(each for each in (inner if any(inner) else summaries) if each)
    opaque = {name: block[name] for name in _OPAQUE if text(block.get(name))}
    if said or opaque:
        yield Thinking(text=said, opaque=opaque or None)


def tool_call(block: JsonObject) -> ToolCall:
    """A call, in any vendor's fields."""
    inner = mapping(block.get("function"))
    value = block.get("value")
    named = mapping(value) or inner or block
    inputs = [
        named[name] for name in ("input", "arguments", "args", "parameters") if named.get(name) is not None
    ]
    return ToolCall(
        id=first_text(block, "call_id", "id", "tool_call_id", "callId", "toolCallRequestId"),
        name=first_text(named, "name") or first_text(block, "name") or "tool",
        arguments=arguments_of(inputs[0] if inputs else NOTHING),
    )


def tool_result(block: JsonObject) -> Part:
    """A result; one without its call's id is paired by name."""
    given = next(
        (block[name] for name in ("content", "output", "result", "value") if block.get(name) is not None), ""
    )
    content = _plain(given)
    is_error = block.get("is_error") is True or block.get("isError") is True
    call = first_text(
        block, "tool_use_id", "tool_call_id", "call_id", "toolCallId", "callId", "toolCallRequestId"
    )
    if call:
        return ToolResult(call_id=call, content=content, is_error=is_error)
    return UnpairedResult(name=first_text(block, "name"), content=content, is_error=is_error)


def _plain(value: JsonValue) -> JsonValue:
    """A result that is nothing but text as that text."""
    if isinstance(value, Mapping) and isinstance(value.get("content"), str) and len(value) <= 2:
        return value["content"]
    parts = [mapping(item) for item in sequence(value)]
    if parts and all(part.get("type") in {"text", "input_text", "output_text"} for part in parts):
        return "\n".join(text(part.get("text")) for part in parts)
    return value


def image(block: JsonObject) -> Part:
    """A picture whose bytes are there; else a line that names it."""
    source = mapping(block.get("source"))
    url = block.get("image_url", block.get("url"))
    address = text(mapping(url).get("url") if isinstance(url, Mapping) else url)
    data, mime = text(source.get("data")), text(source.get("media_type"))
    if address.startswith("data:") and ";base64," in address:
        head, _, data = address.partition(";base64,")
        mime = head.removeprefix("data:")
    if data:
        try:
            return EmbeddedImage(data=base64.b64decode(data, validate=True), mime_type=mime or "image/png")
        except binascii.Error:
            return Text("[image that cannot be read]")
    inner = mapping(block.get("image_file"))
    named = (
        address
        or text(source.get("url"))
        or first_text(inner, "filepath", "file_id")
        or text(block.get("file_id"))
    )
    return Text(f"[image: {named or 'not in the file'}]")


def openai_parts(message: JsonObject) -> tuple[Part, ...]:
    """A chat message: reasoning, content and calls; a tool's message is a result."""
    if role_named(first_text(message, "role", "from")) is Role.TOOL:
        content = message.get("content", message.get("value"))
        call = first_text(message, "tool_call_id", "call_id")
        if any(isinstance(part, ToolResult) for part in content_parts(content)):
            return content_parts(content)
        if call:
            return (ToolResult(call_id=call, content=_plain(content), is_error=False),)
        return (UnpairedResult(name=first_text(message, "name"), content=_plain(content)),)
    reasoning = first_text(message, "reasoning_content", "reasoning", "thinking")
    parts: list[Part] = [Thinking(text=reasoning)] if reasoning else []
    parts += content_parts(message.get("content", message.get("value")))
    parts += [tool_call(mapping(each)) for each in sequence(message.get("tool_calls"))]
    legacy = mapping(message.get("function_call"))
    if legacy:
        parts.append(tool_call(legacy))
    return tuple(parts)


def responses_parts(item: JsonObject) -> tuple[Part, ...]:
    """An item of the Responses form."""
    match text(item.get("type")):
        case "message" | "":
            return content_parts(item.get("content"))
        case "reasoning":
            return tuple(thinking(item))
        case "function_call" | "custom_tool_call":
            return (tool_call(item),)
        case "local_shell_call":
            return (
                ToolCall(
                    id=first_text(item, "call_id", "id"), name="local_shell", arguments=item.get("action")
                ),
            )
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            return (tool_result(item),)
        case "web_search_call":
            return (ToolCall(id=first_text(item, "id"), name="web_search", arguments=item.get("action")),)
        case _:
            return ()
