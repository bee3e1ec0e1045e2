"""Idempotency keys: a repeated call does the work once and returns the first result.

A key is claimed before the work begins. A second call with the same key waits for the result,
or gets it at once if it comes within 24 hours. Results are stored as JSON with ids, without
texts, which a deletion could not reach.
"""

import contextlib
import hashlib
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

import orjson
import rfc8785

from weft import errors
from weft.error_hints import Hint, HintKind
from weft.errors import ConflictError, InvalidInputError, ProviderError, Trouble, WeftError
from weft.redaction import redact
from weft.runtime.coordination.heartbeat import beating, new_holder
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.store.base import Store
from weft.store.leases import ClaimRow, ClaimState, claim, claim_row, hold_claim, settle_claim, sweep_claims
from weft.tree.content import check_text
from weft.tree.json import JsonObject, JsonValue

_SECOND = 1_000_000
KEPT = 24 * 3_600 * _SECOND
"""Microseconds for which a result is given again."""
_KEY_LIMIT = 255
_FIRST_LOOK, _LAST_LOOK = 0.005, 0.25
_SWEEP_EVERY = 600.0
_ALWAYS = frozenset({"INVALID_SYNTAX", "INVALID_INPUT", "LIMIT_EXCEEDED", "CONTEXT_LIMIT", "CROSS_TREE"})
"""Errors that the same request always gets. Any other may be gone at the next try."""
_CLASSES: Mapping[str, type[WeftError]] = {
    value.code: value
    for value in vars(errors).values()
    # Classes with a code of their own; a subclass without one is restored as its base.
    if isinstance(value, type) and issubclass(value, WeftError) and "code" in vars(value)
}


class KeyedState(StrEnum):
    DONE = "done"
    INTERRUPTED = "interrupted"
    """The process that did the work died: some of it may be there, nothing will follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedResult:
    """The result of a call."""

    state: KeyedState
    result: JsonValue
    is_repeated: bool
    """True if it is the result of an earlier call."""
    since: int = field(default=0, repr=False)
    """When the first call claimed the key: all that it created is younger."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Calls that are made once, for one actor.

    `hold` is how long a claim lasts without a heartbeat; `patience` how long a second call waits
    for the first, both in seconds.
    """

    executor: Executor
    actor: Actor
    hold: float = 30.0
    patience: float = 60.0
    given_up: Callable[[], bool] = lambda: False
    """Polled while waiting for another call: True ends the wait."""
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
        mine, current = self._claim(wanted)
        return self._do(current, work) if mine else self._wait(current, wanted, work)

    def _wanted(self, operation: str, key: str, body: JsonObject) -> ClaimRow:
        if not check_text(key, what="idempotency key", limit=_KEY_LIMIT).strip():
            raise InvalidInputError("an idempotency key cannot be empty", hint="omit it, or use a new ULID")
        now = self.executor.clock()
        return ClaimRow(
            scope=self.scope_of(operation),
            key=key,
            body=hashlib.sha256(rfc8785.dumps(dict(body))).digest(),  # pyright: ignore[reportArgumentType] - JSON
            state=ClaimState.CLAIMED,
            result=None,
            holder=new_holder(now, self.executor.entropy),
            created_at=now,
            expires_at=now + KEPT,
            held_until=now + round(self.hold * _SECOND),
        )

    def scope_of(self, operation: str) -> str:
        """Keys of other users and other operations are other keys."""
        # A grove without users has only its owner.
        users = [str(link.user) for link in self.actor.chain() if link.user is not None]
        return f"{users[-1] if users else '-'}:{operation}"

    def _claim(self, wanted: ClaimRow) -> tuple[bool, ClaimRow]:
        """The claim on the key, and whether it is this call's own."""
        row = self.executor.store.write(lambda transaction: claim(transaction, wanted, self.executor.clock()))
        return row.holder == wanted.holder, row

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
            # The caller gets this error, even if the claim cannot be released.
            with contextlib.suppress(WeftError):
                self._settle(mine, ClaimState.RELEASED, None)
            raise
        self._settle(mine, ClaimState.DONE, {"value": result})
        return KeyedResult(state=KeyedState.DONE, result=result, is_repeated=False)

    def _hold(self, mine: ClaimRow) -> bool:
        until = self.executor.clock() + round(self.hold * _SECOND)
        return self.executor.store.write(lambda transaction: hold_claim(transaction, mine, until))

    def _settle(self, mine: ClaimRow, state: ClaimState, result: JsonObject | None) -> None:
        stored = None if result is None else orjson.dumps(result).decode()
        self.executor.store.write(lambda transaction: settle_claim(transaction, mine, state, stored))

    def _wait(self, current: ClaimRow, wanted: ClaimRow, work: Callable[[], JsonValue]) -> KeyedResult:
        """Wait for the result of the call that has the claim, or for its error."""
        first = current
        end = time.monotonic() + self.patience
        pause = _FIRST_LOOK
        while True:
            if current.body != wanted.body:
                raise ConflictError(
                    f"the idempotency key {wanted.key!r} was used for another request",
                    hint="use a new key for a new request",
                )
            if current.holder == first.holder and current.state is not ClaimState.CLAIMED:
                return _answer(current)
            if time.monotonic() >= end or self.given_up():
                raise ConflictError(
                    f"the first call with the idempotency key {wanted.key!r} is still running",
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
            current = seen

    def _sweep(self) -> None:
        """Delete old claims, now and then."""
        store = self.executor.store
        if time.monotonic() - _swept.get(store, float("-inf")) >= _SWEEP_EVERY:
            _swept[store] = time.monotonic()
            self.executor.store.write(lambda transaction: sweep_claims(transaction, self.executor.clock()))


def error_to_wire(error: WeftError) -> JsonObject:
    """An error as it is stored for repeated calls."""
    hint = error.hint
    wire: JsonObject = {"code": error.code, "message": redact(error.message), "hint": hint}
    if isinstance(hint, Hint):
        wire = {**wire, "hintKind": hint.kind.name, "hintValues": dict(hint.values)}
    return {**wire, "trouble": error.trouble.value} if isinstance(error, ProviderError) else wire


def error_from_wire(stored: JsonObject) -> WeftError:
    message, text = str(stored["message"]), stored.get("hint")
    hint = None if text is None else str(text)
    if "hintKind" in stored:
        values = cast("dict[str, str]", stored["hintValues"])
        hint = Hint(HintKind[str(stored["hintKind"])], **values)
    if "trouble" in stored:
        return ProviderError(Trouble(str(stored["trouble"])), message, hint=hint)
    return _CLASSES[str(stored["code"])](message, hint=hint)


_swept: "weakref.WeakKeyDictionary[Store, float]" = weakref.WeakKeyDictionary()


def _answer(row: ClaimRow) -> KeyedResult:
    stored: dict[str, JsonValue] = {} if row.result is None else orjson.loads(row.result)
    match row.state:
        case ClaimState.DONE | ClaimState.INTERRUPTED:
            state = KeyedState[row.state.name]
            return KeyedResult(
                state=state, result=stored.get("value"), is_repeated=True, since=row.created_at
            )
        case ClaimState.REFUSED | ClaimState.RELEASED if stored:
            raise error_from_wire(stored)
        case _:
            raise ConflictError(
                "the first call with this idempotency key failed", hint="ask again with the same key"
            )
