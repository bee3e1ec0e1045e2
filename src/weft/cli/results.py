"""What commands came to, as JSON."""

from typing import TYPE_CHECKING

from weft.tree.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from weft.commands.reply import Result

__all__ = ["result_to_wire"]


def result_to_wire(result: "Result") -> JsonObject:
    told: dict[str, JsonValue] = {
        "command": result.command,
        "ok": result.ok,
        "text": result.text,
        "nodes": list(result.nodes),
    }
    if result.error is not None:
        told |= {"code": result.error.code, "message": result.error.message, "hint": result.error.hint}
    return told
