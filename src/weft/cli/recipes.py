"""Recipes: recipe ls, show, run."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.arguments import flag, node_option
from weft.cli.command import command, group
from weft.cli.output import Column
from weft.cli.records import ProjectId, SessionId, UserId
from weft.cli.session import HERE, CliSession
from weft.cli.text_input import STDIN, read_setting, read_text
from weft.errors import InvalidInputError, NotFoundError
from weft.tree.node import counted

if TYPE_CHECKING:
    from weft.tree.json import JsonObject, JsonValue

_PANEL = "Records and recipes"


def ls(session: CliSession) -> None:
    """Which streams of messages a request reads, in which order, and which filters run. Alone: list the built-in recipes.

    In a pipe: name, streams and filters, separated by tabs.
    """
    from weft.context.recipe import PRESETS  # noqa: PLC0415 - loads with the engine

    if session.out.as_json:
        session.out.json({name: model.to_wire() for name, model in PRESETS.items()})
        return
    session.out.table(
        sorted(PRESETS.items()),
        Column("name", lambda row: row[0]),
        Column("streams", lambda row: ", ".join(leaf.name for leaf in row[1].leaves())),
        Column("filters", lambda row: ", ".join(entry.name for entry in row[1].filters), shrinks=True),
    )


def show(
    session: CliSession, name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in recipe.")]
) -> None:
    """Print a built-in recipe as JSON, as a start for your own."""
    from weft.context.recipe import PRESETS  # noqa: PLC0415 - loads with the engine

    model = PRESETS.get(name)
    if model is None:
        raise NotFoundError(f"no recipe {name!r}", hint=f"recipes are {', '.join(sorted(PRESETS))}")
    if session.out.as_json:
        session.out.json({"model": model.to_wire()})
    else:
        session.out.text(json.dumps({"model": model.to_wire()}, indent=2, ensure_ascii=False))


def run(
    session: CliSession,
    recipe: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="JSON or YAML, - for stdin; or a built-in recipe.")
    ] = STDIN,
    *,
    node: Annotated[str | None, node_option("--node", help="Read the path to this node.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the path: limit, … Repeatable."),
    ] = None,
    user: UserId = None,
    project: ProjectId = None,
    session_id: SessionId = None,
    manifest: Annotated[bool, flag("--manifest", help="Print the manifest, not the messages.")] = False,
) -> None:
    """Run a recipe.

    Prints the messages, one JSON object a line; messages on stderr say what each source gave and each
    filter did.
    """
    body = _body(session, recipe, node, settings or [])
    done = session.grove.recipes.run(body, user=user, project=project, session=session_id)
    if session.out.as_json:
        session.out.json({"messages": done.messages, "manifest": done.manifest.to_wire()})
        return
    if manifest:
        for entry in done.manifest:
            session.out.text(f"{entry.kind}\t{entry.outcome}\t{entry.id}\t{entry.tokens}\t{entry.reason}")
    else:
        for message in done.messages:
            session.out.json_line(message)
    for served in done.served:
        session.out.message(served.reason)
    for step in done.steps:
        session.out.message(f"{step.name}: {step.reason}")
    session.out.message(f"{counted(len(done.messages), 'message')}, {done.manifest.tokens:,} tokens")


def _body(session: CliSession, recipe: str, node: str | None, settings: list[str]) -> "JsonObject":
    from weft.context.recipe import PRESETS  # noqa: PLC0415 - loads with the engine
    from weft.interop.recipe_file import read_recipe_text  # noqa: PLC0415 - few commands read YAML

    body: JsonValue = {"presetId": recipe} if recipe in PRESETS else read_recipe_text(read_text(recipe))
    if not isinstance(body, Mapping):
        raise InvalidInputError("a recipe is an object", hint="weft recipe show TopicContext prints one")
    options = dict(read_setting(each) for each in settings)
    if node is None and (options or (recipe in PRESETS and recipe != "TopicContext")):
        node = HERE
    if node is None:
        return body
    place = session.node(node)
    kala = {"kind": "Path", "treeId": place.value.tree_id, "nodeId": place.id, **options}
    return {**body, "kala": kala}


def add_to(app: typer.Typer) -> None:
    commands = group(app, "recipe", ls, panel=_PANEL)
    for function in (ls, show, run):
        command(commands, function.__name__, function)
