"""What each provider's models can do: the table's windows and prices, and what only experience tells."""

import re
from dataclasses import replace
from enum import StrEnum

from weft.providers.base import CacheKind, Profile, SystemPlace
from weft.providers.prices import known_model

__all__ = ["OpenAIWay", "anthropic_profile", "google_profile", "openai_profile", "openai_way"]

_CLAUDE = re.compile(r"claude-(?:(?:opus|sonnet|haiku|fable|mythos|instant)-)?v?(\d+)(?:-(\d)(?!\d))?")
_CLAUDE_OUTPUT = (((3, 0), 4_096), ((3, 5), 8_192), ((3, 7), 64_000), ((4, 6), 128_000))
_REASONING = re.compile(r"(o\d|gpt-[5-9]|codex|computer-use)")
_LEGACY = re.compile(r"(davinci|babbage|curie|ada\b|text-|gpt-3\.5-turbo-instruct)")
_HEARING = re.compile(r"audio")
_CONTINUES = re.compile(r"gemini-(1|2)\.|gemma")
_GEMINI_WINDOW = 1_048_576
_LEGACY_WINDOW = 16_384


def anthropic_profile(model: str) -> Profile:
    """Claude. Newer ones take neither the answer's first words nor a temperature."""
    known = known_model("anthropic", model)
    version = _claude_version(model)
    output = 4_096
    for since, limit in _CLAUDE_OUTPUT:
        if version >= since:
            output = limit
    if "opus" in model and (4, 0) <= version < (4, 5):
        output = 32_000
    return Profile(
        window=known.window if known and known.window else 200_000,
        output_limit=output,
        system=SystemPlace.FIELD,
        images=version >= (3, 0),
        tools=version >= (3, 0),
        prefill=version < (4, 6),
        sampling=version < (4, 7),
        cache=CacheKind.MARKS,
        prices=known.prices if known else None,
    )


def _claude_version(model: str) -> tuple[int, int]:
    """The version in a name: `claude-3-5-haiku`, `claude-opus-4-8`. A date is no version; unknown is new."""
    found = _CLAUDE.search(model)
    if found is None:
        return (99, 0)
    return (int(found[1]), int(found[2] or 0))


class OpenAIWay(StrEnum):
    """Which of OpenAI's interfaces a model is asked through."""

    CHAT = "chat"
    RESPONSES = "responses"
    COMPLETIONS = "completions"


def openai_way(model: str) -> OpenAIWay:
    """Models that reason speak through Responses, which keeps their thinking; older ones through Chat.

    Chat has what Responses lacks: several choices, stop sequences, seeds.
    """
    base = model.removeprefix("ft:")
    if _LEGACY.match(base):
        return OpenAIWay.COMPLETIONS
    return OpenAIWay.RESPONSES if _REASONING.match(base) else OpenAIWay.CHAT


_OPENAI = {
    OpenAIWay.CHAT: Profile(
        images=True,
        tools=True,
        logprobs=20,
        choices=128,
        seed=True,
        output_limit=16_384,
        cache=CacheKind.KEY,
    ),
    OpenAIWay.RESPONSES: Profile(
        images=True,
        tools=True,
        sampling=False,
        stop=False,
        output_limit=128_000,
        cache=CacheKind.KEY,
        system=SystemPlace.FIELD,
    ),
    OpenAIWay.COMPLETIONS: Profile(logprobs=5, completion=True, choices=128, seed=True, output_limit=4_096),
}


def openai_profile(model: str) -> Profile:
    known = known_model("openai", model)
    way = openai_way(model)
    unknown = _LEGACY_WINDOW if way is OpenAIWay.COMPLETIONS else None
    return replace(
        _OPENAI[way],
        window=known.window if known and known.window else unknown,
        audio=bool(_HEARING.search(model)),
        prices=known.prices if known else None,
    )


def google_profile(model: str) -> Profile:
    known = known_model("google", model)
    gemma = model.startswith("gemma")
    return Profile(
        window=known.window if known and known.window else None if gemma else _GEMINI_WINDOW,
        output_limit=8_192 if gemma or re.match(r"gemini-(1|2\.0)", model) else 65_536,
        system=SystemPlace.FIELD,
        images=True,
        audio=not gemma,
        tools=not gemma,
        logprobs=20,
        prefill=bool(_CONTINUES.match(model)),
        choices=8,
        seed=True,
        cache=CacheKind.NONE if gemma else CacheKind.CONTENT,
        prices=known.prices if known else None,
    )
