"""Tools in Python: `loom.tools.run("localSearch", query="the lamp")`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from weft.context.items.blocks import ToolOutput
from weft.runtime.events.log import grove_id
from weft.runtime.operations.executor import Caller
from weft.runtime.tools.mcp_servers import McpServer, ask_server, permission_named
from weft.runtime.tools.policy import Approver
from weft.runtime.tools.service import OfferedTool, ToolRun, ToolService
from weft.runtime.tools.settings import (
    AddToolServer,
    CheckToolServer,
    RemoveToolServer,
    SetToolPolicy,
    SetUrlAccess,
    ToolSettings,
    UrlAccess,
    url_access,
)
from weft.runtime.tools.trusted_servers import TrustedServers
from weft.tree.agent import Permission, ToolPolicy, policy_from
from weft.tree.content import ToolCall
from weft.tree.json import JsonValue
from weft.tree.node import Identified


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a grove. Outputs go to `context`, `envelope` or `generate` as `tool_outputs`."""

    caller: Caller
    approver: Approver | None = None

    def __iter__(self) -> Iterator[OfferedTool]:
        return self.service.offered()

    @property
    def service(self) -> ToolService:
        """The tools as a turn runs them: a failure is an output that says so, not an error."""
        return ToolService(self.caller, approver=self.approver)

    def asking(self, approver: Approver) -> "Tools":
        """The same tools, with a function that is asked before a tool with effects runs."""
        return replace(self, approver=approver)

    def run(self, name: str, *, at: Identified | str | None = None, **arguments: JsonValue) -> ToolOutput:
        """Run one tool. `at` is the turn that it is for: what is on its path is not found again."""
        return self.run_all([ToolCall(id="1", name=name, arguments=arguments)], at=at)[0]

    def run_all(self, calls: Sequence[ToolCall], *, at: Identified | str | None = None) -> list[ToolOutput]:
        """Run several for one turn, in order; all of their sources are numbered in one sequence."""
        return [_checked(each) for each in self.service.run_all(calls, at=at)]

    def set_policy(self, tool: str, policy: ToolPolicy | str | None) -> None:
        """Set whether a tool may run in this grove: `allow`, `ask` or `deny`; None removes the setting."""
        self.caller.perform(
            SetToolPolicy(tool=tool, policy=None if policy is None else policy_from(policy, tool))
        )

    def set_urls(self, access: UrlAccess | str) -> None:
        """Set which addresses `readUrl` may read: `off`, `public`, or `private` for the own network as well."""
        self.caller.perform(SetUrlAccess(urls=url_access(access)))

    @property
    def servers(self) -> tuple[McpServer, ...]:
        """The MCP servers whose tools can be called."""
        with self.caller.reading() as session:
            return ToolSettings.of(session).servers

    def add_mcp(
        self,
        name: str,
        *command: str,
        url: str | None = None,
        private: bool = False,
        secrets: Sequence[str] = (),
        permission: Permission | str = Permission.LOOM_AWARE,
        replace: bool = False,
    ) -> McpServer:
        """Add an MCP server by the command that starts it, or by its address: it is asked for its tools now.

        `secrets` are names of environment variables for the command; their values are not kept in the grove.
        """
        server = McpServer(
            name=name,
            command=command,
            url=url,
            private=private,
            secrets=tuple(secrets),
            permission=permission_named(permission),
        )
        # Before its command is started.
        self.caller.perform(CheckToolServer(server=server, replaces=replace))
        asked = ask_server(server)
        self.caller.perform(AddToolServer(server=asked, replaces=replace))
        with self.caller.store.read() as session:
            TrustedServers().add(grove_id(session), asked.identity)
        return asked

    def remove_mcp(self, name: str) -> None:
        """Remove an MCP server and its tools."""
        self.caller.perform(RemoveToolServer(name=name))


def _checked(run: ToolRun) -> ToolOutput:
    if run.error is not None:
        raise run.error
    return run.output
