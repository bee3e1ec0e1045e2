"""A grove as one MCP server: who asks, what they may, and what each request is answered."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from weft import __version__
from weft.errors import LimitExceededError, UnauthenticatedError, WeftError
from weft.grove.grove import Grove
from weft.mcp_server.command_tools import McpTool, protocol_error, refused
from weft.mcp_server.prompts import get_prompt, list_prompts
from weft.mcp_server.resources import (
    ResourceAddress,
    complete,
    document_at,
    list_resources,
    list_templates,
    parse_uri,
    read_resource,
)
from weft.mcp_server.sessions import CommandSessions, ToolCaller, agent_of
from weft.mcp_server.tools import TOOLS, list_tools
from weft.runtime.events.log import Event
from weft.runtime.events.subscription import Subscription
from weft.tree.agent import Permission
from weft.tree.event_kinds import LISTING_KINDS, STEP_KINDS

CALLER = "weft.caller"
"""Where a request over HTTP carries the grove of its caller."""
INSTRUCTIONS = (
    "Weft keeps branching conversations and texts as trees. Begin with `trees`, then `tree` to see one; nodes are "
    "named by short ids such as a7x2. Nothing is ever overwritten: an edit is a branch or a version, what is pruned "
    "can be restored, and `undo` takes back your own last step. `help` says what you may do here."
)
_THREADS = 8
MOST_STREAMS = 100
_MOST_ADDRESSES = 1_000
_log = logging.getLogger("weft.mcp")

P = TypeVar("P")
R = TypeVar("R")
Context = ServerRequestContext[Any, Any]


class Subscriptions:
    """Streams of changes, each for one caller, with what it may see."""

    def __init__(self) -> None:
        self._open: set[ListenHandler] = set()

    async def serve(
        self,
        context: Context,
        params: SubscriptionsListenRequestParams,
        grove: Grove,
    ) -> SubscriptionsListenResult:
        """One stream, until the client ends it."""
        if len(self._open) >= MOST_STREAMS:
            raise _too_many(f"{MOST_STREAMS} clients are listening already")
        wanted = params.notifications.resource_subscriptions or []
        if len(wanted) > _MOST_ADDRESSES:
            raise _too_many(f"{len(wanted):,} addresses are too many for one stream")
        addresses = [(uri, parse_uri(uri)) for uri in wanted]
        subscription = await anyio.to_thread.run_sync(_follow, grove, [each for _, each in addresses])
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus)
        self._open.add(stream)
        results: list[SubscriptionsListenResult] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_publish, subscription, bus, addresses)
                results.append(await stream(context, params))
                tasks.cancel_scope.cancel()
            return results[0]
        finally:
            self._open.discard(stream)
            subscription.close()

    def close(self) -> None:
        """End all streams, in order: clients are told that nothing more comes."""
        for stream in list(self._open):
            stream.close()


def _follow(grove: Grove, addresses: Iterable[ResourceAddress]) -> Subscription:
    """From now on; what may not be read cannot be listened to either."""
    for each in addresses:
        if each.kind == "document":
            document_at(grove, each.id)
        else:
            grove.read.tree(each.id)
    return grove.follow(after="now")


async def _publish(
    subscription: Subscription, bus: InMemorySubscriptionBus, addresses: list[tuple[str, ResourceAddress]]
) -> None:
    async for batch in subscription.batches():
        for update in dict.fromkeys(each for event in batch for each in _updates(event, addresses)):
            await bus.publish(update)


def _updates(event: Event, addresses: list[tuple[str, ResourceAddress]]) -> list[ServerEvent]:
    document = event.payload.get("document")
    changed = event.tree_id or (document if isinstance(document, str) else event.payload.get("tree"))
    updates: list[ServerEvent] = [ResourceUpdated(uri) for uri, each in addresses if each.id == changed]
    if event.kind in LISTING_KINDS or (event.tree_id is None and event.kind in STEP_KINDS):
        updates.append(ResourcesListChanged())
    return updates


def _too_many(message: str) -> MCPError:
    return protocol_error(LimitExceededError(message, hint="end a stream that is not needed"))


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
    tools: Mapping[str, McpTool] = field(default_factory=lambda: TOOLS)
    """What it offers, by name."""
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
            on_list_tools=_fixed(list_tools(self.tools.values())),
            on_call_tool=self._call_tool,
            on_list_resources=self._answering(
                lambda grove, params: list_resources(grove, None if params is None else params.cursor)
            ),
            on_list_resource_templates=_fixed(list_templates()),
            on_read_resource=self._answering(lambda grove, params: read_resource(grove, params.uri)),
            on_subscriptions_listen=self._listen,
            on_list_prompts=_fixed(list_prompts()),
            on_get_prompt=self._answering(
                lambda grove, params: get_prompt(grove, params.name, params.arguments)
            ),
            on_completion=self._answering(lambda grove, params: complete(grove, params.argument)),
            get_tool_input_schema=self._input_schema,
        )

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self.tools.get(name)
        return None if tool is None else tool.taken.input_schema()

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Every refusal is an answer that the model can read; only what is no tool at all is an error."""
        tool = self.tools.get(params.name)
        if tool is None:
            known = "; it is offered with --tools all" if params.name in TOOLS else ""
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:100]!r}{known}")
        try:
            taken = tool.taken.read(params.arguments)
            grove = await self._in_thread(lambda: self._grove_of(context))
            caller = ToolCaller(
                grove, self.sessions, self._in_thread, context.session.report_progress, tuple(self.tools)
            )
            return await tool.run(taken, caller)
        except WeftError as error:
            return refused(error)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001 - told to the log; a client gets none of our insides
            raise _failed(f"the tool {params.name}") from None

    async def _listen(
        self, context: Context, params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        try:
            grove = await self._in_thread(lambda: self._grove_of(context))
            return await self.listening.serve(context, params, grove)
        except WeftError as error:
            raise protocol_error(error) from None

    def _answering(self, work: Callable[[Grove, P], R]) -> Callable[[Context, P], Awaitable[R]]:
        """Answers a request with the result of the work for its caller; an error has the protocol's form."""

        async def answer(context: Context, params: P) -> R:
            try:
                return await self._in_thread(lambda: work(self._grove_of(context), params))
            except WeftError as error:
                raise protocol_error(error) from None
            except Exception:  # noqa: BLE001 - logged; a client gets no internals
                raise _failed(context.method) from None

        return answer

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


def _fixed(result: R) -> Callable[[Context, object], Awaitable[R]]:
    """Answers every request with the same."""

    async def answer(context: Context, params: object) -> R:
        del context, params
        return result

    return answer


def _failed(where: str) -> MCPError:
    """Our own mistake: told as such, its insides to the log alone."""
    _log.exception("%s failed", where)
    return MCPError(INTERNAL_ERROR, "internal error in the server")
