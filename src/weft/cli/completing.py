"""What the shell may offer after Tab: names that are really there."""

import contextlib
from collections.abc import Generator

import typer

from weft.cli.call import Call, choices_of, settings_of
from weft.cli.output import visible
from weft.cli.wording import shortened, typable
from weft.errors import WeftError

__all__ = [
    "complete_agents",
    "complete_documents",
    "complete_nodes",
    "complete_places",
    "complete_projects",
    "complete_trees",
]

Offers = list[tuple[str, str]]

_NODES = 500
_HELP = 60


def _nameable(name: str, identity: str) -> str:
    """A name, unless a shell would take it apart."""
    return name if name.replace("-", "").replace("_", "").isalnum() else identity


@contextlib.contextmanager
def _looking(context: typer.Context) -> Generator[Call]:
    """A look into the grove that offers nothing where there is nothing to see."""
    with contextlib.suppress(WeftError), Call(settings_of(context), choices_of(context)) as call:
        yield call


def complete_trees(ctx: typer.Context) -> Offers:
    offers: Offers = []
    with _looking(ctx) as call:
        for tree in call.grove.read.trees():
            offers.append((_nameable(tree.title, tree.id), _short(tree.title)))
    return offers


def complete_agents(ctx: typer.Context) -> Offers:
    offers: Offers = []
    with _looking(ctx) as call:
        for agent in call.grove.read.agents():
            offers.append((_nameable(agent.name, agent.id), agent.model_ref or agent.type))
    return offers


def complete_documents(ctx: typer.Context) -> Offers:
    offers: Offers = []
    with _looking(ctx) as call:
        for document in call.grove.read.documents():
            offers.append((_nameable(document.title, document.id), _short(document.title)))
    return offers


def complete_projects(ctx: typer.Context) -> Offers:
    offers: Offers = []
    with _looking(ctx) as call:
        for project in call.grove.projects():
            offers.append((_nameable(project.name, project.id), _short(project.system_prompt)))
    return offers


def complete_places(ctx: typer.Context) -> Offers:
    """Nodes, and the steps one can take from here."""
    from weft.runtime.operations.cursors import Direction  # noqa: PLC0415 - the runtime loads when it is used

    return [*((step.value, "one step") for step in Direction), *complete_nodes(ctx)]


def complete_nodes(ctx: typer.Context) -> Offers:
    offers: Offers = []
    with _looking(ctx) as call:
        for row in call.grove.read.outline(call.tree.id, limit=_NODES):
            offers.append((typable(row.node.local_id), _short(row.node.text)))
    return offers


def _short(text: str) -> str:
    return visible(shortened(text, _HELP))
