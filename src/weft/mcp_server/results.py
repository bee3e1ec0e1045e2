"""What the protocol is answered: a reply in words with its facts beside it, and errors by the one table."""

import json
from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp_types import CallToolResult, TextContent

from weft.commands.reply import failed
from weft.error_hints import Face, hint_on
from weft.errors import InvalidInputError, WeftError
from weft.tree.json import JsonValue
from weft.tree.json_names import to_wire


def answered(text: str, facts: Mapping[str, object]) -> CallToolResult:
    """A tool's success: what a person would read, and the same as values."""
    return CallToolResult(content=[_words(text)], structured_content=_facts(facts))


def refused(error: WeftError) -> CallToolResult:
    """A tool's failure: the model reads it as it reads a command's, and can try again as it says."""
    return CallToolResult(
        content=[_words(failed(error))], structured_content=_facts(error_facts(error)), is_error=True
    )


def protocol_error(error: WeftError) -> MCPError:
    """The same where there is no tool to answer for: a resource, a prompt."""
    return MCPError(error.row.mcp, error.message, error_facts(error))


def error_facts(error: WeftError) -> dict[str, JsonValue]:
    """Code, message, how to try again; the hint and the argument that is wrong, where there are any."""
    found: dict[str, JsonValue] = {"code": error.code, "message": error.message, "retry": error.row.retry}
    if error.hint is not None:
        found["hint"] = hint_on(Face.AGENT, error.hint)
    if isinstance(error, InvalidInputError) and error.path:
        found["path"] = error.path
    return found


def _words(text: str) -> TextContent:
    return TextContent(type="text", text=_sendable(text))


def _facts(facts: Mapping[str, object]) -> Any:
    value = to_wire(facts)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Half characters that an old history may hold: the protocol's own writer would fail on them.
        return json.loads(_sendable(json.dumps(value, ensure_ascii=False)))
    return value


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text
