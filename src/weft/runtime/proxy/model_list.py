"""The models of all upstreams, as one list that the clients of both vendors read."""

import asyncio
from datetime import UTC, datetime
from typing import Any, cast

from weft.errors import WeftError
from weft.interop.loose_json import first_text, loads, mapping, sequence
from weft.log import Log
from weft.runtime.proxy.upstream import Upstream, Upstreams
from weft.tree.json import JsonObject

_SECONDS = 10
_MOST = 1_000
_log = Log(__name__)


async def model_list(upstreams: Upstreams) -> dict[str, Any]:
    """One object with both list shapes; an upstream that does not answer is left out."""
    found = await asyncio.to_thread(upstreams.vendors)
    lists = await asyncio.gather(*(_listed(upstreams, each) for each in found))
    items = [item for each in lists for item in each]
    unique = list({item["id"]: item for item in items}.values())
    return {
        "object": "list",
        "data": unique,
        "has_more": False,
        "first_id": unique[0]["id"] if unique else None,
        "last_id": unique[-1]["id"] if unique else None,
    }


async def _listed(upstreams: Upstreams, upstream: Upstream) -> list[dict[str, Any]]:
    try:
        async with asyncio.timeout(_SECONDS):
            key = await asyncio.to_thread(upstream.connection.key)
            secret = "" if key is None else key.reveal()
            own = {"x-api-key": secret, "anthropic-version": "2023-06-01"}
            headers = own if upstream.provider == "anthropic" else {"authorization": f"Bearer {secret}"}
            response = await upstreams.client(upstream, key).get(upstream.models_url, headers=headers)
            listed = sequence(mapping(loads(response.content)).get("data"))
    except (WeftError, OSError, TimeoutError) as error:
        _log.warning("no list of models", provider=upstream.provider, error=str(error))
        return []
    except Exception as error:  # noqa: BLE001 - whatever one upstream's connection raises, the others are listed
        _log.warning("no list of models", provider=upstream.provider, error=type(error).__name__)
        return []
    prefix = "" if upstream.provider in {"anthropic", "openai"} else f"{upstream.provider}/"
    rows = [mapping(each) for each in listed[:_MOST]]
    return [_item(row, prefix, upstream.provider) for row in rows if first_text(row, "id")]


def _item(row: JsonObject, prefix: str, provider: str) -> dict[str, Any]:
    name = prefix + first_text(row, "id")
    created = row.get("created")
    seconds = created if isinstance(created, int) else 0
    moment = first_text(row, "created_at") or datetime.fromtimestamp(seconds, UTC).isoformat()
    return {
        **cast("dict[str, Any]", row),
        "id": name,
        "type": "model",
        "object": "model",
        "display_name": first_text(row, "display_name", "name") or name,
        "created": seconds,
        "created_at": moment,
        "owned_by": first_text(row, "owned_by") or provider,
    }
