"""Participants: agents list, add, set, default, archive."""

from typing import Annotated

import typer

from weft.cli.call import Call
from weft.cli.command import command, flag, group
from weft.cli.completing import complete_agents
from weft.cli.output import Column
from weft.cli.wording import ago
from weft.tree.agent import AgentType, Permission

__all__ = ["add_to"]


def ls(
    call: Call,
    *,
    archived: Annotated[bool, flag("--archived", "-a", help="Also those who left.")] = False,
) -> None:
    """People and models that take part. Alone: list them.

    In a pipe: id, name, type, model and permissions, with tabs between.
    """
    agents = call.grove.read.agents(archived=archived)
    if call.out.as_json:
        call.out.json(agents)
        return
    me = call.grove.me.id
    call.out.table(
        (
            Column(""),
            Column("name"),
            Column("type"),
            Column("model"),
            Column("may", gives=True),
            Column("since"),
        ),
        (
            (
                "*" if each.id == me else "",
                each.name,
                each.type,
                each.model_ref or "",
                _rights(each.permissions),
                ago(each.created_at, call.now) if each.archived_at is None else "archived",
            )
            for each in agents
        ),
        (
            (each.id, each.name, each.type, each.model_ref or "", ",".join(sorted(each.permissions)))
            for each in agents
        ),
    )


def _rights(permissions: frozenset[Permission]) -> str:
    if len(permissions) == len(Permission):
        return "everything"
    return ", ".join(sorted(permissions)) or "nothing"


def add(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    *,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="PROVIDER:MODEL", help="A model; else the agent is a person."),
    ] = None,
    permission: Annotated[
        list[Permission] | None,
        typer.Option("--may", help="What it may do; a person everything, a model nothing, unless told."),
    ] = None,
    system: Annotated[str | None, typer.Option("--system", "-s", metavar="TEXT", help="Its prompt.")] = None,
    temperature: Annotated[float | None, typer.Option("--temperature")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens")] = None,
    stop: Annotated[list[str] | None, typer.Option("--stop", metavar="TEXT")] = None,
) -> None:
    """Add a participant.

    Prints its id.
    """
    made = call.grove.add_agent(
        name,
        type=AgentType.HUMAN if model is None else AgentType.MODEL,
        model_ref=model,
        permissions=permission,
        system_prompt=system,
        temperature=temperature,
        max_tokens=max_tokens,
        stop_sequences=stop or (),
    )
    kind = "a person" if model is None else model
    call.out.answer(made, made.id, f"added {made.name!r}, {kind}, who may do {_rights(made.permissions)}")


def change(
    call: Call,
    name: Annotated[
        str, typer.Argument(metavar="AGENT", help="A name or id.", autocompletion=complete_agents)
    ],
    *,
    rename: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Another name.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="PROVIDER:MODEL", help="Another model.")
    ] = None,
    permission: Annotated[
        list[Permission] | None, typer.Option("--may", help="What it may do, all of it.")
    ] = None,
    system: Annotated[str | None, typer.Option("--system", "-s", metavar="TEXT", help="Its prompt.")] = None,
    temperature: Annotated[float | None, typer.Option("--temperature")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens")] = None,
    stop: Annotated[list[str] | None, typer.Option("--stop", metavar="TEXT")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A further field of its requests, contextWindow or crossTree; NAME= takes it back.",
        ),
    ] = None,
) -> None:
    """Change an agent; what is not given stays."""
    from dataclasses import replace  # noqa: PLC0415

    from weft.cli.contexts import read_setting  # noqa: PLC0415
    from weft.runtime.operations.agents import ChangeAgent  # noqa: PLC0415 - the runtime loads when it is used

    before = call.grove.read.agent(name)
    custom = dict(before.configuration.custom)
    for each in settings or ():
        key, value = read_setting(each)
        if each.endswith("="):
            custom.pop(key, None)
        else:
            custom[key] = value
    old = before.configuration
    configuration = replace(
        old,
        system_prompt=old.system_prompt if system is None else system or None,
        temperature=old.temperature if temperature is None else temperature,
        max_tokens=old.max_tokens if max_tokens is None else max_tokens,
        stop_sequences=old.stop_sequences if stop is None else tuple(stop),
        custom=custom,
    )
    after = call.grove.perform(
        ChangeAgent(
            agent=before.id,
            name=rename,
            model_ref=model,
            configuration=configuration,
            permissions=permission,
        )
    )
    call.out.answer(after, after.id, f"changed {after.name!r}")


def default(
    call: Call,
    name: Annotated[
        str | None,
        typer.Argument(metavar="AGENT", help="A model agent; - for none.", autocompletion=complete_agents),
    ] = None,
) -> None:
    """Say or choose who answers where nobody is named.

    Until somebody is chosen it is the model agent that was added last, or the embedded model.
    """
    generations = call.grove.generations
    if name is not None:
        generations.choose_default(None if name == "-" else name)
    chosen = generations.default_agent
    agent = None if chosen is None else call.grove.read.agent(chosen)
    told = "nobody is chosen: the one that came last answers" if agent is None else f"{agent.name!r} answers"
    call.out.answer(agent, None if agent is None else agent.id, told)


def archive(
    call: Call,
    name: Annotated[
        str, typer.Argument(metavar="AGENT", help="A name or id.", autocompletion=complete_agents)
    ],
    *,
    undo: Annotated[bool, flag("--undo", help="Let it come back.")] = False,
) -> None:
    """Let an agent go; what it wrote stays."""
    from weft.runtime.operations.agents import ArchiveAgent  # noqa: PLC0415 - the runtime loads when it is used

    after = call.grove.perform(ArchiveAgent(agent=name, restore=undo))
    call.out.answer(after, after.id, f"{after.name!r} is {'back' if undo else 'archived'}")


def add_to(app: typer.Typer) -> None:
    family = group(app, "agents", ls, panel="Agents")
    command(family, "ls", ls)
    command(family, "add", add, creates=True)
    command(family, "set", change)
    command(family, "default", default)
    command(family, "archive", archive)
