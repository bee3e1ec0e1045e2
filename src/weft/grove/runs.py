"""Runs that belong to the grove and not to their caller: `loom.runs.generate(tree, node)`, `loom.runs.active()`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from weft.argument_checks import option
from weft.errors import UnavailableError
from weft.grove.agent import start_collaboration
from weft.runtime.collaboration.run_events import Began
from weft.runtime.coordination.background import register_run
from weft.runtime.generation.options import GenerationOptions, RunOptions
from weft.runtime.generation.run import GenerationRun
from weft.runtime.generation.start_point import StartPlace
from weft.runtime.generation.stream import EventChannel, Started
from weft.runtime.live.feed import LiveViewer, view_live
from weft.runtime.live.runs import Runs
from weft.runtime.runners.options import AskOptions
from weft.tree.run import AttemptText, RunRecord, RunStep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.grove.grove import Grove

E = TypeVar("E")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationOptions(RunOptions):
    """What a collaborator is asked in a tree, and how its run goes."""

    text: str | None = option(None, "What to say to it; default: it answers the node.")
    agent: str | None = option(None, "Its name or id; default: the grove's.")
    node: str | None = option(None, "The node; default: the current one.")


class GroveRuns:
    """Starts runs that go on by themselves, and finds those of all processes."""

    def __init__(self, grove: "Grove") -> None:
        self._grove = grove
        self._runs = Runs(grove.caller)

    def generate(self, tree: str, node: str | None, options: GenerationOptions) -> RunRecord:
        """Start a generation, and return when its calls are made; a refusal raises."""
        caller = self._grove.caller
        run = GenerationRun(caller, StartPlace(tree=tree, node=node), options)
        register_run(caller.store, run)
        run.start()
        return self._runs.read(_begun(run.channel))

    def ask(self, tree: str, options: AskOptions) -> RunRecord:
        """Say a question and start to answer it."""
        return self._runs.read(_begun(self._grove.runners.start(tree, options).channel))

    def collaborate(self, tree: str, options: CollaborationOptions) -> RunRecord:
        """Let a collaborator work on something."""
        grove, text = self._grove, options.text
        run = start_collaboration(grove, options.agent, text, options, tree=tree, node=options.node)
        return self._runs.read(_begun(run.channel))

    def active(self, tree: str | None = None) -> list[RunRecord]:
        """Those under way, in this process or another."""
        return self._runs.active(tree)

    def read(self, run: str) -> RunRecord:
        return self._runs.read(run)

    def steps(self, run: str, after: int = 0, limit: int = 1_000) -> list[RunStep]:
        """What a run of several turns did."""
        return self._runs.steps(run, after, limit)

    def stop(self, run: str) -> RunRecord:
        """Ask for no more; what came is kept."""
        return self._runs.stop(run)

    def stop_attempt(self, attempt: str) -> RunRecord:
        return self._runs.stop_attempt(attempt)

    def text(self, attempt: str, *, offset: int = 0, choice: int = 0, kind: str = "text") -> AttemptText:
        """The text of an answer from an offset on."""
        return self._runs.text(attempt, offset=offset, choice=choice, kind=kind)

    def view(self, *, trees: "Sequence[str] | None" = None) -> LiveViewer:
        """What goes on now, and from now on: `viewer.take()`."""
        return view_live(self._grove.caller, trees=trees)


def _begun(channel: EventChannel[E]) -> str:
    """Wait until a run is written down; from then on nobody has to read what it says."""
    while (event := channel.get()) is not None:
        if isinstance(event, Started | Began):
            channel.discard()
            return event.run
    raise UnavailableError("the run ended before it began", hint="start it again")
