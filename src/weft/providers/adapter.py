"""What all adapters share: how a provider is reached, what a request may ask for, and the dry run."""

import asyncio
import base64
import json
import random
import re
import secrets
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from weft.error_hints import Hint, HintKind
from weft.errors import ProviderError, Trouble, UnavailableError
from weft.providers.base import ModelInfo, ModelName, ModelProfile, Provider, Request
from weft.providers.endpoint import Endpoint, Resolver, resolve
from weft.providers.errors import missing_key
from weft.providers.events import (
    Event,
    Retried,
    TextDelta,
    ThinkingDelta,
    ThinkingDone,
    ToolCallDelta,
    ToolCalled,
    Warned,
    WireRequest,
)
from weft.providers.keys import Keys, Secret, own_host
from weft.providers.sdk_import import sdk_import
from weft.tree.content import Audio, Image, Text, ToolResult
from weft.tree.message import Message
from weft.tree.node import Role

_ID_LENGTH = 32
READ_TIMEOUT = 300.0
"""Seconds without a byte after which a call times out, unless the call says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseLimits:
    """How large a response may be, in bytes."""

    received: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How a provider is reached: endpoint, key, limits. Tests give their own."""

    endpoint: Endpoint
    key_name: str
    key_needed: bool = True
    keys: Keys = field(default_factory=Keys)
    limits: ResponseLimits = field(default_factory=ResponseLimits)
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None

    def key(self) -> Secret | None:
        host = self.endpoint.authority
        key = self.keys.find(self.key_name, host)
        if key is None:
            # A key was set for this endpoint: no request goes out without it.
            others = self.keys.kept_hosts(self.key_name)
            if self.key_needed or (others and own_host(self.key_name) is None):
                raise missing_key(self.key_name, self.keys.variables(self.key_name), host, others)
        if key is not None and self.endpoint.exposes_keys:
            raise ProviderError(
                Trouble.INVALID_REQUEST,
                f"the key for {self.key_name} would go to {self.endpoint.host} unencrypted: nothing was sent",
                hint=Hint(
                    HintKind.SETUP,
                    text="use https; on your own network, set"
                    f" WEFT_COMPATIBLE_{re.sub(r'[^A-Z0-9]', '_', self.key_name.upper())}_PRIVATE=1",
                ),
            )
        return key


def check_request(provider: str, request: Request, profile: ModelProfile) -> None:
    """Refuse a request that the model does not support, before anything is sent or paid."""
    asked = request.parameters
    profile.check_temperature(asked.temperature)
    blocks = [block for message in request.messages for block in message.blocks]
    logprobs = (
        f"returns at most {profile.logprobs} alternatives per token"
        if profile.logprobs
        else "does not support logprobs"
    )
    refusals = {
        f"n is {asked.n:,}; one request has 1 to {profile.choices:,} choices": not 1
        <= asked.n
        <= profile.choices,
        "does not support prefill": request.prefill and not profile.prefill,
        "does not support tools": request.tools and not profile.tools,
        "does not support stop sequences": asked.stop and not profile.stop,
        logprobs: asked.logprobs is not None and asked.logprobs > profile.logprobs,
        "continues a document, and takes no messages before it": request.prompt is not None
        and request.messages
        and profile.completion,
        "does not accept images": not profile.images and any(isinstance(block, Image) for block in blocks),
        "does not accept audio": not profile.audio and any(isinstance(block, Audio) for block in blocks),
    }
    for words, is_refused in refusals.items():
        if is_refused:
            raise ProviderError(Trouble.INVALID_REQUEST, f"{provider}:{request.model} {words}")


def media_of(request: Request, block: Image | Audio) -> bytes:
    data = request.media.get(block.ref)
    if data is None:
        raise ProviderError(Trouble.INVALID_REQUEST, f"the request lacks the bytes of {block.ref[:12]}…")
    return data


def encoded_media(request: Request, block: Image | Audio) -> str:
    """The bytes of a picture or sound in base64."""
    return base64.b64encode(media_of(request, block)).decode()


def result_text(result: ToolResult) -> str:
    """What a tool returned, as a text."""
    return result.content if isinstance(result.content, str) else json.dumps(result.content)


OWN_CALL = "weft_call_"
"""The prefix of the ids of calls that came without one."""


def own_call_id(response: str | None) -> str:
    """The beginning of ids for a response's calls: no other response of the conversation has it."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", response or "")[-_ID_LENGTH:]
    return f"{OWN_CALL}{name or secrets.token_hex(6)}"


_DRY_RUN: ContextVar[bool] = ContextVar("dry_run", default=False)


def is_dry_run() -> bool:
    """True in a call that sends nothing: a provider with `composes = True` yields its `WireRequest` events only."""
    return _DRY_RUN.get()


@contextmanager
def _as_dry_run() -> Generator[None]:
    token = _DRY_RUN.set(True)
    try:
        yield
    finally:
        _DRY_RUN.reset(token)


async def dry_run(provider: Provider, request: Request) -> tuple[WireRequest, ...]:
    """The requests that this provider would send now, the generation's last.

    An explicit cache that would be created comes before it. No key is needed, and nothing leaves the process.
    """
    if not getattr(provider, "composes", False):
        raise UnavailableError(f"{provider.name} does not support dry runs")
    requests: list[WireRequest] = []
    with _as_dry_run():
        try:
            async with aclosing(provider.stream(request)) as events:
                async for event in events:
                    if isinstance(event, WireRequest):
                        requests.append(event)
                    elif not isinstance(event, Warned):
                        break
        except ProviderError:
            # A request that was not sent has no answer.
            if not requests:
                raise
    if not requests:
        raise UnavailableError(f"{provider.name} yielded no request in a dry run")
    return tuple(requests)


@runtime_checkable
class CacheHolder(Protocol):
    """A provider with explicit caches, which are renewed and deleted by their names."""

    async def renew_cache(self, name: str, seconds: int) -> None:
        """Have it live so many seconds from now on."""
        ...

    async def delete_cache(self, name: str) -> None:
        """Delete it; one that is gone already is no error."""
        ...


class SdkClient(Protocol):
    def stream(self, request: Request, profile: ModelProfile) -> AsyncGenerator[Event]: ...
    async def models(self) -> Sequence[ModelInfo]: ...
    async def close(self) -> None: ...


class Adapter(ABC):
    """A provider on its own SDK: subclasses give a name, an address, profiles and a client."""

    name: str
    endpoint: ClassVar[Endpoint]
    composes = True

    def __init__(self, connection: Connection | None = None) -> None:
        self._connection = connection or Connection(endpoint=self.endpoint, key_name=self.name)
        self._made: SdkClient | None = None

    @abstractmethod
    def profile(self, model: str) -> ModelProfile: ...

    @abstractmethod
    def _make_client(self, connection: Connection) -> SdkClient: ...

    def _info(self, model: str, listed: Mapping[str, object]) -> ModelInfo:
        """A model's facts: its profile, with what the provider's list says of it."""
        known = {name: value for name, value in listed.items() if name != "title" and value is not None}
        title = str(listed.get("title") or model)
        profile = replace(self.profile(model), **cast("dict[str, Any]", known))
        return ModelInfo(name=ModelName(self.name, model), title=title, profile=profile)

    def _client(self) -> SdkClient:
        if self._made is None:
            with sdk_import(self.name):
                self._made = self._make_client(self._connection)
        return self._made

    def stream(self, request: Request) -> AsyncGenerator[Event]:
        profile = self.profile(request.model)
        check_request(self.name, request, profile)
        return self._client().stream(request, profile)

    async def models(self) -> Sequence[ModelInfo]:
        return await self._client().models()

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


_INSTRUCTION = (
    "You continue documents. The user's message is a document that breaks off; it is not addressed to you. "
    "Answer with what comes next, from the very next character on, in the same language, voice and form. "
    "Repeat nothing of it, and add no greeting, comment, heading or quotation marks of your own."
)
_REFERRING = "Reference blocks before the document are material to draw on, and no part of it."
_NOTHING_YET = "(The document is still empty: write its beginning.)"
_SIMULATED = (
    "The assistant is in CLI simulation mode, and responds to the user's CLI commands only with "
    "the output of the command."
)
_COMMAND = "<cmd>cat document.txt</cmd>"


class Seam:
    """Where a document ends and its continuation begins.

    Providers refuse an answer that begins with blanks at its end, so the document's last blanks are held
    back; a model that writes them again has them taken off, so that they are not there twice.
    """

    __slots__ = ("_left",)

    def __init__(self, blanks: str = "") -> None:
        self._left = blanks

    def join(self, text: str) -> str:
        """The piece of continuation, without what the document has already."""
        taken = 0
        while self._left and taken < len(text):
            if text[taken] != self._left[0]:
                self._left = ""
                break
            self._left = self._left[1:]
            taken += 1
        return text[taken:]


def as_chat(request: Request, profile: ModelProfile) -> tuple[Request, str]:
    """The request as a chat. One that is a chat already stays as it is, but for its answer's first words.

    With prefill the document is the beginning of the answer, shown as the output of a command;
    otherwise it is the user's message, after an instruction to go on where it ends. The second value
    is the blanks that were held back, for the seam of every choice. Messages of the request are references:
    they come before the document in the same message.
    """
    if request.prompt is None:
        return request, ""
    system = (*request.system, _REFERRING) if request.messages else request.system
    if not profile.prefill or not request.prompt.strip():
        document = request.prompt if request.prompt.strip() else _NOTHING_YET
        messages = _after_references(request, document)
        return replace(request, prompt=None, messages=messages, system=(*system, _INSTRUCTION)), ""
    document = request.prompt.rstrip()
    asked = replace(
        request,
        prompt=None,
        messages=_after_references(request, _COMMAND),
        system=(*system, _SIMULATED),
        prefill=document,
    )
    return asked, request.prompt[len(document) :]


def _after_references(request: Request, text: str) -> tuple[Message]:
    """One message of the user: the references, a blank line, the text."""
    blocks = [block for message in request.messages for block in message.blocks]
    last = blocks[-1] if blocks else None
    if isinstance(last, Text):
        blocks[-1:] = [Text(f"{last.text}\n\n{text}")]
    else:
        blocks.append(Text(text))
    return (Message(Role.USER, tuple(blocks)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The number of tries, and the waits between them in seconds."""

    tries: int = 3
    timeout_tries: int = 2
    """After a timeout the provider may still be working: one retry only."""
    first_wait: float = 0.5
    growth: float = 2.0
    longest_wait: float = 30.0
    patience: float = 300.0
    """The longest `retry_after` that is waited for; a longer one is reported in the error."""

    def wait(self, error: ProviderError, tries: int, jitter: Callable[[], float]) -> float | None:
        """How long to wait after so many tries, or None to give up."""
        allowed = self.timeout_tries if error.trouble is Trouble.TIMEOUT else self.tries
        if not error.retryable or tries >= allowed:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        whole = min(self.longest_wait, self.first_wait * self.growth ** (tries - 1))
        # Between half and all of it, so that calls that failed together do not retry together.
        return whole * (0.5 + 0.5 * jitter())


_SHOWN = TextDelta | ThinkingDelta | ThinkingDone | ToolCallDelta | ToolCalled


async def stream_retrying(
    provider: Provider,
    request: Request,
    *,
    policy: Policy | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncGenerator[Event]:
    """A provider's stream, with retries. Each try has its own wire events."""
    rules = policy or Policy()
    tries = 0
    while True:
        tries += 1
        shown = False
        try:
            async with aclosing(provider.stream(request)) as events:
                async for event in events:
                    shown = shown or isinstance(event, _SHOWN)
                    yield event
        except ProviderError as error:
            wait = None if shown else rules.wait(error, tries, jitter)
            if wait is None:
                raise
            failed = error
        else:
            return
        yield Retried(failed, wait, tries)
        await sleep(wait)
