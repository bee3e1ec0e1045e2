"""The models that make summaries: tried in order, else the first sentence."""

from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field
from typing import Any
from unicodedata import category

from sqlalchemy import select

from weft.context.tokens import DEFAULT
from weft.errors import (
    LimitExceededError,
    NotFoundError,
    ProviderError,
    StorageError,
    Trouble,
    WeftError,
)
from weft.ids import new_ulid
from weft.providers.adapter import stream_retrying
from weft.providers.base import (
    ModelName,
    ModelProfile,
    Parameters,
    Provider,
    ProviderRegistry,
    Request,
)
from weft.providers.events import ModelAnswer, WireExchange
from weft.providers.keys import VARIABLES, Keys
from weft.runtime.contexts.model_agents import EMBEDDED, registry_of
from weft.runtime.coordination.background import model_loop
from weft.runtime.generation.answer import error_text
from weft.runtime.generation.spending import (
    Spender,
    caps_for,
    caps_of,
    expected_micros,
    is_paid,
    micros_of,
    require_held,
    require_room,
)
from weft.runtime.generation.start_call import EndedCall
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.settings import load_settings
from weft.store import schema
from weft.store.model_calls import add_expected, settle
from weft.store.transaction import Transaction
from weft.tree.attempt import RawResponse, Usage
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role
from weft.tree.snippet import extract

TOKENS = 50
"""Limit of a summary, for every model."""
LONGEST = 500
"""Characters of a summary: fifty tokens are fewer, but not every model keeps to its limit."""
_UNFIT = frozenset({"Cc", "Cs"})
"""Controls and lone surrogates: not every database stores them."""
_CHARACTERS_PER_TOKEN = 3
_TIMEOUT = 60.0
_AGAIN = ProviderError(Trouble.UNKNOWN, "answered with an error, and was called again")


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """A summary, and the calls that were made for it."""

    text: str
    calls: tuple[EndedCall, ...] = ()


def request_summary(
    executor: Executor,
    prompt: str,
    text: str,
    *,
    tree: int,
    agent: int,
    unattended: bool,
    last_try: bool = True,
) -> SummaryResult:
    """The answer of the first model that gives one; else one sentence of the text, marked as an extract.

    Unattended, a model that costs money is passed over unless a cap holds it. Where every model
    failed, the last error is raised, unless this is the last try.
    """
    registry = registry_of(executor)
    with executor.store.read() as session:
        models = summary_models(load_settings(session), registry)
    failed: WeftError | None = None
    calls: list[EndedCall] = []
    for name in models:
        call = _SummaryCall(executor, registry, name, prompt, tree=tree, agent=agent, unattended=unattended)
        try:
            summary = call.send()
        except (ProviderError, NotFoundError, LimitExceededError, StorageError) as error:
            failed = error
            calls += call.exchanges(error)
            continue
        calls += call.exchanges(None)
        if summary:
            return SummaryResult(summary, tuple(calls))
    if isinstance(failed, ProviderError) and failed.retryable and not last_try:
        raise failed
    return SummaryResult(extract(text), tuple(calls))


@dataclass(slots=True)
class _SummaryCall:
    """One request to one model for one summary."""

    executor: Executor
    registry: ProviderRegistry
    name: ModelName
    prompt: str
    _: KW_ONLY
    tree: int
    agent: int
    unattended: bool
    answer: ModelAnswer = field(default_factory=ModelAnswer)

    def send(self) -> str:
        executor = self.executor
        provider, model = self.registry.model(self.name)
        profile = provider.profile(model)
        shortened = _fitted(self.prompt, profile)
        call = new_ulid(executor.clock(), executor.entropy)
        if is_paid(profile):
            self._reserve(call, profile, shortened)
        request = Request(
            model=model,
            messages=(Message(Role.USER, (Text(shortened),)),),
            parameters=Parameters(max_tokens=TOKENS, temperature=0.2, timeout=_TIMEOUT),
        )
        listening = model_loop().submit(self._listen(provider, request))
        spent = None
        try:
            listening.result()
            spent = self._spent(profile)
        except WeftError:
            # Else what a call that failed was expected to cost would count for ever.
            spent = self._spent(profile)
            raise
        finally:
            listening.cancel()
            if is_paid(profile):
                executor.store.write(lambda transaction: settle(transaction, call, spent))
        return clean_summary(self.answer.choice(0).text)

    def _reserve(self, call: str, profile: ModelProfile, prompt: str) -> None:
        """Reserve the expected cost, under the same caps as every other call."""
        executor = self.executor
        tokens = max(len(prompt) // _CHARACTERS_PER_TOKEN, DEFAULT.of_text(prompt))
        expected = expected_micros(profile, prompt=tokens, answer=TOKENS, n=1)

        def work(transaction: Transaction) -> None:
            transaction.grove_state()
            now, spender = executor.clock(), _spender(transaction, self.tree, self.agent)
            if self.unattended:
                held = caps_for(caps_of(load_settings(transaction)), spender)
                require_held(held, profile, who=str(self.name), model=str(self.name))
            require_room(transaction, spender, now=now, more=expected, mine=expected)
            add_expected(
                transaction, attempt=call, tree=self.tree, agent=self.agent, moment=now, micros=expected
            )

        executor.store.write(work)

    def _spent(self, profile: ModelProfile) -> int | None:
        """The cost: 0 without an answer; None where the usage is unknown, so that the expected cost counts."""
        usage, prices = self.answer.usage, profile.prices
        if prices is not None and (usage.prompt is not None or usage.completion is not None):
            return micros_of(prices.cost(usage))
        return None if any(each.blocks for each in self.answer.choices.values()) else 0

    async def _listen(self, provider: Provider, request: Request) -> None:
        async with aclosing(stream_retrying(provider, request)) as events:
            async for event in events:
                self.answer.add(event)

    def exchanges(self, error: WeftError | None) -> list[EndedCall]:
        """Every request that was sent, with its response; all but the last were answered with an error."""
        exchanges = self.answer.recording.exchanges
        return [self._call(each, error if each is exchanges[-1] else _AGAIN) for each in exchanges]

    def _call(self, exchange: WireExchange, error: WeftError | None) -> EndedCall:
        response = None
        if exchange.answered is not None:
            response = RawResponse(
                body=exchange.response,
                provider=self.name.provider,
                model=self.answer.model or self.name.model,
                status_code=exchange.status,
                usage=self.answer.usage if error is None else Usage(),
            )
        why = None if error is None else error_text(error)
        return EndedCall(segments=exchange.sent.segments, response=response, error=why)


def _spender(transaction: Transaction, tree: int, agent: int) -> Spender:
    """The spender. A document belongs to no tree, so no tree's cap limits it."""
    trees = schema.trees
    tree_id = transaction.execute(select(trees.c.ulid).where(trees.c.key == tree)).scalar()
    return Spender.of(tree, tree_id or "", transaction.agent(agent))


def clean_summary(answer: str) -> str:
    """A model's answer on one line that can be stored, at most `LONGEST` characters."""
    shown = "".join(each for each in answer[: 4 * LONGEST] if each.isspace() or category(each) not in _UNFIT)
    line = " ".join(shown.split())
    if len(line) <= LONGEST:
        return line
    return line[: LONGEST - 1].rsplit(" ", 1)[0].rstrip() + "…"


def _fitted(prompt: str, profile: ModelProfile) -> str:
    """The prompt within a small model's window: the middle of a long message is left out."""
    room = ((profile.window or 100_000) - 4 * TOKENS) * _CHARACTERS_PER_TOKEN // 2
    if len(prompt) <= room:
        return prompt
    half = room // 2
    return f"{prompt[:half]}\n[…]\n{prompt[-half:]}"


SUMMARY_MODEL = "summaryModel"
"""The key under which the grove's preferences hold the model that was chosen: `provider:model`, or `none`."""
_FIRST = ("anthropic:claude-3-5-haiku-latest", "openai:gpt-4o-mini")
_SMALL = (
    "anthropic:claude-haiku-4-5",
    "openai:gpt-5-mini",
    "google:gemini-2.5-flash-lite",
    "compatible:openrouter/openai/gpt-4o-mini",
)
"""Each provider's small model of today."""
NO_MODEL = "none"
"""Chosen so that no model is called: summaries are extracts."""


def summary_models(
    settings: Mapping[str, Any], registry: ProviderRegistry, keys: Keys | None = None
) -> list[ModelName]:
    """In the order in which they are tried; the next one where one fails."""
    chosen = settings.get(SUMMARY_MODEL)
    if chosen == NO_MODEL:
        return []
    if chosen is not None:
        return [ModelName.parse(str(chosen))]
    return list(dict.fromkeys(_usable(registry, keys or Keys())))


def _usable(registry: ProviderRegistry, keys: Keys) -> Iterator[ModelName]:
    there = set(registry.names)
    for text in (*_FIRST, *_SMALL):
        name = ModelName.parse(text)
        if name.provider in there and _has_key(keys, _key_name(name)):
            yield name
    embedded = ModelName.parse(EMBEDDED)
    if embedded.provider in there and _is_installed():
        yield embedded


def _has_key(keys: Keys, name: str) -> bool:
    """True if there is a key. A file of keys that cannot be read has none: other models are tried."""
    try:
        return keys.place(name) is not None
    except StorageError:
        return False


def _key_name(name: ModelName) -> str:
    """The name that the key is stored under."""
    if name.provider in VARIABLES:
        return name.provider
    return name.model.partition("/")[0]


def _is_installed() -> bool:
    from weft.providers.local.engine import installed  # noqa: PLC0415 - looks for the package as it is called

    return installed()
