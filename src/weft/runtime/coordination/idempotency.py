"""The same call twice does the work once: the second gets the first one's answer.

A key is claimed before the work begins. Whoever comes with the same key meanwhile
waits for the outcome; whoever comes later, within 24 hours, is given it. What is kept
is JSON that names things by their ids: no texts, which a deletion could not reach.
"""

import contextlib
import hashlib
import os
import socket
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import orjson
import rfc8785

from weft import errors
from weft.errors import ConflictError, InvalidInputError, ProviderError, Trouble, WeftError
from weft.ids import new_ulid
from weft.redaction import redact
from weft.runtime.coordination.heartbeat import beating
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store.base import Store
from weft.store.leases import ClaimRow, ClaimState, claim, claim_row, hold_claim, settle_claim, sweep_claims
from weft.store.transaction import Transaction
from weft.tree.content import JsonObject, JsonValue, check_text

_SECOND = 1_000_000
_KEPT = 24 * 3_600 * _SECOND
_KEY_LIMIT = 255
_FIRST_LOOK, _LAST_LOOK = 0.005, 0.25
_SWEEP_EVERY = 600.0
_ALWAYS = frozenset({"INVALID_SYNTAX", "INVALID_INPUT", "LIMIT_EXCEEDED", "CONTEXT_LIMIT", "CROSS_TREE"})
"""Errors that follow from what was asked: asked again, the answer is the same. Any other may pass."""
_CLASSES: Mapping[str, type[WeftError]] = {
    value.code: value
    for value in vars(errors).values()
    # Those that have a code of their own: others are kinds of them, and are told as what they are kinds of.
    if isinstance(value, type) and issubclass(value, WeftError) and "code" in vars(value)
}


class KeyedState(StrEnum):
    DONE = "done"
    INTERRUPTED = "interrupted"
    """The process that did the work died: some of it may be there, nothing will follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedResult:
    """What came of a call."""

    state: KeyedState
    result: JsonValue
    is_repeated: bool
    """Whether it is the answer to an earlier call."""
    since: int = field(default=0, repr=False)
    """When that one claimed the key; whatever it made is younger."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Calls that are made once, for whoever acts.

    `hold` is how long a claim stands without a sign of life; `patience` how long a
    second caller waits for the first one, both in seconds.
    """

    executor: Executor
    actor: Actor
    hold: float = 30.0
    patience: float = 60.0
    given_up: Callable[[], bool] = lambda: False
    """Asked while waiting for another call: True ends the wait."""
    on_lost: Callable[[], None] = lambda: None
    """Called when the claim is lost while the work goes on: stop it, another call may do it now."""

    def once(
        self, operation: str, key: str | None, body: JsonObject, work: Callable[[], JsonValue]
    ) -> KeyedResult:
        """Do the work, unless a call with this key (of this user, for this operation) did already.

        The same key with another body is a conflict. Without a key it is simply done.
        """
        if key is None:
            return KeyedResult(state=KeyedState.DONE, result=work(), is_repeated=False)
        wanted = self._wanted(operation, key, body)
        self._sweep()
        mine, found = self._claim(wanted)
        return self._do(found, work) if mine else self._wait(found, wanted, work)

    def _wanted(self, operation: str, key: str, body: JsonObject) -> ClaimRow:
        if not check_text(key, what="idempotency key", limit=_KEY_LIMIT).strip():
            raise InvalidInputError(
                "an idempotency key cannot be empty", hint="leave it away, or draw a ULID"
            )
        now = self.executor.clock()
        # Who is let in stands for its agent; in a grove of one's own there is nobody but the owner.
        users = [str(link.user) for link in self.actor.chain() if link.user is not None]
        return ClaimRow(
            scope=f"{users[-1] if users else '-'}:{operation}",
            key=key,
            body=hashlib.sha256(rfc8785.dumps(dict(body))).digest(),  # pyright: ignore[reportArgumentType] - JSON
            state=ClaimState.CLAIMED,
            result=None,
            holder=f"{socket.gethostname()}:{os.getpid()}:{new_ulid(now, self.executor.entropy)}",
            created_at=now,
            expires_at=now + _KEPT,
            held_until=now + round(self.hold * _SECOND),
        )

    def _claim(self, wanted: ClaimRow) -> tuple[bool, ClaimRow]:
        def work(transaction: Transaction) -> ClaimRow:
            return claim(transaction, wanted, self.executor.clock())

        found = self.executor.store.write(work)
        return found.holder == wanted.holder, found

    def _do(self, mine: ClaimRow, work: Callable[[], JsonValue]) -> KeyedResult:
        try:
            with beating(lambda: self._hold(mine), hold=self.hold, on_lost=self.on_lost):
                result = work()
        except WeftError as error:
            self._settle(
                mine,
                ClaimState.REFUSED if error.code in _ALWAYS else ClaimState.RELEASED,
                error_to_wire(error),
            )
            raise
        except BaseException:
            # The error that ends the work is the one to tell, whatever becomes of the claim.
            with contextlib.suppress(WeftError):
                self._settle(mine, ClaimState.RELEASED, None)
            raise
        self._settle(mine, ClaimState.DONE, {"value": result})
        return KeyedResult(state=KeyedState.DONE, result=result, is_repeated=False)

    def _hold(self, mine: ClaimRow) -> bool:
        until = self.executor.clock() + round(self.hold * _SECOND)
        return self.executor.store.write(lambda transaction: hold_claim(transaction, mine, until))

    def _settle(self, mine: ClaimRow, state: ClaimState, result: JsonObject | None) -> None:
        kept = None if result is None else orjson.dumps(result).decode()
        self.executor.store.write(lambda transaction: settle_claim(transaction, mine, state, kept))

    def _wait(self, found: ClaimRow, wanted: ClaimRow, work: Callable[[], JsonValue]) -> KeyedResult:
        """For the outcome of whoever has the claim; also if that is an error that may pass."""
        first = found
        end = time.monotonic() + self.patience
        pause = _FIRST_LOOK
        while True:
            if found.body != wanted.body:
                raise ConflictError(
                    f"the idempotency key {wanted.key!r} was used for another request",
                    hint="draw a new key for a new request",
                )
            if found.holder == first.holder and found.state is not ClaimState.CLAIMED:
                return _answer(found)
            if time.monotonic() >= end or self.given_up():
                raise ConflictError(
                    f"the first call with the idempotency key {wanted.key!r} is still under way",
                    hint="ask again in a moment, with the same key",
                )
            time.sleep(pause)
            pause = min(pause * 1.6, _LAST_LOOK)
            with self.executor.store.read() as session:
                seen = claim_row(session, wanted.scope, wanted.key)
            dead = seen is not None and seen.state is ClaimState.CLAIMED
            if seen is None or (dead and (seen.held_until or 0) <= self.executor.clock()):
                mine, seen = self._claim(wanted)
                if mine:
                    return self._do(seen, work)
            elif seen.holder != first.holder:
                # The first failed in a way that may pass, and another caller has taken it up since.
                first = seen
            found = seen

    def _sweep(self) -> None:
        """Now and then, whoever comes by."""
        store = self.executor.store
        if time.monotonic() - _swept.get(store, float("-inf")) >= _SWEEP_EVERY:
            _swept[store] = time.monotonic()
            self.executor.store.write(lambda transaction: sweep_claims(transaction, self.executor.clock()))


def error_to_wire(error: WeftError) -> JsonObject:
    """An error as whoever asks again is told it."""
    told: JsonObject = {"code": error.code, "message": redact(error.message), "hint": error.hint}
    return {**told, "trouble": error.trouble.value} if isinstance(error, ProviderError) else told


def error_from_wire(kept: JsonObject) -> WeftError:
    message, hint = str(kept["message"]), kept.get("hint")
    said = None if hint is None else str(hint)
    if "trouble" in kept:
        return ProviderError(Trouble(str(kept["trouble"])), message, hint=said)
    return _CLASSES[str(kept["code"])](message, hint=said)


_swept: "weakref.WeakKeyDictionary[Store, float]" = weakref.WeakKeyDictionary()


def _answer(row: ClaimRow) -> KeyedResult:
    kept: dict[str, JsonValue] = {} if row.result is None else orjson.loads(row.result)
    match row.state:
        case ClaimState.DONE:
            return KeyedResult(
                state=KeyedState.DONE, result=kept.get("value"), is_repeated=True, since=row.created_at
            )
        case ClaimState.INTERRUPTED:
            return KeyedResult(
                state=KeyedState.INTERRUPTED,
                result=kept.get("value"),
                is_repeated=True,
                since=row.created_at,
            )
        case ClaimState.REFUSED | ClaimState.RELEASED if kept:
            raise error_from_wire(kept)
        case _:
            raise ConflictError(
                "the first call with this idempotency key failed", hint="ask again with the same key"
            )
