"""API keys in conversations: replaced by a mark, and reported by their place, never by their text."""

import re
from collections.abc import Mapping
from dataclasses import replace

from weft.interop.conversation import Part, SourceConversation, SourceRecord, StrippedKey, UnpairedResult
from weft.tree.content import Text, Thinking, ToolCall, ToolResult
from weft.tree.json import JsonValue

REMOVED = "[API key removed]"
_KINDS = {
    "Anthropic": ("sk-ant-", r"[A-Za-z0-9_-]{20,}"),
    "OpenRouter": ("sk-or-", r"[A-Za-z0-9-]{20,}"),
    # A digit tells a key from words with hyphens.
    "OpenAI": ("sk-", r"(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    "Google": ("AIza", r"[A-Za-z0-9_-]{35}"),
    "GitHub": ("gh", r"[pousr]_[A-Za-z0-9]{36,}"),
    "GitHub token": ("github_pat_", r"[A-Za-z0-9_]{40,}"),
    "GitLab": ("glpat-", r"[A-Za-z0-9_-]{20,}"),
    "Hugging Face": ("hf_", r"[A-Za-z0-9]{30,}"),
    "Groq": ("gsk_", r"[A-Za-z0-9]{40,}"),
    "xAI": ("xai-", r"[A-Za-z0-9]{40,}"),
    "Perplexity": ("pplx-", r"[A-Za-z0-9]{30,}"),
    "Replicate": ("r8_", r"[A-Za-z0-9]{30,}"),
    "Amazon": ("AKIA", r"[0-9A-Z]{16}"),
    "Slack": ("xox", r"[abprs]-[A-Za-z0-9-]{20,}"),
    "Stripe": ("sk_live_", r"[A-Za-z0-9]{20,}"),
}
"""Of each provider, how its keys begin and go on."""
_PATTERNS = [
    (kind, start, re.compile(rf"(?<![A-Za-z0-9_-]){start}{rest}(?![A-Za-z0-9_])"))
    for kind, (start, rest) in _KINDS.items()
]


def without_keys(text: str) -> tuple[str, list[str]]:
    """The text with every key replaced, and the kinds of those that were."""
    kinds: list[str] = []
    for kind, start, pattern in _PATTERNS:
        # Looking for the beginning is much faster than matching, and texts are long.
        if start in text:
            text, count = pattern.subn(REMOVED, text)
            kinds += [kind] * count
    return text, kinds


def without_keys_in(source: SourceConversation) -> SourceConversation:
    """A conversation without the keys in its texts; it says where they were."""
    keys = list(source.keys)
    texts: dict[str, str] = {}
    for name, text in (("title", source.title), ("system_context", source.system_context)):
        texts[name], kinds = without_keys(text)
        keys += [StrippedKey(kind=kind) for kind in kinds]
    records: list[SourceRecord] = []
    for number, record in enumerate(source.records, start=1):
        parts = [_part_without_keys(part) for part in record.parts]
        kinds = [kind for _, found in parts for kind in found]
        keys += [StrippedKey(kind=kind, record=record.id, message=number) for kind in kinds]
        # Tokens spell the key out again.
        records.append(
            replace(record, parts=tuple(part for part, _ in parts), chances=()) if kinds else record
        )
    if len(keys) == len(source.keys):
        return source
    return replace(
        source,
        records=records,
        keys=tuple(keys),
        title=texts["title"],
        system_context=texts["system_context"],
    )


def _part_without_keys(part: Part) -> tuple[Part, list[str]]:
    """The same of a part of a message."""
    match part:
        case Text() | Thinking():
            text, kinds = without_keys(part.text)
            return (replace(part, text=text) if kinds else part), kinds
        case ToolCall():
            value, kinds = _value(part.arguments)
            return (replace(part, arguments=value) if kinds else part), kinds
        case ToolResult() | UnpairedResult():
            value, kinds = _value(part.content)
            return (replace(part, content=value) if kinds else part), kinds
        case _:
            return part, []


def _value(value: JsonValue) -> tuple[JsonValue, list[str]]:
    kinds: list[str] = []

    def cleaned(here: JsonValue) -> JsonValue:
        if isinstance(here, str):
            text, found = without_keys(here)
            kinds.extend(found)
            return text
        if isinstance(here, Mapping):
            return {name: cleaned(inner) for name, inner in here.items()}
        return [cleaned(each) for each in here] if isinstance(here, list | tuple) else here

    return cleaned(value), kinds
