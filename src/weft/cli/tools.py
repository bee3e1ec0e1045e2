"""Tools: tools."""

import getpass
import sys
from typing import Annotated, Literal

from weft.cli.answer_display import approver_of
from weft.cli.arguments import argument, flag, option
from weft.cli.knowledge import tool_call
from weft.cli.output import Column
from weft.cli.session import CliSession
from weft.cli.text_input import is_interactive
from weft.errors import InvalidInputError
from weft.tree.node import counted

_Server = Annotated[str, argument("NAME", "A short name: its tools are NAME.tool.")]
_SECRET_LIMIT = 10_000


def tools_ls(session: CliSession) -> None:
    """Tools that a turn can use; their output precedes the question. Alone: list them.

    In a pipe: name, arguments, policy and description, separated by tabs.
    """
    session.out.listing(
        list(session.grove.tools),
        Column("tool", lambda each: each.name),
        Column("arguments", lambda each: [] if each.tool is None else each.tool.argument_names),
        Column("policy", lambda each: each.policy),
        Column(
            "",
            lambda each: (
                f"off: {each.off}" if each.tool is None or each.off is not None else each.tool.description
            ),
            shrinks=True,
        ),
        wire=lambda each: each.described(),
    )


def tools_run(
    session: CliSession,
    name: Annotated[str, argument("NAME", "weft tools lists them.")],
    given: Annotated[
        list[str] | None, argument("[WORDS]", "Its first argument; others as NAME=VALUE.")
    ] = None,
    *,
    at: Annotated[
        str | None, option("--at NODE", "The turn it is for: nodes on its path are not found again.")
    ] = None,
    yes: Annotated[bool, flag("--yes -y", "Approve a tool with effects.")] = False,
) -> None:
    """Run a tool and print its output as a model would get it.

    A tool with effects asks first. weft gen --tool and weft context --tool put the output before a question.
    """
    place = None if at is None else session.node(at)
    approver = _agreed if yes else approver_of(session)
    tools = session.grove.tools if approver is None else session.grove.tools.asking(approver)
    output = tools.run_all([tool_call(session, name, given or [])], at=place)[0]
    if session.out.as_json:
        session.out.json(output)
    else:
        session.out.exact(output.render() + "\n")


def _agreed(_request: object) -> bool:
    return True


def tools_policy(
    session: CliSession,
    name: Annotated[str, argument("NAME", "A tool.")],
    policy: Annotated[
        Literal["allow", "ask", "deny", "default"], argument("POLICY", "allow, ask, deny or default.")
    ],
) -> None:
    """Set whether a tool may run: allow, ask a person first, or deny.

    By default tools with effects ask, and where no person can be asked they are refused. Of this setting and
    an agent's own (weft agents set Muse --set 'toolPolicies={"NAME": "deny"}') the strictest holds.
    """
    session.grove.tools.set_policy(name, None if policy == "default" else policy)
    session.out.result({"tool": name, "policy": policy}, None, f"{name}: {policy}")


def tools_urls(
    session: CliSession,
    access: Annotated[
        Literal["off", "public", "private"], argument("ACCESS", "off, public, or private: own network too.")
    ],
) -> None:
    """Set which attached addresses readUrl may read.

    Addresses of projects count as attached. private also allows addresses of your own network.
    """
    session.grove.tools.set_urls(access)
    session.out.result({"urls": access}, None, f"readUrl: {access}")


def tools_add(
    session: CliSession,
    kind: Annotated[Literal["mcp"], argument("KIND", "mcp.")],
    name: _Server,
    command: Annotated[
        list[str] | None, argument("[COMMAND...]", "After --: the command that starts the server.")
    ] = None,
    *,
    url: Annotated[
        str | None, option("--url URL", "The address of the server, instead of a command.")
    ] = None,
    private: Annotated[bool, flag("--private", "The address is on your own network.")] = False,
    secret: Annotated[
        list[str] | None, option("--secret VARIABLE", "An environment variable of the command. Repeatable.")
    ] = None,
    permission: Annotated[
        str, option("--permission PERMISSION", "What an agent needs to call its tools.")
    ] = "loom_aware",
    again: Annotated[bool, flag("--replace", "Replace the server of this name.")] = False,
) -> None:
    """Add an MCP server: weft tools add mcp files -- npx server-filesystem ~/Notes.

    It is started now and asked for its tools, which then are NAME.tool; later changes of their descriptions
    count only after it is added again. The values of secrets are read from the environment, or from the
    stored keys (weft tools secret); a key for a URL is stored with weft keys set mcp-NAME --for HOST.
    """
    del kind
    server = session.grove.tools.add_mcp(
        name,
        *(command or ()),
        url=url,
        private=private,
        secrets=secret or (),
        permission=permission,
        replace=again,
    )
    tools = [f"{server.name}.{each.name}" for each in server.tools]
    facts = {**server.identity, "permission": server.permission, "tools": tools}
    session.out.result(facts, "\n".join(tools), f"added {name} with {counted(len(server.tools), 'tool')}")


def tools_remove(session: CliSession, name: _Server) -> None:
    """Remove an MCP server and its tools."""
    session.grove.tools.remove_mcp(name)
    session.out.result({"name": name, "removed": True}, None, f"removed {name}")


def tools_secret(
    session: CliSession, name: _Server, variable: Annotated[str, argument("VARIABLE", "The variable.")]
) -> None:
    """Store the value of a server's secret on this machine.

    It is read from a prompt or from stdin, never from an argument, and is not part of the grove.
    """
    from weft.providers.keys import Keys  # noqa: PLC0415 - loads with the providers

    if is_interactive():
        value = getpass.getpass(f"{variable} for {name}: ", stream=sys.stderr)
    else:
        value = sys.stdin.read(_SECRET_LIMIT)
    if not value.strip():
        raise InvalidInputError("no value was given", hint="type it, or pipe it in")
    stored = Keys().set(f"mcp-{name}", value, variable.lower())
    session.out.result(
        {"name": name, "variable": variable, "where": stored.where}, None, f"stored in {stored.where}"
    )
