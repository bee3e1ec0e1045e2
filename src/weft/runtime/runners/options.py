"""The runners by name, and the options of a question and of its preview."""

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from weft.argument_checks import option
from weft.errors import InvalidInputError
from weft.runtime.contexts.options import ContextOptions, ids_of
from weft.runtime.generation.options import GenerationOptions, RunOptions
from weft.tree.item import Item
from weft.tree.json import JsonObject
from weft.tree.node import Identified

if TYPE_CHECKING:
    # The engine loads with the first call that needs it.
    from weft.context.items.blocks import ToolOutput


class Runner(StrEnum):
    """How a turn is run."""

    CHAT = "chat"
    """The conversation and the turn's items, and nothing else."""
    VAULT = "vault"
    """Passages of the notes first, with rules for citing them."""
    TOOLS = "tools"
    """A planner picks tools; they run once, and their outputs precede the question."""
    AGENT = "agent"
    """The model calls tools until it has its answer, within limits."""
    PROJECT = "project"
    """As `tools`, in a tree of a project."""

    @property
    def plans(self) -> bool:
        """Whether a planner picks tools before the model is asked."""
        return self in {Runner.TOOLS, Runner.PROJECT}


class Planner(StrEnum):
    """What picks the tools of a turn."""

    AUTO = "auto"
    """The model where its profile has tools, else rules."""
    MODEL = "model"
    RULES = "rules"


_RUNNER = "How the turn is run: chat, vault, tools, agent or project; default: chat, with vaults vault."
_VAULTS = "Only these vaults are looked into; default: all that are mounted."
_PLANNER = "What picks tools: auto, model or rules; auto is the model where its profile has tools."
_TOOLS = "Only these tools may be used; default: all that are on."
_COMPOSER = "Instructions for the form of the answer, given once before the question."
_NAMES = "a list of names"
_PLAN_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class AskOptions(RunOptions):
    """How a question is asked and answered. Limits of turns, tokens and seconds are an agent's."""

    text: str | None = option(None, "The question; default: the current node is answered.")
    _: KW_ONLY
    node: Identified | str | None = option(None, "The node to continue from; default: the current one.")
    runner: Runner | str | None = option(None, _RUNNER)
    agent: str | None = option(
        None, "The agent that answers; default: the default agent.", least=1, wanted="the name of an agent"
    )
    model: str | None = option(
        None,
        "The model that answers, as provider:model; an agent is added for it where there is none.",
        least=1,
        wanted="provider:model",
    )
    vaults: Collection[str] = option((), _VAULTS, wanted=_NAMES)
    tool_names: Collection[str] | None = option(None, _TOOLS, wanted=_NAMES)
    planner: Planner | str = option(Planner.AUTO, _PLANNER)
    composer: str = option("", _COMPOSER)
    attachments: Sequence[Item | str] = option((), "Items of the question: notes, pages, documents, nodes.")
    resume: bool = option(False, "Go on where an agent was interrupted; without a text.")
    idempotency_key: str | None = option(
        None,
        "Repeating the key returns the first answer; the question is said once.",
        least=1,
        most=255,
        wanted="a text of at most 255 characters",
    )

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(AskOptions, self).__post_init__()
        if self.agent is not None and self.model is not None:
            raise InvalidInputError("agent and model are both given", hint="name one of them", path="model")
        if self.text is not None and not self.text.strip():
            raise InvalidInputError("text is empty", hint="ask something", path="text")
        if self.resume and (self.text is not None or self.attachments):
            raise InvalidInputError("resume takes no text", hint="leave one of them out", path="resume")
        if self.text is None and self.attachments:
            raise InvalidInputError("attachments need a text", hint="ask something", path="attachments")
        _ = self.chosen_runner, self.chosen_planner

    @property
    def chosen_runner(self) -> Runner:
        return runner_of(self.runner, self.vaults, resumes=self.resume)

    @property
    def chosen_planner(self) -> Planner:
        return planner_of(self.planner)

    def body(self) -> JsonObject:
        """What makes two questions the same."""
        return {
            **self.generation.body(),
            "text": self.text,
            "node": None if self.node is None else ids_of([self.node])[0],
            "runner": self.chosen_runner.value,
            "agent": self.agent,
            "model": self.model,
            "vaults": sorted(self.vaults),
            "tools": None if self.tool_names is None else sorted(self.tool_names),
            "planner": self.chosen_planner.value,
            "composer": self.composer,
            "attachments": [
                each if isinstance(each, str) else {"id": each.id, "type": each.type, "sha256": each.sha256}
                for each in self.attachments
            ],
            "resume": self.resume,
            "limits": [
                self.turns,
                self.tokens,
                self.seconds,
                None if self.dollars is None else str(self.budget),
            ],
        }

    def answering(
        self, agent: str, outputs: "Sequence[ToolOutput]" = (), most: Decimal | None = None
    ) -> GenerationOptions:
        """How the answer itself is generated; `most` is what it may cost, in dollars."""
        return replace(self.generation, agent=agent, tool_outputs=tuple(outputs), max_price=most)

    def planning(self, agent: str, most: Decimal | None = None) -> GenerationOptions:
        """How a planner's list is generated."""
        return replace(self.answering(agent, most=most), temperature=0.0, max_tokens=_PLAN_TOKENS, seed=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroveAskOptions(AskOptions):
    """How a question is asked in a grove: in the last tree, in another, or in a new one."""

    tree: Identified | str | None = option(None, "The tree, or its id; default: the last one used.")
    new: bool = option(False, "Plant a new tree for the question.")

    def body(self) -> JsonObject:
        # Without arguments `super` looks for the class that slots replaced.
        return {**super(GroveAskOptions, self).body(), "new": self.new}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(ContextOptions):
    """Everything that decides what is sent to a model, and how its turn is run."""

    runner: Runner | str | None = option(None, _RUNNER)
    vaults: Collection[str] = option((), _VAULTS, wanted=_NAMES)
    tool_names: Collection[str] | None = option(None, _TOOLS, wanted=_NAMES)
    composer: str = option("", _COMPOSER)

    def __post_init__(self) -> None:
        # Without arguments `super` looks for the class that slots replaced.
        super(PreviewOptions, self).__post_init__()
        _ = self.chosen_runner

    @property
    def names_runner(self) -> bool:
        """Whether the turn is to be run in a certain way."""
        return self.runner is not None or bool(self.vaults or self.composer)

    @property
    def chosen_runner(self) -> Runner:
        return runner_of(self.runner, self.vaults)


def runner_of(given: Runner | str | None, vaults: Collection[str] = (), *, resumes: bool = False) -> Runner:
    """The runner that is named; else the one that the other options ask for."""
    if given is None:
        return Runner.AGENT if resumes else Runner.VAULT if vaults else Runner.CHAT
    try:
        return Runner(given)
    except ValueError:
        raise InvalidInputError(
            f"there is no runner {given[:60]!r}", hint=f"runners are {', '.join(Runner)}", path="runner"
        ) from None


def planner_of(given: Planner | str) -> Planner:
    try:
        return Planner(given)
    except ValueError:
        raise InvalidInputError(
            f"there is no planner {given[:60]!r}", hint=f"planners are {', '.join(Planner)}", path="planner"
        ) from None
