"""Keep the newest versions of the newest files, and a word in place of all others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from weft.context.filters.base import FilterContext, Options, text, unless_false, whole
from weft.context.js_compat import compact_json, fields_of, is_truthy, items_of, parse_json
from weft.tree.json import JsonObject

PLACEHOLDER = "(file contents omitted for space)"
_FILES = 7
_VERSIONS = 2


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The files seen so far, newest first, with how many versions of each are kept."""

    files: float
    versions: float
    kept: dict[str, int] = field(default_factory=dict[str, int])

    def takes(self, path: object) -> bool:
        if not isinstance(path, str) or not path:
            # A file without a name is no newest version of anything.
            return False
        if path not in self.kept:
            if len(self.kept) >= self.files:
                return False
            self.kept[path] = 0
        if self.kept[path] >= self.versions:
            return False
        self.kept[path] += 1
        return True


def limit_file_contents(messages: Sequence[object], options: Options, context: FilterContext) -> list[object]:
    """Go from the newest message to the oldest, and through a message's calls in their order.

    A file is JSON with `filepath` and `content`: a tool's result, or a call's arguments.
    """
    shelf = _Shelf(whole(options, "filesLimit", _FILES), whole(options, "versionsPerFile", _VERSIONS))
    placeholder = text(options, "placeholder", PLACEHOLDER)
    results = unless_false(options, "detectToolMessages")
    calls = unless_false(options, "detectAssistantToolCalls")

    def limited(written: object) -> object:
        file = _file_in(written)
        if file is None or shelf.takes(file["filepath"]):
            return written
        return compact_json({**file, "content": placeholder})

    found = list(messages)
    for position in range(len(found) - 1, -1, -1):
        message = found[position]
        fields = fields_of(message)
        role = fields.get("role")
        if role == "tool" and results and is_truthy(fields.get("tool_call_id")):
            found[position] = _with(fields, "content", limited(fields.get("content")))
        elif role == "assistant" and calls:
            found[position] = _with_calls(fields, limited)
        if found[position] is not message:
            why = "an older version, or a file beyond the limit"
            context.trace.shortened(position, message, found[position], why)
    return found


def _file_in(written: object) -> JsonObject | None:
    if not isinstance(written, str):
        return None
    try:
        value = parse_json(written)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) and "filepath" in value and "content" in value else None


def _with(fields: Mapping[str, object], name: str, value: object) -> Mapping[str, object]:
    """The same object where nothing changes."""
    return fields if name not in fields or value is fields[name] else {**fields, name: value}


def _with_calls(fields: Mapping[str, object], limited: Callable[[object], object]) -> Mapping[str, object]:
    given = items_of(fields.get("tool_calls"))
    made = [_with_arguments(call, limited) for call in given]
    if all(new is old for new, old in zip(made, given, strict=True)):
        return fields
    return {**fields, "tool_calls": made}


def _with_arguments(call: object, limited: Callable[[object], object]) -> object:
    fields = fields_of(call)
    function = fields_of(fields.get("function"))
    made = _with(function, "arguments", limited(function.get("arguments")))
    return call if made is function else {**fields, "function": made}
