"""Codex CLI rollouts: lines of `{timestamp, type, payload}`; older files have the bare items."""

from collections.abc import Mapping
from dataclasses import replace

from weft.interop.conversation import Loss, SourceConversation, SourceRecord
from weft.interop.importer import FileValues, Importer, all_values
from weft.interop.loose_json import first_text, mapping, moment, text
from weft.interop.message_parts import responses_parts, role_named
from weft.interop.source_file import SourceFile
from weft.tree.json import JsonObject
from weft.tree.node import Role

_ENVELOPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_ITEMS = {
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "local_shell_call",
    "custom_tool_call",
}


def _matches(file: SourceFile) -> bool:
    if not file.is_lines:
        return False
    fields = [mapping(value) for value in file.sample]
    if any(
        text(each.get("type")) in _ENVELOPES and isinstance(each.get("payload"), Mapping) for each in fields
    ):
        return True
    old = (
        bool(fields)
        and {"id", "timestamp"} <= fields[0].keys()
        and "role" not in fields[0]
        and "uuid" not in fields[0]
    )
    return old and any(text(each.get("type")) in _ITEMS for each in fields[1:])


def _convert(values: FileValues) -> SourceConversation:
    session, model, losses = "", "", dict[Loss, None]()
    records: list[SourceRecord] = []
    for index, line in enumerate(map(mapping, values.values)):
        payload = mapping(line.get("payload")) if "payload" in line else line
        kind = text(line.get("type")) if "payload" in line else "response_item"
        if kind == "session_meta" or (index == 0 and "payload" not in line and "type" not in line):
            session = text(payload.get("id"))
        elif kind == "turn_context":
            model = text(payload.get("model")) or model
        elif kind == "compacted":
            losses[
                Loss("compactions", "the text that a compaction left is not a message", f"line {index + 1}")
            ] = None
        elif kind == "response_item":
            record = _record(index, payload, model, line)
            if record is not None:
                records.append(replace(record, parent=records[-1].id) if records else record)
    return SourceConversation(id=session or values.file.base_name, records=records, losses=tuple(losses))


def _record(index: int, item: JsonObject, model: str, line: JsonObject) -> SourceRecord | None:
    kind = text(item.get("type"))
    if kind not in _ITEMS and not kind.endswith("_output") and kind != "web_search_call":
        return None
    role = role_named(text(item.get("role"))) if kind == "message" else Role.ASSISTANT
    return SourceRecord(
        id=f"{index}:{first_text(item, 'id', 'call_id') or kind}",
        role=role,
        parts=responses_parts(item),
        model=model if role is Role.ASSISTANT else "",
        created_at=moment(line.get("timestamp")),
        group="" if kind == "message" and role is not Role.ASSISTANT else "turn",
        counted=kind == "message",
    )


CODEX = Importer(name="codex", label="Codex rollout", matches=_matches, split=all_values, convert=_convert)
