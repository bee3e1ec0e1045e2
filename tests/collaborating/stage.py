"""A grove with a scripted collaborator in it."""

import contextlib
from collections.abc import Generator

from sqlalchemy import func, select
from tests.generation.stage import grove_with

import weft
from weft.store import schema
from weft.testing import Scripted
from weft.tree.agent import Permission

MUSE = "Muse"
ALL = tuple(Permission)


@contextlib.contextmanager
def workshop(
    address: str, script, *others: Scripted, permissions=ALL, gate=None, profile=None, **settings
) -> Generator[tuple[weft.Grove, weft.grove.tree.TreeHandle, Scripted]]:
    """A grove, a tree in it, and the model behind the collaborator `Muse`; `Echo` is a subject."""
    options = {} if profile is None else {"profile": profile}
    model = script if isinstance(script, Scripted) else Scripted(script, gate=gate, name="muse", **options)
    with grove_with(address, Scripted(), model, *others, **settings) as grove:
        if not any(agent.name == MUSE for agent in grove.agents()):
            grove.add_agent(
                MUSE, model_ref=f"{model.name}:one", permissions=permissions, system_prompt="You are Muse."
            )
        trees = grove.trees()
        yield grove, trees[0] if trees else grove.plant("Marie"), model


def run(grove, tree, text="Look around.", **options):
    return grove.agent(MUSE).run(text, tree=tree, **options)


def words(request) -> str:
    """All that was sent."""
    return "\n".join([*request.system, *(message.text for message in request.messages)])


def counts(grove) -> dict[str, int]:
    """How much there is of everything."""
    with grove.read.store.read() as session:
        return {
            table.name: session.execute(select(func.count()).select_from(table)).scalar_one()
            for table in schema.metadata.sorted_tables
        }
