"""`compatible:` for servers with OpenAI's interfaces: presets by name, or any endpoint its owner sets.

`compatible:ollama/llama3.2` names a preset and its model. An endpoint of one's own is set by the
environment: `WEFT_COMPATIBLE_LAB=https://lab.example/v1` makes `compatible:lab/model`, and
`WEFT_COMPATIBLE_LAB_PRIVATE=1` says that it is on the own network. `weft endpoints add lab URL` keeps one.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, cast

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, ProviderError, Trouble, WeftError
from weft.providers.adapter import Connection, as_chat, check_request
from weft.providers.base import FREE, ModelInfo, ModelName, ModelPrices, ModelProfile, Request
from weft.providers.catalog import known_model
from weft.providers.endpoint import Endpoint
from weft.providers.events import Event
from weft.providers.keys import ADDRESSES, Keys
from weft.providers.openai.chat import InterfaceCall, OpenAIInterface, chat_body, completion_body
from weft.providers.saved_endpoints import SavedEndpoints
from weft.providers.sdk_import import sdk_import
from weft.tree.cache_profile import AUTOMATIC_CACHE
from weft.tree.json import JsonValue

if TYPE_CHECKING:
    from weft.providers.openai.client import OpenAIClient

_WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length")
_MILLION = 1_000_000


def listed_profile(known: ModelProfile, extra: Mapping[str, object]) -> ModelProfile:
    """The profile of a model with the facts of its row in a list; invalid values are ignored."""
    window = next((profile for name in _WINDOWS if (profile := _count(extra.get(name)))), known.window)
    output = _count(_of(extra.get("top_provider"), "max_completion_tokens")) or known.output_limit
    profile = replace(
        known, window=window, output_limit=output, prices=_prices(extra.get("pricing")) or known.prices
    )
    modalities = _words(_of(extra.get("architecture"), "input_modalities"))
    if modalities is not None:
        profile = replace(profile, images="image" in modalities, audio="audio" in modalities)
    supported = _words(extra.get("supported_parameters"))
    if supported is not None:
        logprobs = known.logprobs if {"logprobs", "top_logprobs"} & supported else 0
        profile = replace(profile, tools="tools" in supported, seed="seed" in supported, logprobs=logprobs)
    return profile


def _of(value: object, name: str) -> object:
    return cast("Mapping[str, object]", value).get(name) if isinstance(value, Mapping) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _words(value: object) -> set[str] | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    return {each for each in cast("Sequence[object]", value) if isinstance(each, str)}


def _prices(row: object) -> ModelPrices | None:
    """Prices per million tokens, from dollars per token as text."""
    input_price, output_price = _price(_of(row, "prompt")), _price(_of(row, "completion"))
    if input_price is None or output_price is None:
        return None
    return ModelPrices(
        input=input_price,
        output=output_price,
        cached_read=_price(_of(row, "input_cache_read")),
        cached_write=_price(_of(row, "input_cache_write")),
    )


def _price(value: object) -> Decimal | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    try:
        price = Decimal(str(value)) * _MILLION
    except InvalidOperation:
        return None
    # Some servers write -1 for a price that depends.
    return price.normalize() + 0 if price.is_finite() and price >= 0 else None


_PREFIX = "WEFT_COMPATIBLE_"
_PRIVATE = "_PRIVATE"
"""After the variable of an endpoint, set to 1: the endpoint is on the own network."""
_YES = frozenset({"1", "true", "yes", "on"})
_CONNECT_TIMEOUT = 0.5
"""Seconds that a server on this machine has to accept a connection."""
_LOCAL = ModelProfile(
    images=True,
    tools=True,
    logprobs=20,
    completion=True,
    prefill=True,
    choices=1,
    seed=True,
    temperatures=(0, 10),
    cache=AUTOMATIC_CACHE,
    prices=FREE,
    local=True,
)
_HOSTED = ModelProfile(images=True, tools=True, logprobs=20, completion=True, choices=1, seed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """An endpoint by name, and what its server can do."""

    url: str
    profile: ModelProfile
    key_needed: bool = False
    table: str | None = None
    """The bundled table with the prices and windows of its models."""
    prefill_fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Fields that make the server continue a prefilled answer."""
    private: bool = False


PRESETS: dict[str, Preset] = {
    "hyperbolic": Preset(
        url=ADDRESSES["hyperbolic"],
        profile=replace(_HOSTED, choices=8),
        key_needed=True,
        table="huggingface_hyperbolic",
    ),
    "llama.cpp": Preset(url="http://localhost:8080/v1", profile=_LOCAL),
    "lmstudio": Preset(url="http://localhost:1234/v1", profile=replace(_LOCAL, logprobs=0)),
    "ollama": Preset(url="http://localhost:11434/v1", profile=_LOCAL),
    "openrouter": Preset(
        url=ADDRESSES["openrouter"],
        profile=replace(_HOSTED, prefill=True, cache=AUTOMATIC_CACHE),
        key_needed=True,
        table="openrouter",
    ),
    "vllm": Preset(
        url="http://localhost:8000/v1",
        profile=replace(_LOCAL, choices=128),
        prefill_fields={"add_generation_prompt": False, "continue_final_message": True},
    ),
}


def _is_flag(variable: str, value: str) -> bool:
    """True if a variable is a flag of an endpoint, not an address."""
    return variable.endswith(_PRIVATE) and "://" not in value


def _moved(preset: Preset, url: str, *, private: bool) -> Preset:
    """The preset at another address; a server outside of the own network is neither local nor free."""
    try:
        inside = Endpoint(url, private=private).may_be_private
    except InvalidInputError:
        # An invalid address is reported when the endpoint is used.
        inside = False
    profile = preset.profile
    if profile.local and not inside:
        profile = replace(profile, local=False, prices=None)
    return replace(preset, url=url, private=private, profile=profile)


class Compatible:
    """All OpenAI-compatible endpoints, each with its own connections and key."""

    name = "compatible"
    composes = True

    def __init__(
        self,
        presets: Mapping[str, Preset] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        connections: Mapping[str, Connection] | None = None,
        keys: Keys | None = None,
        saved: SavedEndpoints | None = None,
    ) -> None:
        # What a test gives as the environment is all that it has.
        self._saved = saved if saved is not None or environment is not None else SavedEndpoints()
        self._presets = dict(PRESETS if presets is None else presets)
        self._environment = os.environ if environment is None else environment
        self._connections = dict(connections or {})
        self._keys = keys or Keys()
        self._clients: dict[tuple[str, str], OpenAIClient] = {}

    def endpoints(self) -> dict[str, Preset]:
        """All endpoints: the presets, those that were added, and those that the environment sets."""
        endpoints = dict(self._presets)
        for name, each in ({} if self._saved is None else self._saved.usable()).items():
            base = endpoints.get(name, Preset(url=each.url, profile=_HOSTED))
            endpoints[name] = _moved(base, each.url, private=each.private)
        for variable, url in self._environment.items():
            if not variable.startswith(_PREFIX) or not url.strip() or _is_flag(variable, url):
                continue
            name = variable.removeprefix(_PREFIX).lower()
            known = next((each for each in endpoints if re.sub(r"\W", "_", each) == name), name)
            base = endpoints.get(known, Preset(url=url, profile=_HOSTED))
            private = self._environment.get(variable + _PRIVATE, "").strip().lower() in _YES
            endpoints[known] = _moved(base, url.strip(), private=private)
        return endpoints

    def profile(self, model: str) -> ModelProfile:
        name, _, own = model.partition("/")
        preset = self.endpoints().get(name)
        if preset is None:
            return _HOSTED
        known = known_model(preset.table, own) if preset.table else None
        if known is None:
            return preset.profile
        return replace(preset.profile, window=known.window, prices=known.prices)

    def stream(self, request: Request) -> AsyncGenerator[Event]:
        name, preset, own = self._find(request.model)
        profile = self.profile(request.model)
        check_request(self.name, request, profile)
        return self._client(name, preset).stream(replace(request, model=own), profile)

    async def models(self) -> Sequence[ModelInfo]:
        """The models of every endpoint that answers; others are left out."""
        models: list[ModelInfo] = []
        any_answered = False
        for name, preset in self.endpoints().items():
            # An endpoint with a wrong address or an unreadable key does not affect the others.
            with suppress(WeftError):
                if not await self._is_available(name, preset):
                    continue
                models += await self._client(name, preset).models()
                any_answered = True
        if not any_answered:
            raise ProviderError(
                Trouble.NETWORK,
                "no OpenAI-compatible endpoint answered",
                hint="start one (Ollama, LM Studio, llama.cpp, vLLM), or set a key for openrouter or hyperbolic",
            )
        return models

    async def _is_available(self, name: str, preset: Preset) -> bool:
        """True if there is a key, or a server that listens. Loads no SDK."""
        endpoint = Endpoint(preset.url, private=preset.private)
        if preset.key_needed:
            return self._keys.find(name, endpoint.authority) is not None
        if name in self._connections or endpoint.host != "localhost":
            return True
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    def _info(self, name: str, own: str, listed: Mapping[str, object]) -> ModelInfo:
        model, title = f"{name}/{own}", listed.get("name")
        return ModelInfo(
            name=ModelName(self.name, model),
            title=title if isinstance(title, str) else own,
            profile=listed_profile(self.profile(model), listed),
        )

    def _find(self, model: str) -> tuple[str, Preset, str]:
        name, slash, own = model.partition("/")
        known = self.endpoints()
        if not (slash and own):
            raise InvalidInputError(
                f"compatible:{model} does not name an endpoint",
                hint=f"write compatible:{next(iter(known))}/{model}",
            )
        if name not in known:
            raise NotFoundError(
                f"there is no endpoint {name!r}",
                hint=Hint(
                    HintKind.SETUP,
                    text=f"endpoints are {', '.join(known)};"
                    f" set {_PREFIX}{re.sub(r'[^A-Z0-9]', '_', name.upper())} to an address for another",
                ),
            )
        return name, known[name], own

    def _client(self, name: str, preset: Preset) -> "OpenAIClient":
        made = self._clients.get((name, preset.url))
        if made is None:
            with sdk_import(self.name):
                from weft.providers.openai.client import (  # noqa: PLC0415 - an SDK takes long to import
                    OpenAIClient,
                )
            connection = self._connections.get(name) or Connection(
                endpoint=Endpoint(preset.url, private=preset.private),
                key_name=name,
                key_needed=preset.key_needed,
                keys=self._keys,
            )
            made = OpenAIClient(name, connection, partial(self._info, name), partial(_call, preset))
            self._clients[name, preset.url] = made
        return made

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def _call(preset: Preset, request: Request, profile: ModelProfile) -> InterfaceCall:
    if request.prompt is not None and profile.completion:
        body = completion_body(request, profile)
        return InterfaceCall(interface=OpenAIInterface.COMPLETIONS, body=body)
    chat, blanks = as_chat(request, profile)
    body = chat_body(chat, profile, length="max_tokens")
    if chat.prefill:
        body.update(preset.prefill_fields)
    return InterfaceCall(interface=OpenAIInterface.CHAT, body=body, blanks=blanks)


def make() -> Compatible:
    return Compatible()
