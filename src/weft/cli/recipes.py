"""Recipes: recipe ls, show, run."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.completing import complete_nodes
from weft.cli.contexts import read_setting
from weft.cli.output import Column
from weft.cli.records import Project, SessionName, User
from weft.cli.texts import STDIN, read_text
from weft.errors import InvalidInputError
from weft.tree.node_labels import counted

if TYPE_CHECKING:
    from weft.context.recipe_run import Followed
    from weft.tree.json import JsonObject, JsonValue

__all__ = ["add_to"]

_PANEL = "Records and recipes"


def ls(call: Call) -> None:
    """Where messages come from, in which order, and which filters run. Alone: list the built-in recipes.

    In a pipe: name, streams and filters, with tabs between.
    """
    from weft.context.recipe import PRESETS  # noqa: PLC0415 - the engine is loaded by who asks it

    if call.out.as_json:
        call.out.json({name: model.to_wire() for name, model in PRESETS.items()})
        return
    rows = [
        (
            name,
            ", ".join(leaf.name for leaf in model.leaves()),
            ", ".join(entry.name for entry in model.filters),
        )
        for name, model in sorted(PRESETS.items())
    ]
    call.out.table((Column("name"), Column("streams"), Column("filters", gives=True)), rows, rows)


def show(call: Call, name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in recipe.")]) -> None:
    """Print a built-in recipe as JSON: to begin one of your own from."""
    from weft.context.recipe import PRESETS  # noqa: PLC0415
    from weft.errors import NotFoundError  # noqa: PLC0415

    model = PRESETS.get(name)
    if model is None:
        raise NotFoundError(f"no recipe {name!r}", hint=f"recipes are {', '.join(sorted(PRESETS))}")
    if call.out.as_json:
        call.out.json({"model": model.to_wire()})
    else:
        call.out.text(json.dumps({"model": model.to_wire()}, indent=2, ensure_ascii=False))


def run(
    call: Call,
    recipe: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="JSON or YAML, - for stdin; or a built-in recipe.")
    ] = STDIN,
    *,
    node: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="NODE", help="Over the path to this node.", autocompletion=complete_nodes
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Of the path: limit, strategy, …; may be repeated."),
    ] = None,
    user: User = None,
    project: Project = None,
    session: SessionName = None,
    manifest: Annotated[bool, flag("--manifest", help="The account instead of the messages.")] = False,
) -> None:
    """Follow a recipe.

    Prints the messages, one JSON object on each line; what each source gave and each filter did is said beside.
    """
    body = _body(call, recipe, node, settings or [])
    done = call.grove.recipes.run(body, user=user, project=project, session=session)
    if call.out.as_json:
        call.out.json({"messages": done.messages, "manifest": done.manifest.to_wire()})
        return
    if manifest:
        for entry in done.manifest:
            call.out.text(f"{entry.kind}\t{entry.outcome}\t{entry.id}\t{entry.tokens}\t{entry.reason}")
    else:
        for message in done.messages:
            call.out.json_line(message)
    _tell(call, done)


def _body(call: Call, recipe: str, node: str | None, settings: list[str]) -> "JsonObject":
    from weft.context.recipe import PRESETS  # noqa: PLC0415
    from weft.interop.recipe_file import read_recipe_text  # noqa: PLC0415 - few commands read YAML

    body: JsonValue = {"presetId": recipe} if recipe in PRESETS else read_recipe_text(read_text(recipe))
    if not isinstance(body, Mapping):
        raise InvalidInputError("a recipe is an object", hint="weft recipe show TopicContext prints one")
    wishes = dict(read_setting(each) for each in settings)
    if node is None and (wishes or (recipe in PRESETS and recipe != "TopicContext")):
        node = "."
    if node is None:
        return body
    place = call.node(node)
    kala = {"kind": "Path", "treeId": place.value.tree_id, "nodeId": place.id, **wishes}
    return {**body, "kala": kala}


def _tell(call: Call, done: "Followed") -> None:
    for served in done.served:
        call.out.talk(served.reason)
    for step in done.steps:
        call.out.talk(f"{step.name}: {step.reason}")
    tokens = done.manifest.tokens
    call.out.talk(f"{counted(len(done.messages), 'message')}, {tokens:,} tokens")


def add_to(app: typer.Typer) -> None:
    family = group(app, "recipe", ls, panel=_PANEL)
    for function in (ls, show, run):
        command(family, function.__name__, function)
