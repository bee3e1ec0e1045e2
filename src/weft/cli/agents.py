"""Participants: agents list, add, archive."""

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
    command(family, "archive", archive)
