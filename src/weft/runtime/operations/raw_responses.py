"""Raw responses of models: the wire bytes, and the nodes and calls they belong to."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from weft.errors import ConflictError, InvalidInputError
from weft.ids import is_ulid
from weft.provenance.fingerprints import choice_fingerprint, response_fingerprint
from weft.runtime.operations.attempts import attempt_row, new_attempt, note_attempt, update_attempt
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.packed_bodies import add_body
from weft.store.rows import AGENT_TYPES, OUTCOMES, STATUSES, AgentRow, NodeRow, TreeState
from weft.tree.agent import AgentType
from weft.tree.attempt import AttemptOutcome, RawResponse
from weft.tree.content import check_text
from weft.tree.json_names import to_microseconds
from weft.tree.node import Status

_attempts, _responses = schema.attempts, schema.responses


class Answer(NamedTuple):
    """A response as one node's: the hash of its bytes, and which of its choices the node is."""

    response: RawResponse
    digest: bytes
    choice: int


def check_response(response: RawResponse, choice: int, author: AgentRow) -> None:
    if AGENT_TYPES[author.type] is not AgentType.MODEL:
        raise InvalidInputError(
            f"{author.name!r} is human: only a model's node carries a response",
            hint="name the model agent as author",
        )
    if response.attempt is not None and not is_ulid(response.attempt):
        raise InvalidInputError(f"{response.attempt[:60]!r} is not the id of an attempt", hint="give a ULID")
    for what, text in (
        ("provider", response.provider),
        ("model", response.model),
        ("request id", response.request_id or ""),
    ):
        check_text(text, what=what, limit=1_000)
    usage = response.usage
    numbers = (usage.prompt, usage.completion, usage.total, usage.cached_read, usage.cached_write)
    for number in (*numbers, response.status_code, choice):
        if number is not None and not 0 <= number < 2**31:
            raise InvalidInputError(f"a response's counts must lie between 0 and {2**31 - 1:,}, got {number}")


def keep_response(scope: Scope, tree: TreeState, row: NodeRow, answer: Answer) -> None:
    """Keep the wire bytes with the node. Equal bytes of two calls are two responses with one body."""
    known = _answered(scope, tree, answer)
    response = add_response(scope, tree, answer) if known is None else known
    if known is None:
        _note_attempt(scope, tree, row, answer, response["key"])
    scope.transaction.add(
        schema.node_responses,
        {"tree": tree.key, "node": row.key, "response": response["key"], "choice": answer.choice},
    )
    scope.add_fingerprint(choice_fingerprint(row.ulid, response, answer.choice))


def _answered(scope: Scope, tree: TreeState, answer: Answer) -> dict[str, Any] | None:
    """The response that the same call gave to another node."""
    attempt = answer.response.attempt
    if attempt is None:
        return None
    statement = (
        select(_responses)
        .select_from(_attempts)
        .join(
            _responses,
            (_responses.c.tree == _attempts.c.tree) & (_responses.c.key == _attempts.c.response),
        )
        .where(_attempts.c.tree == tree.key, _attempts.c.ulid == attempt)
    )
    known = scope.transaction.execute(statement).mappings().one_or_none()
    if known is not None and known["sha256"] != answer.digest:
        raise ConflictError(
            f"attempt {attempt} was answered with other bytes", hint="give each call an id of its own"
        )
    return None if known is None else dict(known)


def add_response(scope: Scope, tree: TreeState, answer: Answer) -> dict[str, Any]:
    """Keep the wire bytes and what is known of them; return their row."""
    transaction = scope.transaction
    response, usage = answer.response, answer.response.usage
    add_body(transaction, tree.key, answer.digest, response.body)
    row: dict[str, Any] = {
        "tree": tree.key,
        "key": transaction.take_key(tree),
        "sha256": answer.digest,
        "provider": response.provider,
        "model": response.model,
        "request_id": response.request_id,
        "status_code": response.status_code,
        "requested_at": _microseconds(response.requested_at),
        "responded_at": _microseconds(response.responded_at),
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "cached_read": usage.cached_read,
        "cached_write": usage.cached_write,
    }
    transaction.add(_responses, row)
    scope.add_fingerprint(response_fingerprint(row))
    return row


def _note_attempt(scope: Scope, tree: TreeState, row: NodeRow, answer: Answer, key: int) -> None:
    """Let the call, which may have been written down when it was made, know its response."""
    response = answer.response
    if response.attempt is None:
        return
    interrupted = STATUSES[row.status] is Status.INTERRUPTED
    requested, responded = _microseconds(response.requested_at), _microseconds(response.responded_at)
    ended: dict[str, Any] = {
        "outcome": OUTCOMES.index(AttemptOutcome.INTERRUPTED if interrupted else AttemptOutcome.COMPLETE),
        "response": key,
        "ended_at": scope.now if responded is None else responded,
    }
    attempt = attempt_row(scope, tree, response.attempt)
    if attempt is not None:
        update_attempt(scope, attempt, **ended)
    else:
        attempt = new_attempt(
            scope,
            tree,
            agent=row.author,
            parent=row.parent_node or row.key,
            ulid=response.attempt,
            started_at=scope.now if requested is None else requested,
            **ended,
        )
    note_attempt(scope, tree, attempt, answer.digest.hex())


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else to_microseconds(moment)
