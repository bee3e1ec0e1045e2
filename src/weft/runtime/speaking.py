"""What nodes and trees have models do."""

from typing import TYPE_CHECKING, Unpack, cast

if TYPE_CHECKING:
    from weft.runtime.collaborating.handles import AgentHandle, Collaborated, RunWishes
    from weft.runtime.commanding.doing import Done
    from weft.runtime.generate import Generated, Generations, Stream
    from weft.runtime.generating.preflight import Preflight
    from weft.runtime.generating.wishes import GenerateWishes
    from weft.runtime.grove import Grove
    from weft.runtime.operations.executor import Executor
    from weft.runtime.operations.permissions import Actor
    from weft.runtime.summaries import Summaries
    from weft.tree.agent import Permission
    from weft.tree.document import Document
    from weft.tree.node import Node
    from weft.tree.tree import Tree

__all__ = ["DocumentSpeaking", "GroveSpeaking", "NodeSpeaking", "TreeSpeaking"]


class GroveSpeaking:
    """Models, for a whole grove."""

    if TYPE_CHECKING:
        _gate: Executor
        _actor: Actor

    @property
    def generations(self) -> "Generations":
        """Asking models: who answers by default, what may be spent."""
        from weft.runtime.generate import Generations  # noqa: PLC0415 - few calls ask a model

        return Generations(cast("Grove", self), self._gate, self._actor)

    def do(self, text: str, *, tree: str | None = None, agent: str | None = None) -> "Done":
        """Carry out commands: `loom.do("→ help")`, in a tree, or in the one you were last in."""
        from weft.runtime.commanding.doing import do  # noqa: PLC0415 - few calls speak in commands

        grove = cast("Grove", self)
        return do(grove, grove.read.latest_tree() if tree is None else tree, text, agent)

    def calling(
        self, agent: str, *, within: "frozenset[Permission] | None" = None, run: str | None = None
    ) -> "Grove":
        """The same grove through another agent that acts for you: its own rights, as far as you have them.

        `within` narrows them further; what `run` has leased is no obstacle to it.
        """
        from weft.runtime.grove import Grove  # noqa: PLC0415
        from weft.runtime.operations.permissions import Actor  # noqa: PLC0415 - few calls act through another
        from weft.store.references import find_agent  # noqa: PLC0415

        me = self._actor
        with self._gate.store.read() as session:
            key = find_agent(session, agent)
        if key != me.agent:
            return Grove(self._gate, Actor(key, me.user, me, within, run))
        narrowed = within if me.within is None else me.within & (me.within if within is None else within)
        return Grove(self._gate, Actor(key, me.user, me.caller, narrowed, run))

    def agent(self, reference: str) -> "AgentHandle":
        """An agent by name or id, to be asked: `loom.agent("Muse").run("Look around.", tree=tree)`."""
        from weft.runtime.collaborating.handles import AgentHandle  # noqa: PLC0415 - few calls ask a model

        grove = cast("Grove", self)
        return AgentHandle(grove, grove.read.agent(reference))

    @property
    def summaries(self) -> "Summaries":
        """One sentence for a node or a document, two for a tree; how they are made."""
        from weft.runtime.summaries import Summaries  # noqa: PLC0415 - brings providers along

        return Summaries(self._gate, self._actor)


class NodeSpeaking:
    """Continuations of a node."""

    __slots__ = ()
    if TYPE_CHECKING:
        _grove: Grove
        value: Node

    def generate(self, **wishes: "Unpack[GenerateWishes]") -> "Generated":
        """Continue from here: n nodes by one model agent, or n by each of several; wait for them.

        `n`, `agent` or `agents` (else the default one), `context` and `instructions` (further
        sources), `temperature`, `max_tokens`, `stop`, `seed`, `logprobs`, `limit`, `idempotency_key`,
        `max_price`; see `GenerateWishes`. What had come before an error is kept as interrupted; the
        error is raised only if nothing came to its end.
        """
        from weft.runtime.generating.wishes import wishes_from  # noqa: PLC0415 - few calls ask a model

        return self._grove.generations.generate(self.value.tree_id, self.value.id, wishes_from(wishes))

    def stream(self, **wishes: "Unpack[GenerateWishes]") -> "Stream":
        """The same as it comes: `with node.stream(n=3) as stream: for event in stream: …`, or async."""
        from weft.runtime.generating.wishes import wishes_from  # noqa: PLC0415

        return self._grove.generations.stream(self.value.tree_id, self.value.id, wishes_from(wishes))

    def preflight(self, **wishes: "Unpack[GenerateWishes]") -> "Preflight":
        """What generating here would mean: tokens, cached share, price. Nothing is asked."""
        from weft.runtime.generating.wishes import wishes_from  # noqa: PLC0415

        return self._grove.generations.preflight(self.value.tree_id, self.value.id, wishes_from(wishes))

    def summarise(self, *, anew: bool = False) -> str:
        """One sentence; made by a model and kept, where there is none yet."""
        return self._grove.summaries.node(self.value.tree_id, self.value.id, anew=anew)


class TreeSpeaking:
    """Continuations of where you stand."""

    __slots__ = ()
    if TYPE_CHECKING:
        _grove: Grove
        value: Tree

    def generate(self, **wishes: "Unpack[GenerateWishes]") -> "Generated":
        """Continue from where you stand; uncommitted text is committed first."""
        from weft.runtime.generating.wishes import wishes_from  # noqa: PLC0415

        return self._grove.generations.generate(self.value.id, None, wishes_from(wishes))

    def stream(self, **wishes: "Unpack[GenerateWishes]") -> "Stream":
        """The same as it comes."""
        from weft.runtime.generating.wishes import wishes_from  # noqa: PLC0415

        return self._grove.generations.stream(self.value.id, None, wishes_from(wishes))

    def collaborate(
        self, agent: str | None = None, text: str | None = None, **wishes: "Unpack[RunWishes]"
    ) -> "Collaborated":
        """Say something and let a loom-aware agent work on it, with commands; wait for its reply.

        Without a name it is the default agent, or the one that came last, among the loom-aware.
        `turns`, `tokens`, `seconds` and `dollars` limit it; see `RunWishes`. `loom.agent(…).run(…)`
        tells what happens while it happens.
        """
        from weft.runtime.collaborating.handles import start_run  # noqa: PLC0415 - few calls ask a model

        with start_run(self._grove, agent, text, tree=self.value.id, wishes=wishes) as run:
            return run.result()

    def be_present(self) -> None:
        """Give a sign of life where you stand: others see it for two minutes."""
        from weft.runtime.collaborating.presence import show_presence  # noqa: PLC0415 - few calls do

        show_presence(self._grove, self.value.id)

    def summarise(self, *, anew: bool = False) -> str:
        """Two sentences on what it is about; made and kept, where there are none yet."""
        return self._grove.summaries.tree(self.value.id, anew=anew)

    def do(self, text: str, *, agent: str | None = None) -> "Done":
        """Carry out commands here, each on a line: `tree.do("→ view a7x2")`; as you, or as an agent of yours.

        A failure does not stop the rest; each result has the text of its answer, and its error.
        """
        from weft.runtime.commanding.doing import do  # noqa: PLC0415

        return do(self._grove, self.value.id, text, agent)

    def close(self) -> None:
        """You are done with it for now: it is summarised anew in the background."""
        self._grove.summaries.close_tree(self.value.id)


class DocumentSpeaking:
    """A document's summary."""

    __slots__ = ()
    if TYPE_CHECKING:
        _grove: Grove
        value: Document

    def summarise(self, *, anew: bool = False) -> str:
        """One sentence; made and kept, where there is none yet."""
        return self._grove.summaries.document(self.value.id, anew=anew)

    def close(self) -> None:
        """You are done editing: it is summarised anew in the background."""
        self._grove.summaries.close_document(self.value.id)
