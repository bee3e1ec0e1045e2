"""Admit a request to the proxy before anything is forwarded: rights, policy, upstream, key and spend caps."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

import orjson
from sqlalchemy import select

from weft.errors import InvalidInputError
from weft.ids import new_ulid
from weft.interop.loose_json import sequence
from weft.providers.base import ModelProfile
from weft.providers.keys import Secret
from weft.runtime.contexts.model_agents import registry_of
from weft.runtime.generation.spending import Spender, caps_of, expected_micros, micros_of, require_room
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.settings import load_settings
from weft.runtime.proxy.answer_writer import Cost
from weft.runtime.proxy.client_signs import ClientSigns, read_signs
from weft.runtime.proxy.exchange import Exchange
from weft.runtime.proxy.history import canonical, digest_of
from weft.runtime.proxy.policy import TokenPolicy, policy_of
from weft.runtime.proxy.upstream import Upstream, Upstreams, rename_model
from weft.runtime.proxy.wires import Wire
from weft.store import schema
from weft.store.model_calls import add_expected
from weft.store.proxy_rows import session_named
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.json import JsonObject

_BYTES_PER_TOKEN = 3
"""A prompt has at most about so few: what is expected before a call is a limit, not a guess."""
_VERB = "use the proxy"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyToken:
    """The token that a client authenticated with."""

    key: int
    """0: the owner's own."""
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRequest:
    """A request as it came."""

    wire: Wire
    headers: Mapping[str, str] = field(repr=False)
    """Their names in lower case."""
    data: bytes = field(repr=False)
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedRequest:
    """A request that may be forwarded."""

    incoming: IncomingRequest
    token: ProxyToken
    attempt: str
    body: JsonObject = field(repr=False)
    signs: ClientSigns
    policy: TokenPolicy
    upstream: Upstream
    key: Secret | None
    requested_at: datetime
    expected: int = 0
    is_reserved: bool = False

    @property
    def wire(self) -> Wire:
        return self.incoming.wire

    @property
    def cache_key(self) -> str:
        """Requests of one session go where its prefix was cached; without one, those with the same beginning."""
        first = self.signs.session or canonical(
            sequence(self.body.get("messages", self.body.get("input")))[:1]
        )
        return f"weft-{digest_of(str(self.token.key), self.signs.agent, first).hex()[:32]}"

    def to_send(self) -> bytes:
        """The received bytes; with the upstream's own name of the model where the client used another."""
        if not self.upstream.is_renamed:
            return self.incoming.data
        return rename_model(self.incoming.data, str(self.body["model"]), self.upstream.model)


def read_request(data: bytes) -> JsonObject:
    """The body of a request: an object with a model."""
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the body must be JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInputError("the body must be an object")
    body = cast("JsonObject", value)
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        raise InvalidInputError("model is missing", path="model")
    return body


def admit_request(
    caller: Caller, token: ProxyToken, upstreams: Upstreams, incoming: IncomingRequest
) -> AdmittedRequest:
    """Check everything that is to be checked before the request is forwarded."""
    body = read_request(incoming.data)
    with caller.store.read() as session:
        require_permission(session, caller.actor, Permission.LOOM_GENERATE, _VERB)
        require_access(session, caller.actor, MemberRole.EDITOR)
        policy = policy_of(session, token.id)
        has_caps = bool(caps_of(load_settings(session)))
    upstream = upstreams.choose(incoming.wire, str(body["model"]))
    executor = caller.executor
    admitted = AdmittedRequest(
        incoming=incoming,
        token=token,
        attempt=new_ulid(executor.clock(), executor.entropy),
        body=body,
        signs=read_signs(incoming.wire, incoming.headers, body),
        policy=policy,
        upstream=upstream,
        key=upstream.connection.key(),
        requested_at=datetime.now(UTC),
    )
    if not has_caps:
        return admitted
    return replace(admitted, expected=_reserve(caller, admitted), is_reserved=True)


def profile_of(caller: Caller, upstream: Upstream) -> ModelProfile:
    """What is known of an upstream's model."""
    registry = registry_of(caller.executor)
    own = upstream.provider in {"anthropic", "openai", "google"}
    name = upstream.provider if own else "compatible"
    model = upstream.model if own else f"{upstream.provider}/{upstream.model}"
    return registry.provider(name).profile(model)


def cost_of(caller: Caller, admitted: AdmittedRequest, exchange: Exchange) -> Cost:
    """What a call cost by the usage that the upstream reported; an error costs nothing."""
    usage = exchange.reply().usage
    prices = profile_of(caller, admitted.upstream).prices
    if exchange.status is None or exchange.status >= 400:
        spent: int | None = 0
    else:
        spent = None if prices is None or usage.prompt is None else micros_of(prices.cost(usage))
    return Cost(expected=admitted.expected, spent=spent, is_reserved=admitted.is_reserved)


def _reserve(caller: Caller, admitted: AdmittedRequest) -> int:
    """Refuse what would go over a cap, and write down what this call may cost, in one transaction."""
    body = admitted.body
    profile = profile_of(caller, admitted.upstream)
    named = (body.get(name) for name in ("max_completion_tokens", "max_output_tokens", "max_tokens"))
    answer = next((each for each in named if isinstance(each, int) and each > 0), None)
    choices = body.get("n")
    expected = expected_micros(
        profile,
        prompt=len(admitted.incoming.data) // _BYTES_PER_TOKEN,
        answer=answer,
        n=choices if isinstance(choices, int) and 0 < choices <= 128 else 1,
    )
    now = caller.executor.clock()

    def work(transaction: Transaction) -> None:
        spender = _spender(transaction, caller, admitted)
        require_room(transaction, spender, now=now, more=expected, mine=expected)
        add_expected(
            transaction,
            attempt=admitted.attempt,
            tree=spender.tree,
            agent=spender.agent,
            moment=now,
            micros=expected,
        )

    caller.store.write(work)
    return expected


def _spender(session: Session, caller: Caller, admitted: AdmittedRequest) -> Spender:
    """The model's agent and the session's tree, as far as they are there yet."""
    agents, trees = schema.agents, schema.trees
    upstream, signs = admitted.upstream, admitted.signs
    reference = f"{upstream.provider}:{upstream.model}"
    there = select(agents.c.key, agents.c.ulid).where(agents.c.name == reference).limit(1)
    agent = session.execute(there).one_or_none()
    known = session_named(session, admitted.token.key, signs.session, signs.agent)
    tree = None
    if known is not None:
        of_tree = select(trees.c.key, trees.c.ulid).where(trees.c.key == known.tree)
        tree = session.execute(of_tree).one_or_none()
    return Spender(
        tree=0 if tree is None else tree.key,
        tree_id="" if tree is None else tree.ulid,
        agent=caller.actor.agent if agent is None else agent.key,
        agent_id="" if agent is None else agent.ulid,
        agent_name=reference,
    )
