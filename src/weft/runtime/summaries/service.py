"""Summaries of nodes, trees and documents: there when they are needed, made if they are not."""

from dataclasses import dataclass

from weft.errors import InvalidInputError
from weft.providers.base import ModelName
from weft.runtime.coordination.jobs import JobRunner
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor, require_access, require_permission
from weft.runtime.operations.settings import ChangeSettings, load_settings
from weft.runtime.summaries.jobs import DOCUMENT_JOB, SUMMARIES, TREE_JOB, job_kinds, plan_summaries
from weft.runtime.summaries.model_request import NOBODY, SUMMARY_MODEL
from weft.runtime.summaries.summariser import Summariser
from weft.store.jobs import enqueue
from weft.store.lookup import find_document, find_tree
from weft.store.transaction import Transaction
from weft.tree.access import MemberRole
from weft.tree.agent import Permission
from weft.tree.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class Summaries:
    """Making summaries, and saying how they are made."""

    executor: Executor
    actor: Actor

    def node(self, tree: str, node: str, *, anew: bool = False) -> str:
        """One sentence; made and kept where there is none, or `anew`."""
        return Summariser(self.executor, self.actor).node(tree, node, anew=anew)

    def tree(self, tree: str, *, anew: bool = False, progress: Progress = silent) -> str:
        """Two sentences, from those of its nodes, which are made and kept where they are missing."""
        return Summariser(self.executor, self.actor).tree(tree, anew=anew, progress=progress)

    def document(self, document: str, *, anew: bool = False) -> str:
        return Summariser(self.executor, self.actor).document(document, anew=anew)

    def close_tree(self, tree: str) -> None:
        """Somebody is done with it for now: have it summarised anew in the background."""

        def work(transaction: Transaction) -> None:
            self._check(transaction)
            key = find_tree(transaction, tree)
            enqueue(transaction, TREE_JOB, now=self.executor.clock(), tree=key)

        self.executor.store.write(work)

    def close_document(self, document: str) -> None:
        """Somebody is done editing it: have it summarised anew in the background."""

        def work(transaction: Transaction) -> None:
            self._check(transaction)
            key = find_document(transaction, document)
            enqueue(transaction, DOCUMENT_JOB, now=self.executor.clock(), target=key)

        self.executor.store.write(work)

    def _check(self, transaction: Transaction) -> None:
        require_permission(transaction, self.actor, Permission.LOOM_WRITE, "summarise")
        require_access(transaction, self.actor, MemberRole.EDITOR)

    def work_off(self, limit: int | None = None) -> int:
        """Do now what is waiting to be done in the background; how many jobs were tried."""
        while plan_summaries(self.executor, self.actor):
            pass
        return JobRunner(self.executor, job_kinds(self.executor, self.actor)).run_pending(limit)

    @property
    def model(self) -> str | None:
        """The model that was chosen for summaries; None: the first in the usual order that can be asked."""
        with self.executor.store.read() as session:
            return load_settings(session).get(SUMMARY_MODEL)

    def choose_model(self, model: str | None) -> None:
        """`provider:model`; `none` for extracts only; None for the usual order."""
        if model is not None and model != NOBODY:
            model = str(ModelName.parse(model))
        self.executor.perform(self.actor, ChangeSettings(settings={SUMMARY_MODEL: model}))

    def switch(self, *, on: bool) -> None:
        """Whether what is written is summarised unasked."""
        if not isinstance(on, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - what callers without types give
            raise InvalidInputError("on is true or false")
        self.executor.perform(self.actor, ChangeSettings(settings={SUMMARIES: None if on else False}))
