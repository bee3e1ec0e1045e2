"""Records and the index of collapsed groups, as a file holds them."""

import json
import math
from typing import Any

from weft.errors import InvalidInputError
from weft.runtime.transfer.checked_fields import Fields
from weft.tree.content import CONTENT_LIMIT
from weft.tree.record import ID_LIMIT, NAME_LIMIT

__all__ = ["group_entry_row", "record_row"]

_SHELVES = 100


def record_row(fields: Fields) -> dict[str, Any]:
    """One record, checked."""
    moment = fields.get("createTime")
    if not isinstance(moment, int | float) or isinstance(moment, bool) or not math.isfinite(moment):
        raise fields.wrong("createTime must be a number")
    row: dict[str, Any] = {
        "ulid": fields.ulid("ulid"),
        **{name: _name(fields, name) for name in ("user", "project", "session", "topic")},
        "stream": fields.text("stream", limit=NAME_LIMIT),
        "id": fields.text("id", limit=ID_LIMIT),
        "create_time": float(moment),
        "document": _json(fields),
        "hidden": fields.optional_mark("hidden"),
    }
    fields.done()
    return row


def group_entry_row(fields: Fields) -> dict[str, Any]:
    """One entry of the index."""
    row: dict[str, Any] = {
        "user": _name(fields, "user"),
        "session": fields.text("session", limit=ID_LIMIT),
        "shelf": fields.count("shelf", limit=_SHELVES),
        "name": fields.text("name", limit=2 * ID_LIMIT),
        "document": _json(fields),
    }
    fields.done()
    return row


def _name(fields: Fields, name: str) -> str:
    return fields.optional_text(name, limit=ID_LIMIT) or ""


def _json(fields: Fields) -> str:
    text = fields.text("document", limit=CONTENT_LIMIT)
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInputError(f"{fields.where}: document must be a JSON object")
    return text
