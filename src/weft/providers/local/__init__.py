"""`local:` models on this machine: no key, no network, nothing leaves it.

`local:smollm2` comes with Weft. It is small and says silly things; a file of one's own is set by the
environment: `WEFT_LOCAL_TINY=/models/tiny.gguf` makes `local:tiny`.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from weft.errors import NotFoundError, ProviderError, Trouble
from weft.providers.base import FREE, ModelInfo, ModelName, ModelProfile, Request
from weft.providers.errors import describe_status
from weft.providers.events import (
    ChoiceFinished,
    Event,
    ModelReported,
    StopReason,
    TextDelta,
    TokenChance,
    UsageReported,
    WireBytes,
    WireHead,
    WireRequest,
    cut_body,
)
from weft.providers.local.engine import (
    CHOICES,
    Engine,
    EngineCall,
    Weights,
    bundled_weights,
    field_of,
    installed,
)
from weft.tree.attempt import Usage
from weft.tree.cache_profile import AUTOMATIC_CACHE
from weft.tree.content import Image
from weft.tree.json import JsonValue

__all__ = ["Local", "make"]

_SMOLLM2 = "smollm2"
_PREFIX = "WEFT_LOCAL_"
_DEFAULT_LIMIT = 512
"""Default limit of an answer in tokens: small models often do not end by themselves."""
_DOCUMENT_START = "<|endoftext|>"
"""The token before each document in the training data: an empty document is continued after it."""
_SEEDS = 2**32
_ENDINGS = {"stop": StopReason.STOP, "length": StopReason.LENGTH}
PROFILE = ModelProfile(
    window=8_192,
    output_limit=4_096,
    logprobs=20,
    completion=True,
    prefill=True,
    choices=CHOICES,
    seed=True,
    temperatures=(0, 10),
    cache=AUTOMATIC_CACHE,
    prices=FREE,
    local=True,
)


class Local:
    """Models that run in this process."""

    name = "local"
    composes = True

    def __init__(self, *, environment: Mapping[str, str] | None = None, idle: float = 600.0) -> None:
        self._environment = os.environ if environment is None else environment
        self._idle = idle
        self._engines: dict[str, Engine] = {}

    def profile(self, model: str) -> ModelProfile:  # noqa: ARG002 - what the runtime can do, all of them can
        return PROFILE

    async def models(self) -> Sequence[ModelInfo]:
        titles = {_SMOLLM2: "SmolLM2 135M Instruct"} if installed() else {}
        titles |= {name: path.name for name, path in self._own().items()}
        return [
            ModelInfo(name=ModelName(self.name, name), title=title, profile=self.profile(name))
            for name, title in titles.items()
        ]

    def _own(self) -> dict[str, Path]:
        return {
            name.removeprefix(_PREFIX).lower(): Path(path)
            for name, path in sorted(self._environment.items())
            if name.startswith(_PREFIX) and path
        }

    def engine(self, model: str) -> Engine:
        """The engine of a model; nothing is loaded before the first call."""
        made = self._engines.get(model)
        if made is None:
            own = self._own().get(model)
            if own is not None:
                weights = Weights(path=own)
                made = Engine(lambda: _present(weights), idle=self._idle)
            elif model == _SMOLLM2:
                made = Engine(bundled_weights, idle=self._idle)
            else:
                known = ", ".join(sorted({_SMOLLM2, *self._own()}))
                raise NotFoundError(f"there is no local model {model!r}", hint=f"there are {known}")
            self._engines[model] = made
        return made

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        engine = self.engine(request.model)
        _check(request)
        chat, body = request.prompt is None, _body(request)
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        yield WireRequest(
            method="POST",
            url=f"local://{request.model}/{'chat/completions' if chat else 'completions'}",
            headers=(),
            body=sent,
            segments=cut_body(sent),
        )
        yield WireHead(status=200, reason=b"OK")
        yield ModelReported(request.model)
        call = EngineCall(_opening(body), _bodies(body, request.parameters.n), chat=chat)
        reader = _Reader(call, request.parameters.n)
        async with aclosing(_answers(engine, call)) as lines:
            async for choice, line in lines:
                yield WireBytes(line + b"\n")
                for event in reader.read(choice, line):
                    yield event
        if reader.unfinished:
            raise ProviderError(
                Trouble.UNKNOWN, f"local:{request.model}: the stream ended without a stop reason"
            )

    async def close(self) -> None:
        """Nothing to close: a model stays in memory until it was idle for a while."""

    async def unload(self) -> None:
        """Free the models' memory now."""
        for engine in self._engines.values():
            await asyncio.wrap_future(engine.unload())


async def _answers(engine: Engine, call: EngineCall) -> AsyncGenerator[tuple[int, bytes]]:
    """The model's chunks as they come, each with its choice, from its thread to this loop."""
    working = engine.run(call)
    working.add_done_callback(lambda _: call.put(None))
    try:
        while (line := await call.lines.get()) is not None:
            yield line
        try:
            working.result()
        except RuntimeError as error:
            raise ProviderError(Trouble.INVALID_REQUEST, f"local: invalid request: {error}") from None
    finally:
        call.stop()


def _check(request: Request) -> None:
    asked = request.parameters
    PROFILE.check_temperature(asked.temperature)
    if not 1 <= asked.n <= CHOICES:
        raise ProviderError(
            Trouble.INVALID_REQUEST, f"n is {asked.n:,}; one request has 1 to {CHOICES} choices"
        )
    if request.tools:
        raise ProviderError(Trouble.INVALID_REQUEST, f"local:{request.model} does not support tools")
    if any(isinstance(block, Image) for message in request.messages for block in message.blocks):
        raise ProviderError(Trouble.INVALID_REQUEST, f"local:{request.model} does not accept images")


def _present(weights: Weights) -> Weights:
    if not weights.path.is_file():
        raise ProviderError(Trouble.MODEL_NOT_FOUND, f"there is no file {weights.path}")
    return weights


def _body(request: Request) -> dict[str, JsonValue]:
    asked = request.parameters
    body: dict[str, JsonValue] = {}
    if request.prompt is not None:
        head = f"{request.system_text}\n\n" if request.system_text else ""
        body["prompt"] = (head + request.prompt + request.prefill) or _DOCUMENT_START
    else:
        messages: list[JsonValue] = []
        if request.system_text:
            messages.append({"role": "system", "content": request.system_text})
        messages += [{"role": each.role.value, "content": each.text} for each in request.messages]
        if request.prefill:
            messages.append({"role": "assistant", "content": request.prefill})
        body["messages"] = messages
    body |= {"max_tokens": asked.max_tokens or _DEFAULT_LIMIT, "n": asked.n, "stream": True}
    body["stream_options"] = {"include_usage": True}
    given = {"temperature": asked.temperature, "top_p": asked.top_p, "seed": asked.seed}
    body |= {name: value for name, value in given.items() if value is not None}
    if asked.stop:
        body["stop"] = list(asked.stop)
    if asked.logprobs is not None:
        body |= {"logprobs": True, "top_logprobs": max(1, asked.logprobs)} if request.prompt is None else {}
        body |= {"n_probs": max(1, asked.logprobs)} if request.prompt is not None else {}
    body.update(asked.custom)
    return body


def _opening(body: Mapping[str, JsonValue]) -> bytes:
    """The same prompt without an answer, with progress, so that it can be stopped.

    With a seed the prompt is read again: after reading it in pieces, the last digits differ.
    """
    prompt = {name: body[name] for name in ("prompt", "messages") if name in body}
    asked = {**prompt, "max_tokens": 0, "n_predict": 0, "stream": True, "return_progress": True}
    return json.dumps({**asked, "cache_prompt": "seed" not in body}, ensure_ascii=False).encode()


def _bodies(body: Mapping[str, JsonValue], choices: int) -> list[bytes]:
    """A body for each choice. Each has its own seed, so that its text does not depend on the others."""
    seed = body.get("seed")
    seeds = [(seed + choice) % _SEEDS if isinstance(seed, int) else None for choice in range(choices)]
    return [
        json.dumps({**body, "n": 1, **({} if own is None else {"seed": own})}, ensure_ascii=False).encode()
        for own in seeds
    ]


class _Reader:
    """Reads the runtime's answers into our events."""

    def __init__(self, call: EngineCall, choices: int) -> None:
        self.unfinished = set(range(choices))
        self._call = call
        self._prompt = 0
        self._completion = 0

    def read(self, number: int, line: bytes) -> Iterator[Event]:
        data: Any = json.loads(line)
        error = field_of(data, "error")
        if error is not None:
            status = int(field_of(error, "code") or 500)
            words, message = (field_of(error, "type"),), str(field_of(error, "message") or "")
            raise describe_status(Local.name, status, words=words, message=message)
        for choice in field_of(data, "choices") or ():
            yield from self._choice(number, choice)
        usage = field_of(data, "usage")
        if usage is not None:
            yield self._spent(usage)

    def _choice(self, number: int, choice: Any) -> Iterator[Event]:
        text = field_of(choice, "text") or field_of(field_of(choice, "delta"), "content")
        if text:
            yield TextDelta(str(text), number, _chances(field_of(choice, "logprobs")))
        reason = field_of(choice, "finish_reason")
        if reason:
            self.unfinished.discard(number)
            yield ChoiceFinished(_ENDINGS.get(str(reason), StopReason.OTHER), number, str(reason))

    def _spent(self, usage: Any) -> UsageReported:
        """Each choice counts its own answer, and the prompt that all share."""
        self._prompt = int(field_of(usage, "prompt_tokens") or 0)
        self._completion += int(field_of(usage, "completion_tokens") or 0)
        return UsageReported(
            Usage(
                prompt=self._prompt,
                completion=self._completion,
                total=self._prompt + self._completion,
                cached_read=min(self._call.cached, self._prompt),
            )
        )


def _chances(data: Any) -> tuple[TokenChance, ...]:
    return tuple(
        TokenChance(
            str(field_of(each, "token")),
            float(field_of(each, "logprob")),
            tuple(
                (str(field_of(it, "token")), float(field_of(it, "logprob")))
                for it in field_of(each, "top_logprobs") or ()
            ),
        )
        for each in field_of(data, "content") or ()
    )


def make() -> Local:
    return Local()
