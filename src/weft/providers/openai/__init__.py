"""`openai:` on OpenAI's own SDK: Responses, Chat or the legacy Completions, by model.

The SDK is imported when it is used.
"""

import re
from dataclasses import replace

from weft.providers.adapter import Adapter, Connection, SdkClient, as_chat
from weft.providers.base import ModelProfile, Request, SystemPlace
from weft.providers.catalog import known_model
from weft.providers.endpoint import Endpoint
from weft.providers.keys import ADDRESSES
from weft.providers.openai.chat import InterfaceCall, OpenAIInterface, chat_body, completion_body
from weft.providers.openai.responses import response_body
from weft.tree.cache_profile import CacheKind, CacheProfile

__all__ = ["OpenAI", "make", "openai_interface", "openai_profile"]

_REASONING = re.compile(r"(o\d|gpt-[5-9]|codex|computer-use)")
_LEGACY = re.compile(r"(davinci|babbage|curie|ada\b|text-|gpt-3\.5-turbo-instruct)")
_HEARING = re.compile(r"audio")
_LEGACY_WINDOW = 16_384
_CACHE = CacheProfile(kind=CacheKind.KEY, grain=128)
_MARKED_CACHE = CacheProfile(
    kind=CacheKind.MARKS,
    look_back=1,
    lifetimes=("30m",),
    control={"mode": "explicit"},
    marks_answers=False,
    keyed=True,
    fields={"prompt_cache_options": {"mode": "explicit", "ttl": "30m"}},
)
"""From GPT-5.6 on: exact breakpoints, whose writing is paid."""
_MARKING = re.compile(r"gpt-(5\.[6-9]|5\.\d{2}|[6-9]|\d{2})")


def openai_interface(model: str) -> OpenAIInterface:
    """Reasoning models use Responses, which keeps their thinking; older ones use Chat.

    Chat has what Responses lacks: several choices, stop sequences, seeds.
    """
    base = model.removeprefix("ft:")
    if _LEGACY.match(base):
        return OpenAIInterface.COMPLETIONS
    return OpenAIInterface.RESPONSES if _REASONING.match(base) else OpenAIInterface.CHAT


_PROFILES = {
    OpenAIInterface.CHAT: ModelProfile(
        images=True,
        tools=True,
        system_anywhere=True,
        logprobs=20,
        choices=128,
        seed=True,
        output_limit=16_384,
        cache=_CACHE,
    ),
    OpenAIInterface.RESPONSES: ModelProfile(
        images=True,
        tools=True,
        system_anywhere=True,
        sampling=False,
        stop=False,
        output_limit=128_000,
        cache=_CACHE,
        system=SystemPlace.FIELD,
    ),
    OpenAIInterface.COMPLETIONS: ModelProfile(
        logprobs=5, completion=True, choices=128, seed=True, output_limit=4_096
    ),
}


def openai_profile(model: str) -> ModelProfile:
    known = known_model("openai", model)
    interface = openai_interface(model)
    unknown = _LEGACY_WINDOW if interface is OpenAIInterface.COMPLETIONS else None
    profile = _PROFILES[interface]
    return replace(
        profile,
        cache=_MARKED_CACHE if _MARKING.match(model.removeprefix("ft:")) else profile.cache,
        window=known.window if known and known.window else unknown,
        audio=bool(_HEARING.search(model)),
        prices=known.prices if known else None,
    )


class OpenAI(Adapter):
    """OpenAI's models."""

    name = "openai"
    endpoint = Endpoint(ADDRESSES["openai"])

    def profile(self, model: str) -> ModelProfile:
        return openai_profile(model)

    def _make_client(self, connection: Connection) -> SdkClient:
        from weft.providers.openai.client import OpenAIClient  # noqa: PLC0415 - an SDK takes long to import

        # What OpenAI lists of a model says nothing that its profile does not know.
        return OpenAIClient(self.name, connection, lambda model, _: self._info(model, {}), _call)


def _call(request: Request, profile: ModelProfile) -> InterfaceCall:
    interface = openai_interface(request.model)
    if interface is OpenAIInterface.COMPLETIONS:
        return InterfaceCall(interface=interface, body=completion_body(request, profile))
    chat, blanks = as_chat(request, profile)
    body = response_body(chat) if interface is OpenAIInterface.RESPONSES else chat_body(chat, profile)
    return InterfaceCall(interface=interface, body=body, blanks=blanks)


def make() -> OpenAI:
    return OpenAI()
