"""Others who fit messages into a budget, each with its best settings. Whoever is not installed is not asked."""

import asyncio
import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Peer", "missing_note", "peers", "tokens_of"]

Plain: TypeAlias = Mapping[str, Any]


class Peer(NamedTuple):
    name: str
    settings: str
    convert: Callable[[Sequence[Plain]], list[Any]]
    """A list as the peer wants it, made before the clock starts."""
    fit: Callable[[list[Any], int], list[Any]]
    plain: Callable[[Sequence[Any]], list[Plain]]
    quick: bool = False
    """Whether it is worth asking at every size and at every turn."""


def tokens_of(text: str) -> int:
    return (len(text) + 3) >> 2


def _as_range(text: str) -> range:
    """As many things as there are tokens."""
    return range(tokens_of(text))


def peers() -> list[Peer]:
    """Those that are installed, the fastest first."""
    known = (
        ("langchain_core", _langchain),
        ("litellm", _litellm),
        ("autogen_core", _autogen),
        ("llama_index.core", _llama_index),
    )
    return [make() for module, make in known if _is_there(module)]


def missing_note(found: Sequence[Peer]) -> str | None:
    wanted = ("langchain-core", "litellm", "autogen-core", "llama-index-core")
    there = {peer.name.split()[0] for peer in found}
    missing = [name for name in wanted if name not in there]
    if not missing:
        return None
    return f"Not installed, so not compared: {', '.join(missing)} (uv pip install --group peers)."


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _langchain() -> Peer:
    theirs: Any = import_module("langchain_core.messages")

    def convert(messages: Sequence[Plain]) -> list[Any]:
        return list(theirs.convert_to_messages(list(messages)))

    def count(messages: Sequence[Any]) -> int:
        return sum((len(message.content) + 3) >> 2 for message in messages)

    def fit(messages: list[Any], limit: int) -> list[Any]:
        return theirs.trim_messages(messages, max_tokens=limit, token_counter=count, strategy="last")

    def plain(messages: Sequence[Any]) -> list[Plain]:
        return list(theirs.convert_to_openai_messages(list(messages)))

    settings = "`trim_messages(strategy='last')`, a counter that takes the whole list"
    return Peer(f"langchain-core {version('langchain-core')}", settings, convert, fit, plain, quick=True)


def _litellm() -> Peer:
    # Its prices come with it; nothing is fetched.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    trim: Any = import_module("litellm.utils").trim_messages

    def fit(messages: list[Any], limit: int) -> list[Any]:
        return trim(list(messages), max_tokens=limit, trim_ratio=1.0)

    settings = "`trim_messages(trim_ratio=1.0)`, its own counter"
    return Peer(f"litellm {version('litellm')}", settings, list, fit, list)


def _llama_index() -> Peer:
    memory: Any = import_module("llama_index.core.memory").ChatMemoryBuffer
    message: Any = import_module("llama_index.core.llms").ChatMessage

    def convert(messages: Sequence[Plain]) -> list[Any]:
        found: list[Any] = []
        for each in messages:
            extra = {key: value for key, value in each.items() if key not in {"role", "content"}}
            found.append(message(role=each["role"], content=each["content"], additional_kwargs=extra))
        return found

    def fit(messages: list[Any], limit: int) -> list[Any]:
        buffer = memory.from_defaults(chat_history=messages, token_limit=limit, tokenizer_fn=_as_range)
        return buffer.get()

    def plain(messages: Sequence[Any]) -> list[Plain]:
        return [
            {"role": each.role.value, "content": each.content, **each.additional_kwargs} for each in messages
        ]

    settings = "`ChatMemoryBuffer`, counting characters ÷ 4"
    return Peer(f"llama-index-core {version('llama-index-core')}", settings, convert, fit, plain)


class _Counting:
    """The part of a model's client that autogen asks for."""

    def count_tokens(self, messages: Sequence[Any], **_: object) -> int:
        return sum(tokens_of(str(message.content)) for message in messages)

    def remaining_tokens(self, messages: Sequence[Any], **_: object) -> int:
        return -self.count_tokens(messages)


def _autogen() -> Peer:
    context: Any = import_module("autogen_core.model_context").TokenLimitedChatCompletionContext
    models: Any = import_module("autogen_core.models")
    call: Any = import_module("autogen_core").FunctionCall

    def convert(messages: Sequence[Plain]) -> list[Any]:
        return [_as_autogen(models, call, each) for each in messages]

    def fit(messages: list[Any], limit: int) -> list[Any]:
        made = context(_Counting(), token_limit=limit, initial_messages=messages)
        return asyncio.run(made.get_messages())

    settings = "`TokenLimitedChatCompletionContext`, counting characters ÷ 4"
    return Peer(f"autogen-core {version('autogen-core')}", settings, convert, fit, _from_autogen)


def _as_autogen(models: Any, call: Any, each: Plain) -> Any:
    if each["role"] == "system":
        return models.SystemMessage(content=each["content"])
    if each["role"] == "user":
        return models.UserMessage(content=each["content"], source="user")
    if each["role"] == "tool":
        result = models.FunctionExecutionResult(
            content=each["content"], name="search", call_id=each["tool_call_id"], is_error=False
        )
        return models.FunctionExecutionResultMessage(content=[result])
    calls = [
        call(id=one["id"], name=one["function"]["name"], arguments=one["function"]["arguments"])
        for one in each.get("tool_calls") or ()
    ]
    return models.AssistantMessage(content=calls or each["content"], source="assistant")


def _from_autogen(messages: Sequence[Any]) -> list[Plain]:
    found: list[Plain] = []
    for each in messages:
        match each.type:
            case "FunctionExecutionResultMessage":
                found += [
                    {"role": "tool", "tool_call_id": one.call_id, "content": one.content}
                    for one in each.content
                ]
            case "AssistantMessage" if not isinstance(each.content, str):
                calls = [{"id": one.id} for one in each.content]
                found.append({"role": "assistant", "content": "", "tool_calls": calls})
            case _:
                found.append({"role": each.type.removesuffix("Message").lower(), "content": each.content})
    return found
