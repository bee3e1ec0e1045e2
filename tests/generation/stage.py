"""A grove with a scripted model in it, for tests of generating."""

import contextlib
from collections.abc import Generator

import weft
from weft.providers.base import ProviderRegistry
from weft.testing import Scripted


@contextlib.contextmanager
def grove_with(address: str, model: Scripted, *others: Scripted, **settings) -> Generator[weft.Grove]:
    """A grove whose only provider is the scripted one, with an agent `Echo` on it."""
    registry = ProviderRegistry({each.name: each for each in (model, *others)})
    with weft.open(address, providers=registry, **settings) as grove:
        if not any(agent.name == "Echo" for agent in grove.agents()):
            grove.add_agent("Echo", model_ref=f"{model.name}:echo")
        yield grove


def attempts(grove: weft.Grove) -> list:
    """Every call that was made, as rows."""
    from weft.store import schema

    with grove.caller.executor.store.read() as session:
        return list(session.execute(schema.attempts.select().order_by(schema.attempts.c.key)))


def count(grove: weft.Grove, table) -> int:
    from sqlalchemy import func, select

    with grove.caller.executor.store.read() as session:
        return session.execute(select(func.count()).select_from(table)).scalar_one()
