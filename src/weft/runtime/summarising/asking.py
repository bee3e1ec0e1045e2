"""Asking for a summary: the models in their order, and without any, the first sentence."""

from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field

from weft.errors import LimitExceededError, NotFoundError, ProviderError, Trouble, WeftError
from weft.ids import new_ulid
from weft.providers.base import ModelName, Parameters, Profile, Provider, Request
from weft.providers.collecting import Answer
from weft.providers.registry import Registry, installed_providers
from weft.providers.retrying import stream_retrying
from weft.providers.wire import Exchange
from weft.runtime.gate import Gate
from weft.runtime.generating.attempts import EndedCall
from weft.runtime.generating.caps import caps_of, expected_micros, is_paid, micros_of, period_room
from weft.runtime.generating.hearing import told_error
from weft.runtime.generating.loop import hearing
from weft.runtime.generating.settings import kept_settings
from weft.runtime.summarising.extracting import extract
from weft.runtime.summarising.models import models_to_ask
from weft.store.spending import add_expected, settle
from weft.store.transaction import Transaction
from weft.tree.attempt import RawResponse, Usage
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role

__all__ = ["TOKENS", "Summarised", "ask_for_summary", "registry_of"]

TOKENS = 50
"""Of a summary, whatever the model."""
_CHARACTERS_PER_TOKEN = 3
_TIMEOUT = 60.0
_AGAIN = ProviderError(Trouble.UNKNOWN, "answered with an error, and asked again")


def registry_of(gate: Gate) -> Registry:
    return gate.providers or installed_providers()


@dataclass(frozen=True, slots=True)
class Summarised:
    """A summary, and what models were asked on the way to it."""

    text: str
    calls: tuple[EndedCall, ...] = ()


def ask_for_summary(
    gate: Gate, prompt: str, text: str, *, tree: int, agent: int, unattended: bool, last_try: bool = True
) -> Summarised:
    """What the first model says that can be asked; else one sentence of the text, marked as extracted.

    Unattended, a model that costs money is passed over unless a cap holds it. Where every model
    failed, the last error is raised, unless this is the last try.
    """
    registry = registry_of(gate)
    with gate.store.read() as session:
        models = models_to_ask(kept_settings(session), registry)
    failed: WeftError | None = None
    calls: list[EndedCall] = []
    for name in models:
        asking = _Asking(gate, registry, name, prompt, tree=tree, agent=agent, unattended=unattended)
        try:
            said = asking.ask()
        except (ProviderError, NotFoundError, LimitExceededError) as error:
            failed = error
            calls += asking.calls(error)
            continue
        calls += asking.calls(None)
        if said:
            return Summarised(said, tuple(calls))
    if isinstance(failed, ProviderError) and failed.retryable and not last_try:
        raise failed
    return Summarised(extract(text), tuple(calls))


@dataclass(slots=True)
class _Asking:
    """One model asked for one summary."""

    gate: Gate
    registry: Registry
    name: ModelName
    prompt: str
    _: KW_ONLY
    tree: int
    agent: int
    unattended: bool
    answer: Answer = field(default_factory=Answer)

    def ask(self) -> str:
        gate = self.gate
        provider, model = self.registry.model(self.name)
        profile = provider.profile(model)
        shortened = _fitted(self.prompt, profile)
        expected = expected_micros(
            profile, prompt=len(shortened) // _CHARACTERS_PER_TOKEN, cached=0, answer=TOKENS, n=1
        )
        call = new_ulid(gate.clock(), gate.entropy)
        if is_paid(profile):
            who = {"tree": self.tree, "agent": self.agent}
            _reserve(gate, call, self.name, **who, expected=expected, unattended=self.unattended)
        request = Request(
            model=model,
            messages=(Message(Role.USER, (Text(shortened),)),),
            parameters=Parameters(max_tokens=TOKENS, temperature=0.2, timeout=_TIMEOUT),
        )
        hearing().submit(self._listen(provider, request)).result()
        if is_paid(profile):
            spent = None if profile.prices is None else micros_of(profile.prices.cost(self.answer.usage))
            gate.store.write(lambda transaction: settle(transaction, call, spent))
        return " ".join(self.answer.choice(0).text.split())

    async def _listen(self, provider: Provider, request: Request) -> None:
        async with aclosing(stream_retrying(provider, request)) as events:
            async for event in events:
                self.answer.add(event)

    def calls(self, error: WeftError | None) -> list[EndedCall]:
        """Every request that was sent, with what came back; all but the last were answered with an error."""
        exchanges = self.answer.recording.exchanges
        return [self._call(each, error if each is exchanges[-1] else _AGAIN) for each in exchanges]

    def _call(self, exchange: Exchange, error: WeftError | None) -> EndedCall:
        response = None
        if exchange.answered is not None:
            response = RawResponse(
                body=exchange.response,
                provider=self.name.provider,
                model=self.answer.model or self.name.model,
                status_code=exchange.status,
                usage=self.answer.usage if error is None else Usage(),
            )
        told = None if error is None else told_error(error)
        return EndedCall(segments=exchange.sent.segments, response=response, error=told)


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
