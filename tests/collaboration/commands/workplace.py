"""A grove with somebody to ask, a tree to work in, and a document; for tests of commands at work."""

import contextlib
import itertools
import random
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

import weft
from weft.commands.reply import Result
from weft.commands.scanner import scan
from weft.grove.document import DocumentHandle
from weft.grove.node import NodeHandle
from weft.grove.tree import TreeHandle
from weft.ids import new_ulid
from weft.providers.base import ProviderRegistry
from weft.runtime.collaboration.commands.session import CommandSession
from weft.testing import Scripted
from weft.tree.agent import Agent, Permission

__all__ = ["LEGAL", "Workplace", "open_with"]

LEGAL = [
    frozenset(loom) | frozenset(papers)
    for loom in (
        (),
        ("loom_aware",),
        ("loom_aware", "loom_write"),
        ("loom_aware", "loom_generate"),
        ("loom_aware", "loom_write", "loom_generate"),
    )
    for papers in ((), ("doc_read",), ("doc_read", "doc_write"))
]
"""Every set of permissions that an agent can have."""
_numbers = itertools.count(1)


@contextlib.contextmanager
def open_with(address: str, model: Scripted | None = None, **settings) -> Generator[weft.Grove]:
    provider = model or Scripted()
    # The same ids in every run: what is said is made of them.
    chance = random.Random(7).randbytes
    given = {"entropy": chance, "providers": ProviderRegistry({provider.name: provider}), **settings}
    with weft.open(address, **given) as grove:
        if not any(agent.name == "Base" for agent in grove.agents()):
            grove.add_agent("Base", model_ref=f"{provider.name}:echo")
        yield grove


@dataclass
class Workplace:
    """A small tree, and an agent at work in it."""

    loom: weft.Grove
    permissions: Iterable[str] = tuple(Permission)
    crosses: bool = False
    mode: str = "dialogue"
    within: frozenset[Permission] | None = None
    number: int = field(default_factory=lambda: next(_numbers))
    tree: TreeHandle = field(init=False)
    agent: Agent = field(init=False)
    document: DocumentHandle = field(init=False)
    session: CommandSession = field(init=False)

    def __post_init__(self) -> None:
        loom, number = self.loom, self.number
        self.tree = loom.plant(f"Marie {number}", "Marie came home. It was late.", mode=self.mode)
        self.root = self.tree.root
        self.a = self.tree.say("Why did she come back? Nobody in the village knows.")
        self.b = self.a.say("Her mother's death.")
        self.beside = self.root.say("What did she bring?")
        self.document = loom.write_document(
            f"Notes {number}", "# Motivation\nShe is afraid.\n\n# Place\nA house.\n"
        )
        loom.link(self.tree, self.document)
        self.agent = loom.add_agent(
            f"Muse {number}",
            model_ref="scripted:muse",
            permissions=sorted(self.permissions),
            custom={"crossTree": True} if self.crosses else {},
        )
        self.session = self.new_session()

    def new_session(self, **given) -> CommandSession:
        executor = self.loom.caller.executor
        given = {"run": new_ulid(executor.clock(), executor.entropy), "within": self.within, **given}
        return CommandSession(self.loom.caller, self.tree.id, self.agent, **given)

    def say(self, text: str, *, turn: int = 1) -> list[Result]:
        """The agent says this, and it is carried out."""
        return self.session.run(scan(text).commands, turn=turn)

    def one(self, command: str) -> Result:
        (result,) = self.say(f"→ {command}")
        return result

    def ok(self, command: str) -> str:
        result = self.one(command)
        assert result.ok, result.text
        return result.text

    def no(self, command: str) -> str:
        result = self.one(command)
        assert not result.ok, result.text
        return result.text

    def node(self, name: str) -> NodeHandle:
        return self.tree.node(name)

    def events(self) -> tuple[int, int]:
        """How much has happened in the tree and in the grove."""
        from weft.store import schema

        with self.loom.read.store.read() as session:
            tree = session.execute(schema.trees.select().where(schema.trees.c.ulid == self.tree.id)).one()
            return tree.events, session.execute(schema.grove.select()).one().events
