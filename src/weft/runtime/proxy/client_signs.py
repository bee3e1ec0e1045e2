"""What a request says of its client: which program, which session, which sub-agent, and what it is for.

Signs as programs were seen to send them. A session's id narrows the search for a parent; it never decides it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from weft.interop.loose_json import first_text, loads, mapping, sequence, text
from weft.runtime.proxy.wires import Wire
from weft.tree.json import JsonObject

_SESSION_HEADERS = (
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
)
_ID_LIMIT = 200
_CLIENTS: tuple[tuple[str, str], ...] = (
    ("claude-cli", "claude-code"),
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("opencode", "opencode"),
    ("aider", "aider"),
    ("litellm", "litellm"),
    ("ai-sdk", "ai-sdk"),
    ("openai/python", "openai-python"),
    ("asyncopenai/python", "openai-python"),
    ("openai/js", "openai-js"),
    ("anthropic/python", "anthropic-python"),
    ("asyncanthropic/python", "anthropic-python"),
    ("anthropic/js", "anthropic-js"),
    ("langchain", "langchain"),
)
_COMPACTION = "compaction"


class Purpose(StrEnum):
    """What a request is for. Only turns and compactions become nodes."""

    TURN = "turn"
    COMPACTION = "compaction"
    TITLE = "title"
    SEARCH = "search"
    COUNT = "count"
    WARM_UP = "warm-up"

    @property
    def is_side(self) -> bool:
        return self not in {Purpose.TURN, Purpose.COMPACTION}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSigns:
    """What is known of the sender of one request."""

    client: str
    session: str = ""
    """The client's own id of the session; empty where it has none."""
    agent: str = ""
    """The id of the sub-agent that asks; empty for the main one."""
    parent: str = ""
    """The session that the sub-agent's call was made in."""
    window: str = ""
    """The client's own name of its context window: another number follows a compaction."""
    purpose: Purpose = Purpose.TURN


def read_signs(wire: Wire, headers: Mapping[str, str], body: JsonObject) -> ClientSigns:
    """Read the signs; `headers` have lower-case names."""
    metadata = mapping(loads(headers.get("x-codex-turn-metadata", "")))
    client_metadata = mapping(body.get("client_metadata"))
    session = next((headers[name] for name in _SESSION_HEADERS if headers.get(name)), "")
    session = session or _session_in(body)
    thread = headers.get("thread-id", "") or first_text(metadata, "thread_id")
    agent = parent = ""
    if headers.get("x-claude-code-agent-id") or _is_subagent(body):
        agent, parent = headers.get("x-claude-code-agent-id", "") or "subagent", session
    elif headers.get("x-openai-subagent") or headers.get("x-codex-parent-thread-id"):
        agent, parent = thread or "subagent", session
    elif headers.get("x-parent-session-id"):
        agent, parent = session, headers["x-parent-session-id"]
    source = first_text(metadata, "thread_source") or first_text(client_metadata, "thread_source")
    kind = first_text(metadata, "request_kind") or first_text(client_metadata, "request_kind")
    return ClientSigns(
        client=client_of(headers),
        session=session[:_ID_LIMIT],
        agent=agent[:_ID_LIMIT],
        parent=parent[:_ID_LIMIT],
        window=headers.get("x-codex-window-id", "")[:_ID_LIMIT],
        purpose=_purpose(wire, body, source=source, kind=kind),
    )


def client_of(headers: Mapping[str, str]) -> str:
    """The program that sent a request, by how it names itself."""
    agent = headers.get("user-agent", "")
    named = f"{agent} {headers.get('originator', '')} {headers.get('x-app', '')}".lower()
    known = next((name for sign, name in _CLIENTS if sign in named), "")
    own = re.match(r"[A-Za-z][\w.-]{0,40}", agent)
    return known or (own.group().lower() if own else "unknown client")


def _session_in(body: JsonObject) -> str:
    """An id inside the body: of a JSON string, or the key of the cache."""
    user = text(mapping(body.get("metadata")).get("user_id"))
    inner = first_text(mapping(loads(user)), "session_id") if user.startswith("{") else ""
    return inner or first_text(body, "prompt_cache_key")


def _is_subagent(body: JsonObject) -> bool:
    system = body.get("system")
    first = (
        system if isinstance(system, str) else first_text(mapping(next(iter(sequence(system)), None)), "text")
    )
    return "cc_is_subagent=true" in first[:2_000]


def _purpose(wire: Wire, body: JsonObject, *, source: str, kind: str) -> Purpose:
    if wire is Wire.COUNT:
        return Purpose.COUNT
    if body.get("generate") is False:
        return Purpose.WARM_UP
    if kind == _COMPACTION or _ends_with_trigger(body):
        return Purpose.COMPACTION
    if source == "thread_title" or _asks_for_title(body):
        return Purpose.TITLE
    if _is_search(body):
        return Purpose.SEARCH
    return Purpose.TURN


def _ends_with_trigger(body: JsonObject) -> bool:
    items = sequence(body.get("input"))
    return bool(items) and first_text(mapping(items[-1]), "type") == "compaction_trigger"


def _asks_for_title(body: JsonObject) -> bool:
    """No tools, and an answer of one property, `title`; or a system prompt that asks for nothing else."""
    if sequence(body.get("tools")):
        return False
    for form in (
        mapping(mapping(body.get("output_config")).get("format")),
        mapping(mapping(body.get("text")).get("format")),
        mapping(body.get("response_format")),
    ):
        schema = mapping(form.get("schema")) or mapping(mapping(form.get("json_schema")).get("schema"))
        if set(mapping(schema.get("properties"))) == {"title"}:
            return True
    return bool(_TITLE.search(system_text(body)[:4_000]))


_TITLE = re.compile(
    r"\btitle generator\b|\bgenerat\w+ (?:a|the) (?:brief |short |concise )?(?:thread |session |conversation )?title\b",
    re.IGNORECASE,
)


def _is_search(body: JsonObject) -> bool:
    """One tool that the vendor runs itself, forced, and one message."""
    tools = sequence(body.get("tools"))
    if len(tools) != 1 or len(sequence(body.get("messages"))) != 1:
        return False
    tool, choice = mapping(tools[0]), mapping(body.get("tool_choice"))
    is_own = bool(re.match(r"web_search|web_fetch", first_text(tool, "type")))
    return is_own and first_text(choice, "name") == first_text(tool, "name")


def system_text(body: JsonObject) -> str:
    """The system prompt, wherever the wire has it: a field, or the messages that a history begins with."""
    said = [_words(body.get("system")), _words(body.get("instructions"))]
    for each in (*sequence(body.get("messages")), *sequence(body.get("input"))):
        message = mapping(each)
        if first_text(message, "role") not in {"system", "developer"}:
            break
        said.append(_words(message.get("content")))
    return "\n\n".join(words for words in said if words)


def _words(value: object) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    return "\n\n".join(words for each in value if (words := first_text(mapping(each), "text")))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - loose JSON
