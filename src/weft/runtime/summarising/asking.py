"""Asking for a summary: the models in their order, and without any, the first sentence."""

from contextlib import aclosing

from weft.errors import LimitExceededError, NotFoundError, ProviderError, WeftError
from weft.ids import new_ulid
from weft.providers.base import ModelName, Parameters, Profile, Request
from weft.providers.collecting import Answer
from weft.providers.registry import Registry, installed_providers
from weft.providers.retrying import stream_retrying
from weft.runtime.gate import Gate
from weft.runtime.generating.caps import caps_of, expected_micros, is_paid, micros_of, period_room
from weft.runtime.generating.loop import hearing
from weft.runtime.generating.settings import kept_settings
from weft.runtime.summarising.extracting import extract
from weft.runtime.summarising.models import models_to_ask
from weft.store.spending import add_expected, settle
from weft.store.transaction import Transaction
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role

__all__ = ["TOKENS", "ask_for_summary", "registry_of"]

TOKENS = 50
"""Of a summary, whatever the model."""
_CHARACTERS_PER_TOKEN = 3
_TIMEOUT = 60.0


def registry_of(gate: Gate) -> Registry:
    return gate.providers or installed_providers()


def ask_for_summary(
    gate: Gate, prompt: str, text: str, *, tree: int, agent: int, unattended: bool, last_try: bool = True
) -> str:
    """What the first model says that can be asked; else one sentence of the text, marked as extracted.

    Unattended, a model that costs money is passed over unless a cap holds it. Where every model
    failed, the last error is raised, unless this is the last try.
    """
    registry = registry_of(gate)
    with gate.store.read() as session:
        models = models_to_ask(kept_settings(session), registry)
    failed: WeftError | None = None
    for name in models:
        try:
            said = _ask(gate, registry, name, prompt, tree=tree, agent=agent, unattended=unattended)
        except (ProviderError, NotFoundError, LimitExceededError) as error:
            failed = error
            continue
        if said:
            return said
    if isinstance(failed, ProviderError) and failed.retryable and not last_try:
        raise failed
    return extract(text)


def _ask(
    gate: Gate,
    registry: Registry,
    name: ModelName,
    prompt: str,
    *,
    tree: int,
    agent: int,
    unattended: bool,
) -> str:
    provider, model = registry.model(name)
    profile = provider.profile(model)
    shortened = _fitted(prompt, profile)
    expected = expected_micros(
        profile, prompt=len(shortened) // _CHARACTERS_PER_TOKEN, cached=0, answer=TOKENS, n=1
    )
    call = new_ulid(gate.clock(), gate.entropy)
    if is_paid(profile):
        _reserve(gate, call, name, tree=tree, agent=agent, expected=expected, unattended=unattended)
    request = Request(
        model=model,
        messages=(Message(Role.USER, (Text(shortened),)),),
        parameters=Parameters(max_tokens=TOKENS, temperature=0.2, timeout=_TIMEOUT),
    )

    async def listen() -> Answer:
        answer = Answer()
        async with aclosing(stream_retrying(provider, request)) as events:
            async for event in events:
                answer.add(event)
        return answer

    answer = hearing().submit(listen()).result()
    if is_paid(profile):
        spent = None if profile.prices is None else micros_of(profile.prices.cost(answer.usage))
        gate.store.write(lambda transaction: settle(transaction, call, spent))
    return " ".join(answer.choice(0).text.split())


def _reserve(
    gate: Gate, call: str, name: ModelName, *, tree: int, agent: int, expected: int, unattended: bool
) -> None:
    def work(transaction: Transaction) -> None:
        caps = [cap for cap in caps_of(kept_settings(transaction)) if cap.whose == "grove"]
        if unattended and not caps:
            raise LimitExceededError(
                f"{name} costs money, and nobody watches: a spend cap must be set",
                hint="weft spend cap 1 --day, for example",
            )
        transaction.grove_state()
        for cap in caps:
            period_room(transaction, cap, now=gate.clock(), more=expected)
        moment = gate.clock()
        add_expected(transaction, attempt=call, tree=tree, agent=agent, moment=moment, micros=expected)

    gate.store.write(work)


def _fitted(prompt: str, profile: Profile) -> str:
    """A small model's window holds little: the middle of a long message goes first."""
    room = ((profile.window or 100_000) - 4 * TOKENS) * _CHARACTERS_PER_TOKEN // 2
    if len(prompt) <= room:
        return prompt
    half = room // 2
    return f"{prompt[:half]}\n[…]\n{prompt[-half:]}"
