"""`Idempotency-Key` on every route that writes: a repeated request gets the first one's answer, and does nothing."""

import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar

import anyio.from_thread
import anyio.to_thread
import orjson
from anyio import CapacityLimiter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from weft.errors import ConflictError, InvalidInputError, NotFoundError
from weft.runtime.coordination.idempotency import KEPT, Idempotency, KeyedState
from weft.runtime.operations.executor import Caller
from weft.server.wire import JsonAnswer, client_of
from weft.store.kept_answers import keep_answer, kept_answer
from weft.store.lookup import find_tree
from weft.store.transaction import GROVE, Transaction
from weft.tree.json import JsonObject, JsonValue

HEADER = "idempotency-key"
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_LONGEST_ANSWER = 1024 * 1024
"""Bytes; a longer one is not kept: the repeated request learns that it was done."""
_PATIENCE = 60.0
"""Seconds for which a repeated request waits for the first one."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class KeyedRoute(APIRoute):
    """A route that does its work once for each key of a user."""

    secret_answers: ClassVar[frozenset[str]] = frozenset({"issueToken"})
    """Operations whose answer is shown once and never kept."""

    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            key = request.headers.get(HEADER)
            if key is None or request.method not in _WRITES:
                return await handler(request)
            return await _once(request, self.operation_id or self.name, key, handler)

        return handle


async def _once(
    request: Request, operation: str, key: str, handler: Callable[[Request], Awaitable[Response]]
) -> Response:
    client = await client_of(request)
    caller = client.grove.caller
    body = await _fingerprint(request)
    answers: list[Response] = []

    async def run() -> Response:
        return await handler(request)

    def work() -> JsonValue:
        response = anyio.from_thread.run(run)
        if isinstance(response, StreamingResponse):
            raise InvalidInputError(
                "an answer that streams cannot be repeated", hint="send background, and follow the run"
            )
        answers.append(response)
        if operation in KeyedRoute.secret_answers or len(response.body) > _LONGEST_ANSWER:
            return None
        return _keep(caller, request, operation, key, response)

    def once() -> Response:
        calls = Idempotency(caller.executor, caller.actor, patience=_PATIENCE)
        outcome = calls.once(operation, key, body, work)
        if not outcome.is_repeated:
            return answers[0]
        if outcome.state is KeyedState.INTERRUPTED:
            raise ConflictError(
                "the first request with this idempotency key was interrupted: it may be done",
                hint="look whether it was done, and use a new key",
            )
        return _repeated(caller, operation, key, outcome.result)

    waiters: CapacityLimiter = request.app.state.waiters
    return await anyio.to_thread.run_sync(once, limiter=waiters)


async def _fingerprint(request: Request) -> JsonObject:
    """What makes two requests the same. A file that is uploaded is not read for it."""
    content = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_file = content in {"multipart/form-data", "application/octet-stream"}
    raw = request.headers.get("content-length", "").encode() if is_file else await request.body()
    return {
        "path": request.url.path,
        "query": request.url.query,
        "body": hashlib.sha256(raw).hexdigest(),
    }


def _scope(caller: Caller, operation: str) -> str:
    return Idempotency(caller.executor, caller.actor).scope_of(operation)


def _keep(caller: Caller, request: Request, operation: str, key: str, response: Response) -> JsonValue:
    """Keep the answer with the tree that it tells of; returns that tree's key."""

    def work(transaction: Transaction) -> int:
        tree = _tree_of(transaction, request, response)
        keep_answer(
            transaction,
            tree=tree,
            scope=_scope(caller, operation),
            key=key,
            status=response.status_code,
            body=bytes(response.body),
            expires_at=caller.executor.clock() + KEPT,
        )
        return tree

    return caller.store.write(work)


def _tree_of(transaction: Transaction, request: Request, response: Response) -> int:
    named = request.path_params.get("tree")
    if named is None and request.url.path == "/api/trees":
        named = orjson.loads(response.body).get("id")
    try:
        return GROVE if named is None else find_tree(transaction, str(named))
    except NotFoundError:
        # It has just been deleted: that is what the answer says.
        return GROVE


def _repeated(caller: Caller, operation: str, key: str, tree: JsonValue) -> Response:
    kept = None
    if isinstance(tree, int):
        with caller.store.read() as session:
            kept = kept_answer(session, tree=tree, scope=_scope(caller, operation), key=key)
    if kept is None:
        raise ConflictError(
            "this was done before with the same idempotency key, and its answer is not kept",
            hint="read the result, or use a new key",
        )
    status, body = kept
    answer = JsonAnswer({}, status_code=status, headers={"Idempotency-Replayed": "true"})
    answer.body = body
    answer.headers["content-length"] = str(len(body))
    return answer
