"""Agents, the participants of a grove: agents ls, add, set, default, archive."""

import shlex
from dataclasses import replace
from typing import Annotated, Any

from weft.cli.arguments import AgentName, Archived, Restore, argument, flag, option
from weft.cli.output import Column
from weft.cli.session import CliSession
from weft.cli.text_input import read_setting
from weft.tree.agent import AgentType, Permission

_System = Annotated[str | None, option("--system -s TEXT", "Its system prompt.")]
_Temperature = Annotated[float | None, option("--temperature")]
_MaxTokens = Annotated[int | None, option("--max-tokens")]
_Stop = Annotated[list[str] | None, option("--stop TEXT")]


def agents_ls(session: CliSession, *, archived: Archived = False) -> None:
    """People and models that take part. Alone: list them.

    In a pipe: id, name, type, model and permissions, separated by tabs.
    """
    me = session.grove.me.id
    session.out.listing(
        session.grove.read.agents(archived=archived),
        Column(None, lambda agent: agent.id),
        Column("", lambda agent: "*" if agent.id == me else "", piped=False),
        Column("name", lambda agent: agent.name),
        Column("type", lambda agent: agent.type),
        Column("model", lambda agent: agent.model_ref),
        Column(
            "may",
            lambda agent: _permissions(agent.permissions),
            shrinks=True,
            field=lambda agent: sorted(agent.permissions),
        ),
        Column(
            "since",
            lambda agent: agent.created_at if agent.archived_at is None else "archived",
            piped=False,
        ),
    )


def _permissions(permissions: frozenset[Permission]) -> str:
    if len(permissions) == len(Permission):
        return "everything"
    return ", ".join(sorted(permissions)) or "nothing"


def agents_add(
    session: CliSession,
    name: Annotated[str, argument("NAME", "Its name.")],
    *,
    model: Annotated[str | None, option("--model -m PROVIDER:MODEL", "A model; default: a person.")] = None,
    permission: Annotated[
        list[Permission] | None, option("--may", "A permission. Default: all for a person, none for a model.")
    ] = None,
    system: _System = None,
    temperature: _Temperature = None,
    max_tokens: _MaxTokens = None,
    stop: _Stop = None,
    default: Annotated[bool, flag("--default", "It answers if no agent is named.")] = False,
) -> None:
    """Add an agent. Who answers if none is named stays as it is; --default changes it.

    Prints its id.
    """
    agent = session.grove.add_agent(
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
    message = f"added {agent.name!r}, {kind}; permissions: {_permissions(agent.permissions)}"
    if default:
        session.grove.generations.choose_default(agent.id)
    session.out.result(agent, agent.id, message)
    if model is not None:
        answering = session.grove.generations.answering_agent
        if answering.id == agent.id:
            session.out.message(f"{agent.name!r} answers if no agent is named")
        else:
            session.out.message(
                f"{answering.name!r} still answers if no agent is named;"
                f" weft agents default {shlex.quote(agent.name)} changes that"
            )


def agents_set(
    session: CliSession,
    name: AgentName,
    *,
    rename: Annotated[str | None, option("--name NAME", "A new name.")] = None,
    model: Annotated[str | None, option("--model -m PROVIDER:MODEL", "Another model.")] = None,
    permission: Annotated[list[Permission] | None, option("--may", "All its permissions, one each.")] = None,
    system: _System = None,
    temperature: _Temperature = None,
    max_tokens: _MaxTokens = None,
    stop: _Stop = None,
    settings: Annotated[
        list[str] | None,
        option(
            "--set NAME=VALUE",
            "A further field of its requests, contextWindow or crossTree; NAME= removes it.",
        ),
    ] = None,
) -> None:
    """Change an agent; options not given stay as they are."""
    from weft.runtime.operations.agents import ChangeAgent  # noqa: PLC0415 - loads with the grove

    before = session.grove.read.agent(name)
    custom = dict(before.configuration.custom)
    for each in settings or ():
        key, value = read_setting(each)
        if each.endswith("="):
            custom.pop(key, None)
        else:
            custom[key] = value
    given = {"temperature": temperature, "max_tokens": max_tokens, "stop_sequences": stop and tuple(stop)}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if system is not None:
        changes["system_prompt"] = system or None
    configuration = replace(before.configuration, custom=custom, **changes)
    after = session.grove.perform(
        ChangeAgent(
            agent=before.id,
            name=rename,
            model_ref=model,
            configuration=configuration,
            permissions=permission,
        )
    )
    session.out.result(after, after.id, f"changed {after.name!r}")


def agents_default(
    session: CliSession,
    name: Annotated[str | None, argument("AGENT", "A model agent; - for none.")] = None,
) -> None:
    """Show or set the agent that answers if none is named.

    Without a setting it is the model agent added first, else the embedded model.
    """
    generations = session.grove.generations
    if name is not None:
        generations.choose_default(None if name == "-" else name)
    chosen = generations.default_agent
    agent = None if chosen is None else session.grove.read.agent(chosen)
    answers = generations.answering_agent.name
    message = f"no default is set: {answers!r} answers" if agent is None else f"{agent.name!r} answers"
    session.out.result(agent, None if agent is None else agent.id, message)


def agents_archive(session: CliSession, name: AgentName, *, undo: Restore = False) -> None:
    """Archive an agent; what it wrote stays."""
    from weft.runtime.operations.agents import ArchiveAgent  # noqa: PLC0415 - loads with the grove

    after = session.grove.perform(ArchiveAgent(agent=name, restore=undo))
    session.out.result(after, after.id, f"{'restored' if undo else 'archived'} {after.name!r}")
