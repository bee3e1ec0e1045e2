"""The context proxy: the interfaces of OpenAI and Anthropic, forwarded and recorded."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio
from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from weft.errors import InvalidInputError, NotFoundError, WeftError
from weft.log import Log
from weft.providers.events import WireHead
from weft.runtime.operations.executor import Caller
from weft.runtime.proxy.admission import (
    AdmittedRequest,
    IncomingRequest,
    ProxyToken,
    admit_request,
    cost_of,
    profile_of,
)
from weft.runtime.proxy.exchange import Exchange
from weft.runtime.proxy.fitting import fit_request, plain_manifest, prompt_limit
from weft.runtime.proxy.model_list import model_list
from weft.runtime.proxy.policy import ProxyMode
from weft.runtime.proxy.recorder import Recorder
from weft.runtime.proxy.recording import StartedExchange, StartExchange
from weft.runtime.proxy.upstream import Upstreams, answer_headers, request_headers
from weft.runtime.proxy.wires import Wire, WireError
from weft.server.auth import Authenticator, Client, token_in
from weft.server.proxy_errors import PREFIX, error_answer
from weft.server.wire import JsonAnswer, address_of
from weft.server.worker_threads import in_thread

if TYPE_CHECKING:
    import httpx2

router = APIRouter(prefix=PREFIX, tags=["proxy"], include_in_schema=False)
_LONGEST_NAME = 500
_log = Log("weft.server")
bases = APIRouter(tags=["proxy"], include_in_schema=False)


@dataclass(frozen=True, slots=True)
class ProxyService:
    """What the routes of the proxy share for as long as the server runs."""

    upstreams: Upstreams = field(default_factory=Upstreams)
    recorder: Recorder = field(default_factory=Recorder)


def proxy_token(request: Request) -> str:
    """The client's token: Anthropic's clients send it as x-api-key."""
    own = request.headers.get("x-api-key", "").strip()
    return own or token_in(request)


async def _forward(request: Request, wire: Wire) -> Response:
    began = time.perf_counter_ns()
    service: ProxyService = request.app.state.proxy
    service.recorder.begin_forwarding()
    try:
        # Before the body is read: a stranger's is not.
        client = await in_thread(request, lambda: _client(request))
        incoming = IncomingRequest(
            wire=wire,
            headers={name.lower(): value for name, value in request.headers.items()},
            data=await request.body(),
            query=request.url.query,
        )
        caller, admitted = await in_thread(request, lambda: _admit(client, service, incoming))
        call = _Call(service, caller, admitted, began)
        match admitted.policy.mode:
            case ProxyMode.STRICT:
                await in_thread(request, call.record_request)
            case ProxyMode.FIT:
                await in_thread(request, call.fit)
            case ProxyMode.RECORD:
                pass
        return await call.answer()
    except WeftError as error:
        return error_answer(wire, error)
    finally:
        service.recorder.end_forwarding()


def _client(request: Request) -> Client:
    authenticator: Authenticator = request.app.state.authenticator
    return authenticator.client(proxy_token(request), address_of(request))


def _admit(
    client: Client, service: ProxyService, incoming: IncomingRequest
) -> tuple[Caller, AdmittedRequest]:
    token = ProxyToken(key=client.token_key, id=client.token_id)
    caller = client.grove.caller
    return caller, admit_request(caller, token, service.upstreams, incoming)


class _Call:
    """One request on its way to the upstream, and its answer on the way back."""

    def __init__(self, service: ProxyService, caller: Caller, admitted: AdmittedRequest, began: int) -> None:
        self.service = service
        self.caller = caller
        self.admitted = admitted
        self.began = began
        self.sent = admitted.to_send()
        self.changes: tuple[str, ...] = ("model",) if admitted.upstream.is_renamed else ()
        self.manifest = b""
        self.started: StartedExchange | None = None
        self.parts: list[bytes] = []
        self.head: WireHead | None = None
        self.upstream_time = 0
        self.first_byte: int | None = None
        self.first_byte_added = 0
        self._is_recorded = False

    def record_request(self) -> None:
        """Write the request down before it is forwarded."""
        self.started = self.caller.perform(StartExchange(exchange=self.exchange()))

    def fit(self) -> None:
        """Have the engine fit the request."""
        admitted = self.admitted
        profile = profile_of(self.caller, admitted.upstream)
        body = dict(admitted.body) | {"model": admitted.upstream.model}
        fitted = fit_request(
            admitted.wire,
            body,
            self.sent,
            profile,
            limit=prompt_limit(profile, body, admitted.policy.window),
            cache_key=admitted.cache_key,
        )
        self.sent, self.manifest = fitted.body, fitted.manifest
        self.changes = (*self.changes, *fitted.changes)

    async def answer(self) -> Response:
        """Forward the request; the answer passes its bytes on as they come."""
        admitted, upstream = self.admitted, self.admitted.upstream
        client = self.service.upstreams.client(upstream, admitted.key)
        incoming = admitted.incoming
        url = upstream.url(incoming.wire) + (f"?{incoming.query}" if incoming.query else "")
        headers = request_headers(incoming.headers, incoming.wire, upstream, admitted.key)
        sent_at = time.perf_counter_ns()
        try:
            response = await client.send(
                client.build_request("POST", url, content=self.sent, headers=headers), stream=True
            )
        except Exception as error:  # noqa: BLE001 - every error of a connection is mapped
            failure = _failure(upstream.provider, error)
            self.record(failure.message)
            raise failure from None
        except asyncio.CancelledError:
            self.record("the client left before the answer")
            raise
        self.upstream_time = time.perf_counter_ns() - sent_at
        self.head = WireHead(status=response.status_code, headers=tuple(response.headers.raw))
        return _Answer(self, response)

    @property
    def added(self) -> int:
        """Microseconds of our own so far."""
        return max(0, time.perf_counter_ns() - self.began - self.upstream_time) // 1_000

    def exchange(self, error: str = "") -> Exchange:
        admitted, head = self.admitted, self.head
        media = "" if head is None else head.header("content-type") or ""
        return Exchange(
            wire=admitted.wire,
            signs=admitted.signs,
            token=admitted.token.key,
            attempt=admitted.attempt,
            provider=admitted.upstream.provider,
            model=admitted.upstream.model,
            policy=admitted.policy.mode.value,
            received=admitted.incoming.data,
            sent=self.sent,
            manifest=self.manifest or plain_manifest(self.sent, ", ".join(self.changes)),
            changed=", ".join(self.changes),
            requested_at=admitted.requested_at,
            responded_at=None if head is None else datetime.now(UTC),
            status=None if head is None else head.status,
            request_id=None if head is None else head.header(admitted.wire.request_id),
            is_stream="event-stream" in media,
            head=b"" if head is None else bytes(head),
            body=b"".join(self.parts),
            error=error,
            added=self.first_byte_added,
            first_byte=self.first_byte,
        )

    def note_first_byte(self) -> None:
        self.first_byte_added = self.added
        self.first_byte = (time.perf_counter_ns() - self.began) // 1_000

    def record(self, error: str = "") -> None:
        """Have the exchange recorded, once."""
        if self._is_recorded:
            return
        self._is_recorded = True
        caller, admitted = self.caller, self.admitted
        self.service.recorder.submit(
            caller, self.exchange(error), lambda exchange: cost_of(caller, admitted, exchange), self.started
        )


def _failure(provider: str, error: Exception) -> WeftError:
    from weft.providers.errors import find_own, from_connection  # noqa: PLC0415 - only on failure

    return find_own(error) or from_connection(provider, error, key=None, read_timeout=None)


class _Answer(Response):
    """Passes an upstream's answer on, byte for byte, and has it recorded."""

    def __init__(self, call: _Call, response: "httpx2.Response") -> None:
        super().__init__(status_code=response.status_code)
        self.call = call
        self.response = response
        self.body = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope

        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                """Stop when the client is gone: the rest would not be read, and costs money."""
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.call.record("the client left")
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self._pass_on(send)
            tasks.cancel_scope.cancel()

    async def _pass_on(self, send: Send) -> None:
        call, response = self.call, self.response
        error = ""
        try:
            await send(
                {"type": "http.response.start", "status": response.status_code, "headers": self._headers()}
            )
            call.note_first_byte()
            async for data in response.aiter_raw():
                call.parts.append(data)
                await send({"type": "http.response.body", "body": data, "more_body": True})
        except (OSError, ClientDisconnect):
            error = "the client left"
        except Exception as failure:  # noqa: BLE001 - what came is kept; the broken stream is the client's sign
            error = _failure(call.admitted.upstream.provider, failure).message
        finally:
            call.record(error)
            with anyio.CancelScope(shield=True):
                await response.aclose()
        if error:
            # The connection ends without its last chunk, so that the client sees that something is missing.
            _log.info("an answer broke off", provider=call.admitted.upstream.provider, error=error)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _headers(self) -> list[tuple[bytes, bytes]]:
        call = self.call
        passed = answer_headers(dict(self.response.headers.items()))
        passed |= {
            "weft-added-ms": f"{call.added / 1_000:.2f}",
            "weft-policy": call.admitted.policy.mode.value,
            "weft-attempt": call.admitted.attempt,
            "x-accel-buffering": "no",
        }
        if call.changes:
            passed["weft-changed"] = ", ".join(call.changes)
        if call.service.recorder.failed:
            passed["weft-not-recorded"] = str(call.service.recorder.failed)
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in passed.items()]


def _add(wire: Wire) -> None:
    async def endpoint(request: Request) -> Response:
        return await _forward(request, wire)

    router.add_api_route(f"/{wire.path}", endpoint, methods=["POST"], name=f"proxy_{wire.value}")


for _wire in Wire:
    _add(_wire)


@router.get("/responses")
async def upgrade(request: Request) -> Response:
    """There is no WebSocket: clients that try one first go on over HTTP at once."""
    try:
        await _authenticate(request)
    except WeftError as refused:
        return error_answer(Wire.RESPONSES, refused)
    error = WireError(status=426, message="Weft: use HTTP", code="UPGRADE")
    answer = error_answer(Wire.RESPONSES, error)
    answer.headers["upgrade"] = "HTTP/1.1"
    answer.headers["connection"] = "Upgrade"
    return answer


@router.get("/models")
async def models(request: Request) -> Response:
    """The models of all upstreams that have a key, in one object with the list shapes of both vendors."""
    try:
        return JsonAnswer(await _models(request))
    except WeftError as error:
        return error_answer(None, error)


@router.get("/models/{model:path}")
async def model(request: Request, model: str) -> Response:
    """One model of the list."""
    try:
        await _authenticate(request)
        if len(model) > _LONGEST_NAME:
            raise InvalidInputError(f"a model's name has at most {_LONGEST_NAME} characters", path="model")
        listed = await _models(request)
        for each in listed["data"]:
            if each["id"] == model:
                return JsonAnswer(each)
        raise NotFoundError(f"no model {model[:200]!r}")
    except WeftError as error:
        return error_answer(None, error)


async def _authenticate(request: Request) -> None:
    authenticator: Authenticator = request.app.state.authenticator
    token = proxy_token(request)
    await in_thread(request, lambda: authenticator.client(token, address_of(request)))


async def _models(request: Request) -> dict[str, Any]:
    service: ProxyService = request.app.state.proxy
    await _authenticate(request)
    return await model_list(service.upstreams)


@bases.head("/")
@bases.head("/v1")
async def base() -> Response:
    """Clients try whether anything answers at their base address, without a token."""
    return Response(status_code=204)
