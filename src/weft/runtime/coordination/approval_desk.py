"""The desk where runs wait for a person: a request is written down, and its decision is waited for."""

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from weft.errors import NotFoundError, WeftError
from weft.runtime.operations.approvals import AskApproval, CloseApproval, read_approval
from weft.runtime.operations.executor import Caller
from weft.tree.approval import Approval, ApprovalState, ApprovalSubject
from weft.tree.json import JsonValue
from weft.tree.json_names import to_microseconds

_LOOK_EVERY = 0.5
"""Seconds between two looks: a decision in this process wakes the desk at once."""
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalWish:
    """What an agent wants to do."""

    agent: str
    """Its id."""
    subject: ApprovalSubject
    name: str
    description: str
    call: str
    arguments: Mapping[str, JsonValue]


@dataclass(slots=True)
class ApprovalDesk:
    """Where one run asks. It is left by a decision, by time, or by `cancel`."""

    caller: Caller
    tree: str
    node: str
    run: str
    seconds: float
    on_ask: Callable[[Approval], None] = lambda _: None
    """Called when a request is written down."""
    _woken: threading.Event = field(default_factory=threading.Event)
    _cancelled: bool = False
    _waits: bool = False
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, wish: ApprovalWish) -> ApprovalState:
        """Ask, and wait until a person has decided, or it is too late."""
        store = self.caller.store
        with self._guard:
            if self._cancelled:
                return ApprovalState.INTERRUPTED
            self._waits = True
        try:
            request = self.caller.perform(
                AskApproval(
                    tree=self.tree,
                    node=self.node,
                    run=self.run,
                    agent=wish.agent,
                    subject=wish.subject,
                    name=wish.name,
                    description=wish.description,
                    call=wish.call,
                    arguments=wish.arguments,
                    seconds=self.seconds,
                )
            )
            self.on_ask(request)
            store.watch(self._woken.set)
            try:
                return self._decided(request).state
            finally:
                store.unwatch(self._woken.set)
        finally:
            with self._guard:
                self._waits = False

    def cancel(self) -> bool:
        """The run ends: nothing is waited for any more. True if a request was waiting."""
        with self._guard:
            self._cancelled = True
            waited = self._waits
        self._woken.set()
        return waited

    def _decided(self, request: Approval) -> Approval:
        end = to_microseconds(request.expires_at)
        while True:
            self._woken.clear()
            left = (end - self.caller.executor.clock()) / _SECOND
            if self._cancelled or left <= 0:
                state = ApprovalState.INTERRUPTED if self._cancelled else ApprovalState.EXPIRED
                return self.caller.perform(CloseApproval(approval=request.id, state=state))
            current = self._read(request)
            if current.state is not ApprovalState.PENDING:
                return current
            self._woken.wait(min(left, _LOOK_EVERY))

    def _read(self, request: Approval) -> Approval:
        try:
            return read_approval(self.caller, request.id)
        except NotFoundError:
            raise
        except WeftError as error:
            if not error.retryable:
                raise
            # A store that is gone for a moment decides nothing.
            return request


def close_approvals(caller: Caller, requests: Mapping[str, str]) -> None:
    """Close what a dead run left waiting."""
    for request in requests.values():
        with contextlib.suppress(NotFoundError):
            caller.perform(CloseApproval(approval=request, state=ApprovalState.INTERRUPTED))
