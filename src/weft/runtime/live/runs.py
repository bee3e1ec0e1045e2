"""Runs as one caller sees them: list, read, stop, and the text of their answers from an offset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import select

from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError, UnavailableError, WeftError
from weft.runtime.coordination.idempotency import error_from_wire
from weft.runtime.coordination.run_stops import look_for_stops
from weft.runtime.generation.live_text import TEXT, THINKING, LiveText, shown_texts, text_in_pieces
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import require_access, require_permission, trees_allowed
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.store.lookup import find_tree
from weft.store.model_calls import MICROS, pieces_of
from weft.store.rows import OUTCOMES
from weft.store.run_records import (
    STATUSES,
    RunAttemptRow,
    RunRecordRow,
    RunStepRow,
    ask_to_stop,
    attempts_of_runs,
    find_record,
    find_run_attempt,
    record_of,
    running_records,
    steps_of,
)
from weft.store.session import Session
from weft.store.transaction import Transaction
from weft.store.tree_queries import node_rows
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.attempt import AttemptOutcome, Usage
from weft.tree.content import Mixed, Thinking, spoken_text
from weft.tree.json_names import from_microseconds
from weft.tree.run import AttemptText, RunAttempt, RunKind, RunRecord, RunStep

KINDS = {"text": TEXT, "thinking": THINKING}
"""On the wire, and in pieces."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a grove, as far as one caller may see them."""

    caller: Caller

    def active(self, tree: str | None = None) -> list[RunRecord]:
        """Those under way, the oldest first; of one tree, or of all that the caller may read."""
        with self.caller.reading() as session:
            if tree is not None:
                keys = [find_tree(session, tree)]
                require_access(session, self.caller.actor, MemberRole.READER, keys[0])
            else:
                allowed = trees_allowed(session, self.caller.actor)
                keys = None if allowed is None else sorted(allowed)
            return records_from(session, running_records(session, keys), self._texts(session))

    def read(self, run: str) -> RunRecord:
        """A run, under way or ended."""
        with self.caller.reading() as session:
            row = self._record(session, run, MemberRole.READER)
            return records_from(session, [row], self._texts(session))[0]

    def steps(self, run: str, after: int = 0, limit: int = 1_000) -> list[RunStep]:
        """What a run of several turns did, after a step."""
        with self.caller.reading() as session:
            row = self._record(session, run, MemberRole.READER)
            tree = _tree_id(session, row.tree)
            return [step_from(each, tree) for each in steps_of(session, row.tree, run, after, limit)]

    def stop(self, run: str) -> RunRecord:
        """Ask for no more: what came is kept. It ends in a moment, in whichever process runs it."""

        def work(transaction: Transaction) -> None:
            require_permission(transaction, self.caller.actor, Permission.LOOM_GENERATE, "stop a run")
            row = self._record(transaction, run, MemberRole.EDITOR)
            if row.is_running:
                ask_to_stop(transaction, row.tree, row.run)

        self.caller.store.write(work)
        look_for_stops(self.caller.store)
        return self.read(run)

    def stop_attempt(self, attempt: str) -> RunRecord:
        """Ask for no more of one call; the others of its run go on."""

        def work(transaction: Transaction) -> str:
            require_permission(transaction, self.caller.actor, Permission.LOOM_GENERATE, "stop a run")
            row = self._attempt(transaction, attempt)
            record = self._record(transaction, row.run, MemberRole.EDITOR)
            if record.is_running:
                ask_to_stop(transaction, row.tree, row.run, row.attempt)
            return row.run

        run = self.caller.store.write(work)
        look_for_stops(self.caller.store)
        return self.read(run)

    def text(self, attempt: str, *, offset: int = 0, choice: int = 0, kind: str = "text") -> AttemptText:
        """The text of an answer from an offset on, while it comes and afterwards."""
        with self.caller.reading() as session:
            row = self._attempt(session, attempt)
            record = self._record(session, row.run, MemberRole.READER)
            answers = records_from(session, [record], self._texts(session))[0].attempts
            answer = next((each for each in answers if (each.id, each.choice) == (attempt, choice)), None)
            if answer is None:
                raise InvalidInputError(f"the call has {row.choices} choices", path="choice")
            if answer.node is not None:
                content = Reader.of(self.caller).node(answer.tree, answer.node).content
                blocks = content.blocks if isinstance(content, Mixed) else (content,)
                thoughts = "".join(block.text for block in blocks if isinstance(block, Thinking))
                whole = spoken_text(content) if kind == "text" else thoughts
            else:
                local = shown_texts(self.caller.store).get(attempt)
                texts = (
                    text_in_pieces(pieces_of(session, row.tree, row.attempt))
                    if local is None
                    else local.read()
                )
                whole = texts.get((choice, KINDS[kind]), "")
        if offset > len(whole):
            raise InvalidInputError(f"the text has {len(whole):,} characters so far", path="offset")
        return AttemptText(
            attempt=attempt,
            choice=choice,
            kind=kind,
            offset=offset,
            end=len(whole),
            text=whole[offset:],
            status=answer.status,
            node=answer.node,
        )

    def _record(self, session: Session, run: str, role: MemberRole) -> RunRecordRow:
        """A run; one of a tree that the caller may not read does not exist for it."""
        row = find_record(session, run)
        if row is None or not self._may_read(session, row.tree):
            raise NotFoundError("no such run", hint="list the runs under way")
        require_access(session, self.caller.actor, role, row.tree)
        return row

    def _attempt(self, session: Session, attempt: str) -> RunAttemptRow:
        row = find_run_attempt(session, attempt)
        if row is None or not self._may_read(session, row.tree):
            raise NotFoundError("no such attempt", hint="list the runs under way")
        return row

    def _may_read(self, session: Session, tree: int) -> bool:
        try:
            require_access(session, self.caller.actor, MemberRole.READER, tree)
        except PermissionDeniedError:
            return False
        return True

    def _texts(self, session: Session) -> "TextLengths":
        return TextLengths(session, shown_texts(self.caller.store))


@dataclass(frozen=True, slots=True)
class TextLengths:
    """How much of each answer under way has come."""

    session: Session
    local: Mapping[str, LiveText]

    def of(self, row: Mapping[str, Any]) -> dict[tuple[int, str], str]:
        here = self.local.get(row["ulid"])
        if here is not None:
            return here.read()
        return text_in_pieces(pieces_of(self.session, row["tree"], row["attempt"]))


def records_from(
    session: Session, rows: Sequence[RunRecordRow], texts: TextLengths | None
) -> list[RunRecord]:
    """Runs with their answers; without `texts`, how much of them has come is not looked up."""
    answers: dict[tuple[int, str], list[RunAttempt]] = {}
    trees = {row.tree: _tree_id(session, row.tree) for row in rows}
    for each in attempts_of_runs(session, rows):
        said = {} if texts is None or each["nodes"] is not None else texts.of(each)
        made = list(answers_of(each, trees.get(each["tree"], ""), said))
        answers.setdefault((each["tree"], each["run"]), []).extend(made)
    return [
        RunRecord(
            id=row.run,
            tree=trees[row.tree],
            node=node_rows(session, row.tree, [row.node])[row.node].ulid,
            kind=RunKind(row.kind),
            status=STATUSES[row.status],
            stopping=row.stopping,
            note=row.note,
            error=None if row.error is None else error_from_wire(orjson.loads(row.error)),
            started_at=from_microseconds(row.started_at),
            ended_at=None if row.ended_at is None else from_microseconds(row.ended_at),
            attempts=tuple(answers.get((row.tree, row.run), ())),
        )
        for row in rows
    ]


def answers_of(
    row: Mapping[str, Any], tree: str, said: Mapping[tuple[int, str], str]
) -> Iterable[RunAttempt]:
    """The answers of one call: one for each choice that was asked for."""
    nodes = dict(orjson.loads(row["nodes"] or "[]"))
    usage = Usage(
        prompt=row["prompt_tokens"],
        completion=row["completion_tokens"],
        total=row["total_tokens"],
        cached_read=row["cached_read"],
        cached_write=row["cached_write"],
    )
    outcome: AttemptOutcome = OUTCOMES[int(row["outcome"])]
    for choice in range(row["choices"]):
        yield RunAttempt(
            id=row["ulid"],
            choice=choice,
            run=row["run"],
            tree=tree,
            parent=row["parent_id"],
            agent=row["agent_id"],
            name=row["name"],
            model=row["model"],
            status=outcome,
            node=nodes.get(choice),
            offset=len(said.get((choice, TEXT), "")),
            error=_error_of(row),
            usage=usage if choice == 0 and usage != Usage() else None,
            cost=None if row["micros"] is None or choice else Decimal(row["micros"]) / MICROS,
        )


def _error_of(row: Mapping[str, Any]) -> WeftError | None:
    if row["error"] is not None:
        return error_from_wire(orjson.loads(row["error"]))
    # Closed by another process: there is only what it wrote down.
    crashed = OUTCOMES[row["outcome"]] is AttemptOutcome.INTERRUPTED and row["nodes"] is not None
    return UnavailableError(row["why"]) if crashed and row["why"] not in {None, "stopped"} else None


def step_from(row: RunStepRow, tree: str) -> RunStep:
    return RunStep(
        run=row.run, tree=tree, step=row.ordinal, turn=row.turn, kind=row.kind, body=orjson.loads(row.body)
    )


def _tree_id(session: Session, key: int) -> str:
    return session.execute(select(schema.trees.c.ulid).where(schema.trees.c.key == key)).scalar_one()


__all__ = ["KINDS", "Runs", "TextLengths", "answers_of", "record_of", "records_from", "step_from"]
