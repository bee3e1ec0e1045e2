"""The request to a model's provider: what a context becomes on its way, and a preview of the bytes that are sent."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import orjson

from weft.context.cache.controls import CacheControls
from weft.context.result import Context, RequestBody
from weft.context.tool_text import in_words
from weft.errors import InvalidInputError, WeftError
from weft.providers.adapter import dry_run
from weft.providers.base import ModelProfile, Parameters, Request
from weft.providers.events import WireRequest
from weft.runtime.contexts.model_agents import AnsweringAgent
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.coordination.background import model_loop
from weft.store.blobs import BlobStore
from weft.tree.agent import TOOL_POLICIES, Agent
from weft.tree.content import blob_refs
from weft.tree.json import JsonObject, JsonValue, camel
from weft.tree.message import Message, message_to_wire
from weft.tree.node import Role
from weft.tree.tool_spec import ToolChoice

_SEED_RANGE = 2**31
_OURS = frozenset({"contextWindow", "crossTree", "inlineTokens", "loomLayout", TOOL_POLICIES})
"""Settings of an agent that Weft reads and no provider."""
_PARAMETERS = ("temperature", "top_p", "max_tokens", "stop", "seed", "n", "logprobs", "custom")
"""What a request says beside its words."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """A context as its provider is given it: one request, or several where one cannot have all choices."""

    answering: AnsweringAgent
    request: Request
    options: ContextOptions
    """As they were given."""
    window: int | None = None
    """The model's, as far as it is known."""
    grove: str = ""
    """The id of the grove that it was read from."""
    typed: str = ""
    """Its input that was no node yet."""
    kept: bool = True
    """Whether it is kept with its turn, for later requests to be compared with."""
    calls_in_words: bool = False
    """Whether the model has no tool calling: calls and results are text."""
    refusal: WeftError | None = field(default=None, compare=False)
    """Why it cannot be sent."""

    @property
    def profile(self) -> ModelProfile:
        return self.answering.profile or ModelProfile()

    @property
    def reads_calls(self) -> bool:
        """Whether its tools are described in words, and called in words."""
        options = self.options
        return self.calls_in_words and bool(options.tools) and options.tool_choice != ToolChoice.NONE

    @property
    def calls(self) -> tuple[Request, ...]:
        """N choices in as few requests as the model's provider takes."""
        return tuple(self._calls())

    def _calls(self) -> Iterator[Request]:
        n, most = self.options.n, max(1, self.profile.choices)
        for number, start in enumerate(range(0, n, most)):
            parameters = replace(self.request.parameters, n=min(n - start, most))
            if parameters.seed is not None and number:
                # The same seed twice would be the same words twice.
                parameters = replace(parameters, seed=(parameters.seed + number) % _SEED_RANGE)
            yield replace(self.request, parameters=parameters)

    @cached_property
    def bodies(self) -> tuple[RequestBody, ...]:
        """What the provider's adapter would send; nothing is sent, and no key is needed."""
        provider, why = self.answering.provider, self.refusal or self.answering.missing
        if provider is None or why is not None:
            return (RequestBody(why=str(why)),)
        try:
            sent = [model_loop().submit(dry_run(provider, call)).result() for call in self.calls]
        except WeftError as error:
            return (RequestBody(why=error.message),)
        # The first call creates the cache that all use.
        caches = [_body(each, "cache") for each in sent[0][:-1]]
        return (*caches, *(_body(each[-1], "generate") for each in sent))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that is asked."""
        asked: JsonObject = {
            "words": neutral_hash(self.request),
            "parameters": parameters_to_wire(self.request.parameters),
            "agent": self.answering.agent.id,
            "n": self.options.n,
        }
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _body(sent: WireRequest, purpose: str) -> RequestBody:
    try:
        value: object = orjson.loads(sent.body)
    except orjson.JSONDecodeError:
        value = None
    body = (
        cast("JsonObject", value)
        if isinstance(value, dict)
        else {"text": sent.body.decode("utf-8", "replace")}
    )
    return RequestBody(body, data=sent.body, url=sent.url, purpose=purpose)


def model_request(
    context: Context,
    answering: AnsweringAgent,
    options: ContextOptions,
    blobs: BlobStore,
    *,
    cache: CacheControls,
    prefill: bool,
    tool_calling: bool = True,
    window: int | None = None,
    grove: str = "",
    typed: str = "",
    kept: bool = True,
) -> ModelRequest:
    """A context as its agent's provider is given it."""
    envelope, messages, words = context.envelope, tuple(context.messages), ""
    blocks = (context.system,) if context.system else ()
    if envelope is not None:
        blocks = envelope.llm_system
    if not tool_calling:
        messages = in_words(messages)
    if prefill and not cache.marks and not answering.agent.loom_aware:
        # Where messages are marked they are counted, and none may go.
        messages, words = _with_prefill(messages)
    parameters = parameters_for(answering.agent, options)
    request = Request(
        model=answering.model,
        messages=messages,
        prompt=context.document,
        system=blocks,
        parameters=parameters,
        tools=tuple(options.tools) if tool_calling else (),
        tool_choice=ToolChoice(options.tool_choice),
        prefill=words,
        cache=cache,
        media=Media(blobs, messages),
    )
    return ModelRequest(
        answering=answering,
        request=request,
        options=options,
        window=window,
        grove=grove,
        typed=typed,
        kept=kept and envelope is not None,
        calls_in_words=not tool_calling,
        refusal=_refusal(parameters, answering.profile),
    )


def _with_prefill(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], str]:
    """The answer goes on where the model's own last words end."""
    last = messages[-1] if messages else None
    if last is not None and last.role is Role.ASSISTANT and _is_plain(last):
        return messages[:-1], last.text
    return messages, ""


def _is_plain(message: Message) -> bool:
    return not message.calls and not message.results and message.text != "" and len(message.blocks) == 1


def _refusal(parameters: Parameters, profile: ModelProfile | None) -> WeftError | None:
    """What the model does not offer."""
    most = parameters.max_tokens
    if most is not None and most < 1:
        return InvalidInputError(f"max_tokens must be at least 1, got {most:,}", path="max_tokens")
    if profile is None:
        return None
    try:
        profile.check_temperature(parameters.temperature)
    except WeftError as error:
        return error
    limit, wanted = profile.output_limit, parameters.logprobs
    if most is not None and limit is not None and most > limit:
        return InvalidInputError(f"max_tokens is {most:,}; the model gives at most {limit:,}")
    if wanted is not None and wanted > profile.logprobs:
        offered = profile.logprobs or "none"
        return InvalidInputError(
            f"{wanted} alternatives of each token are wanted; the model offers {offered}"
        )
    return None


class Media(Mapping[str, bytes]):
    """Bytes of the pictures and sounds that messages show, read when an adapter asks for them."""

    def __init__(self, blobs: BlobStore, messages: tuple[Message, ...]) -> None:
        self._blobs = blobs
        self._messages = messages

    @cached_property
    def _refs(self) -> dict[str, None]:
        blocks = (block for message in self._messages for block in message.blocks)
        return dict.fromkeys(ref for block in blocks for ref in blob_refs(block))

    def __getitem__(self, ref: str) -> bytes:
        if ref not in self._refs:
            raise KeyError(ref)
        return self._blobs.get(ref)

    def __iter__(self) -> Iterator[str]:
        return iter(self._refs)

    def __len__(self) -> int:
        return len(self._refs)


def neutral_hash(request: Request) -> str:
    """SHA-256 of the request in no provider's format: it is the same if it is assembled again."""
    value: dict[str, JsonValue] = {
        "model": request.model,
        "system": list(request.system),
        "messages": [message_to_wire(message) for message in request.messages],
        "prompt": request.prompt,
        "prefill": request.prefill,
    }
    if request.tools:
        value |= {
            "tools": [tool.to_wire() for tool in request.tools],
            "toolChoice": request.tool_choice.value,
        }
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def parameters_for(agent: Agent, options: ContextOptions) -> Parameters:
    """The parameters of one call: the options', else the agent's. n is set for each call."""
    settings = agent.configuration
    return Parameters(
        temperature=settings.temperature if options.temperature is None else options.temperature,
        top_p=options.top_p,
        max_tokens=settings.max_tokens if options.max_tokens is None else options.max_tokens,
        stop=settings.stop_sequences if options.stop is None else tuple(options.stop),
        seed=options.seed,
        logprobs=options.logprobs,
        custom={name: value for name, value in settings.custom.items() if name not in _OURS},
    )


def parameters_to_wire(parameters: Parameters) -> JsonObject:
    """As it is kept to make the same request again."""
    kept: dict[str, JsonValue] = {camel(name): getattr(parameters, name) for name in _PARAMETERS}
    return {**kept, "stop": list(parameters.stop), "custom": dict(parameters.custom)}


def parameters_from_wire(kept: Mapping[str, Any]) -> Parameters:
    given: dict[str, Any] = {name: kept[camel(name)] for name in _PARAMETERS}
    given["stop"] = tuple(given["stop"])
    return Parameters(**given)
