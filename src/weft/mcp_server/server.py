"""A grove as one MCP server: who asks, what they may, and what each request is answered."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from weft import __version__
from weft.errors import UnauthenticatedError, WeftError
from weft.grove.grove import Grove
from weft.mcp_server.prompts import get_prompt, list_prompts
from weft.mcp_server.resources import complete, list_resources, list_templates, read_resource
from weft.mcp_server.results import protocol_error, refused
from weft.mcp_server.sessions import CommandSessions, agent_of
from weft.mcp_server.subscriptions import Subscriptions
from weft.mcp_server.tools import TOOLS, ToolCaller, list_tools
from weft.tree.agent import Permission

CALLER = "weft.caller"
"""Where a request over HTTP carries the grove of its caller."""
INSTRUCTIONS = (
    "Weft keeps branching conversations and texts as trees. Begin with `trees`, then `tree` to see one; nodes are "
    "named by short ids such as a7x2. Nothing is ever overwritten: an edit is a branch or a version, what is pruned "
    "can be restored, and `undo` takes back your own last step. `help` says what you may do here."
)
_THREADS = 8
_log = logging.getLogger("weft.mcp")

R = TypeVar("R")
Context = ServerRequestContext[Any, Any]


@dataclass(slots=True)
class McpFace:
    """One server over one grove.

    What may be done through it is what all of these allow: its agent, the caller (by the token),
    and what it was opened with.
    """

    grove: Grove | None
    """Of the process, if it acts for one caller; None: each request says who its caller is."""
    agent: str | None = None
    """The acting agent; else the caller's."""
    within: frozenset[Permission] | None = None
    """The most that may be done through it."""
    listening: Subscriptions = field(default_factory=Subscriptions)
    sessions: CommandSessions = field(default_factory=CommandSessions)
    _limiter: anyio.CapacityLimiter | None = None

    def server(self) -> Server[Any]:
        """The protocol's side of it."""
        return Server(
            "weft",
            version=__version__,
            title="Weft",
            description="A loom: branching conversations and texts as trees.",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscriptions_listen=self._listen,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            get_tool_input_schema=lambda name: TOOLS[name].taken.input_schema() if name in TOOLS else None,
        )

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return list_tools()

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Every refusal is an answer that the model can read; only what is no tool at all is an error."""
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:100]!r}")
        try:
            taken = tool.taken.read(params.arguments)
            grove = await self._in_thread(lambda: self._grove_of(context))
            caller = ToolCaller(grove, self.sessions, self._in_thread, context.session.report_progress)
            return await tool.run(taken, caller)
        except WeftError as error:
            return refused(error)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001 - told to the log; a client gets none of our insides
            raise _failed(f"the tool {params.name}") from None

    async def _list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        cursor = None if params is None else params.cursor
        return await self._asked(context, lambda grove: list_resources(grove, cursor))

    async def _list_templates(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        del context, params
        return list_templates()

    async def _read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await self._asked(context, lambda grove: read_resource(grove, params.uri))

    async def _list_prompts(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        del context, params
        return list_prompts()

    async def _get_prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        return await self._asked(context, lambda grove: get_prompt(grove, params.name, params.arguments))

    async def _complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        return await self._asked(context, lambda grove: complete(grove, params.argument))

    async def _listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        try:
            grove = await self._in_thread(lambda: self._grove_of(context))
            return await self.listening.serve(context, params, grove)
        except WeftError as error:
            raise protocol_error(error) from None

    async def _asked(self, context: Context, work: Callable[[Grove], R]) -> R:
        """The result of the work for the caller; an error in the protocol's form."""
        try:
            return await self._in_thread(lambda: work(self._grove_of(context)))
        except WeftError as error:
            raise protocol_error(error) from None
        except Exception:  # noqa: BLE001 - the same
            raise _failed(context.method) from None

    def _grove_of(self, context: Context) -> Grove:
        """The grove as the asker may see and change it. Blocking."""
        held = self.grove
        if held is None:
            asked = context.request
            held = None if asked is None else asked.scope.get(CALLER)
            if not isinstance(held, Grove):
                raise UnauthenticatedError("authentication required", hint="send a token")
        return held.calling(self.agent or agent_of(held).id, within=self.within)

    async def _in_thread(self, work: Callable[[], R]) -> R:
        """What asks the store, in a worker thread; few at a time, so that the loop goes on."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_THREADS)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _failed(where: str) -> MCPError:
    """Our own mistake: told as such, its insides to the log alone."""
    _log.exception("%s failed", where)
    return MCPError(INTERNAL_ERROR, "something went wrong in the server")
