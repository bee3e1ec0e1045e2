"""Summaries of nodes, trees and documents: read, made on demand, queued, switched off."""

from dataclasses import dataclass

import orjson
from sqlalchemy import select

from weft.errors import InvalidInputError
from weft.providers.base import ModelName
from weft.runtime.coordination.jobs import JobRunner
from weft.runtime.operations.executor import Caller, Executor
from weft.runtime.operations.permissions import Actor, require_access, require_permission, tree_for
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.runtime.summaries.jobs import SUMMARIES, job_kinds
from weft.runtime.summaries.summariser import Summariser
from weft.runtime.summaries.summary_models import NO_MODEL, SUMMARY_MODEL
from weft.store import schema
from weft.store.jobs import SUMMARY_JOB, drop_waiting, enqueue
from weft.store.lookup import find_document
from weft.store.session import Session
from weft.store.transaction import GROVE, Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.event_kinds import EventKind
from weft.tree.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Summaries:
    """Makes summaries, and sets how they are made."""

    executor: Executor
    actor: Actor

    def node(self, tree: str, node: str, *, refresh: bool = False) -> str:
        """One sentence; made and stored if there is none, or with `refresh`."""
        return Summariser(self.executor, self.actor).node(tree, node, refresh=refresh)

    def tree(self, tree: str, *, refresh: bool = False, progress: Progress = silent) -> str:
        """Two sentences, from those of its nodes; missing ones are made and stored."""
        return Summariser(self.executor, self.actor).tree(tree, refresh=refresh, progress=progress)

    def document(self, document: str, *, refresh: bool = False) -> str:
        """One sentence; made and stored if there is none, or with `refresh`."""
        return Summariser(self.executor, self.actor).document(document, refresh=refresh)

    def close_tree(self, tree: str) -> None:
        """The tree is put away for now: have it summarised again in the background."""

        def work(transaction: Transaction) -> None:
            key = tree_for(transaction, self.actor, tree)
            self._check(transaction, Permission.LOOM_WRITE, key)
            enqueue(transaction, SUMMARY_JOB, now=self.executor.clock(), tree=key)

        self.executor.store.write(work)

    def close_document(self, document: str) -> None:
        """Editing is over: have the document summarised in the background, if it changed since its summary."""

        def work(transaction: Transaction) -> None:
            self._check(transaction, Permission.DOC_WRITE)
            key = find_document(transaction, document)
            if _is_changed(transaction, key):
                enqueue(transaction, SUMMARY_JOB, now=self.executor.clock(), target=key)

        self.executor.store.write(work)

    def _check(self, transaction: Transaction, permission: Permission, tree: int = GROVE) -> None:
        require_permission(transaction, self.actor, permission, "summarise")
        require_access(transaction, self.actor, MemberRole.EDITOR, tree)

    def work_off(self, limit: int | None = None) -> int:
        """Run the summaries that are waiting now; return how many jobs were tried."""
        with self.executor.store.read() as session:
            require_permission(session, self.actor, Permission.LOOM_WRITE, "summarise")
            require_access(session, self.actor, MemberRole.EDITOR)
        return JobRunner(self.executor, job_kinds(self.executor, self.actor)).run_pending(limit)

    @property
    def model(self) -> str | None:
        """The model that was chosen for summaries; None: the first of the usual order that answers."""
        with Caller(self.executor, self.actor).reading() as session:
            return load_settings(session).get(SUMMARY_MODEL)

    def choose_model(self, model: str | None) -> None:
        """`provider:model`; `none` for extracts only; None for the usual order."""
        if model is not None and model != NO_MODEL:
            model = str(ModelName.parse(model))
        self.executor.perform(self.actor, ChangeSettings(settings={SUMMARY_MODEL: model}))

    def switch(self, *, on: bool) -> None:
        """Whether summaries are made in the background; switched on again, from what is written then on."""
        if not isinstance(on, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - what callers without types give
            raise InvalidInputError("on is true or false")
        self.executor.perform(self.actor, ChangeSettings(settings={SUMMARIES: None if on else False}))
        if on:
            self.executor.store.write(lambda transaction: drop_waiting(transaction, SUMMARY_JOB))


def _is_changed(session: Session, key: int) -> bool:
    """True if a document's text is not the revision that was summarised last."""
    documents, events = schema.documents, schema.events
    document = session.execute(
        select(documents.c.ulid, documents.c.revision).where(documents.c.key == key)
    ).one()
    last = (
        select(events.c.payload)
        .where(
            events.c.tree == GROVE,
            events.c.kind == EventKind.SUMMARISE.value,
            events.c.payload.contains(document.ulid),
        )
        .order_by(events.c.ordinal.desc())
        .limit(1)
    )
    payload = session.execute(last).scalar()
    return payload is None or orjson.loads(payload).get("revision") != document.revision
