"""Telling a client that something it listens to has changed: the grove's own events, as it may see them."""

from collections.abc import Iterable

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from weft.errors import LimitExceededError
from weft.grove.grove import Grove
from weft.mcp_server.resources import ResourceAddress, document_at, parse_uri
from weft.mcp_server.results import protocol_error
from weft.runtime.events.log import Event
from weft.runtime.events.subscription import Subscription
from weft.tree.event_kinds import LISTING_KINDS, STEP_KINDS

MOST_STREAMS = 100
_MOST_ADDRESSES = 1_000


class Subscriptions:
    """Streams of changes, each for one caller, with what it may see."""

    def __init__(self) -> None:
        self._open: set[ListenHandler] = set()

    async def serve(
        self,
        context: ServerRequestContext,
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
        following = await anyio.to_thread.run_sync(_follow, grove, [each for _, each in addresses])
        bus = InMemorySubscriptionBus()
        stream = ListenHandler(bus)
        self._open.add(stream)
        told: list[SubscriptionsListenResult] = []
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_publish, following, bus, addresses)
                told.append(await stream(context, params))
                tasks.cancel_scope.cancel()
            return told[0]
        finally:
            self._open.discard(stream)
            following.close()

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
    following: Subscription, bus: InMemorySubscriptionBus, addresses: list[tuple[str, ResourceAddress]]
) -> None:
    async for batch in following.batches():
        for told in dict.fromkeys(each for event in batch for each in _told(event, addresses)):
            await bus.publish(told)


def _told(event: Event, addresses: list[tuple[str, ResourceAddress]]) -> list[ServerEvent]:
    document = event.payload.get("document")
    changed = event.tree_id or (document if isinstance(document, str) else event.payload.get("tree"))
    told: list[ServerEvent] = [ResourceUpdated(uri) for uri, each in addresses if each.id == changed]
    if event.kind in LISTING_KINDS or (event.tree_id is None and event.kind in STEP_KINDS):
        told.append(ResourcesListChanged())
    return told


def _too_many(message: str) -> MCPError:
    return protocol_error(LimitExceededError(message, hint="end a stream that is not needed"))
