"""Imports: upload a file, follow how far it is, read the report, stop it."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import anyio
from fastapi import APIRouter
from fastapi import Path as PathParameter
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request

from weft.argument_checks import Options, option
from weft.errors import InvalidInputError
from weft.grove.grove import Grove
from weft.runtime.transfer.import_jobs import ImportOptions, new_upload
from weft.server.auth import ServerSettings
from weft.server.idempotency import KeyedRoute
from weft.server.query import query_of, read_query
from weft.server.wire import ERRORS, AuthenticatedClient, JsonAnswer, answer, operation
from weft.server.worker_threads import in_thread

router = APIRouter(route_class=KeyedRoute, prefix="/api/imports", tags=["imports"], responses=ERRORS)

_PIECE = 1024 * 1024
_FIELDS = {
    **dict.fromkeys(("id", "name", "status"), "string"),
    **dict.fromkeys(("bytes", "done", "total", "imported", "refused", "nodes", "newNodes"), "integer"),
    **dict.fromkeys(("newTrees", "changedTrees", "unchangedTrees", "keysFound"), "integer"),
    **dict.fromkeys(("kept", "lost", "keys", "refusedConversations", "latest", "largest"), "array"),
    **dict.fromkeys(("dryRun", "strict"), "boolean"),
    "formats": "array",
}
_BODY = {
    "required": True,
    "content": {
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        "multipart/form-data": {
            "schema": {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}}
        },
    },
}
_ANSWER = operation("readImport", "Read the report of an import", "How far it is, and its report.", **_FIELDS)
ImportId = Annotated[str, PathParameter(min_length=1, max_length=100, description="The import's id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPage(Options):
    """Which conversations of an import."""

    first: int = option(0, "How many conversations to pass over.", least=0)
    limit: int = option(100, "How many conversations, at most.", least=1, most=1_000)


@router.post(
    "",
    status_code=202,
    operation_id="startImport",
    summary="Import a file",
    responses={202: _ANSWER["responses"][200]},
    openapi_extra={**query_of(ImportOptions), "requestBody": _BODY},
)
async def start_import(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    """The file as the body, or as the one file of a form: a file of weft export, or of another program, or a zip.

    It is imported in the background. Each conversation is imported whole or not at all.
    """
    options = read_query(request, ImportOptions)
    settings: ServerSettings = request.app.state.settings
    declared = request.headers.get("content-length")
    size = int(declared) if declared is not None else None
    grove = client.grove
    await in_thread(request, grove.imports.require_permission)
    upload = await in_thread(request, lambda: new_upload(grove.caller.store, size, settings.upload_limit))
    try:
        async with contextlib.aclosing(_pieces(request)) as pieces:
            name = await _written(pieces, upload)
        named = replace(options, name=options.name or name)
        report = await in_thread(request, lambda: grove.imports.start(upload, named))
    except BaseException as error:
        # What is not whole is not imported.
        upload.unlink(missing_ok=True)
        if isinstance(error, ClientDisconnect):
            raise InvalidInputError("the upload ended too early") from None
        raise
    return JsonAnswer(report, status_code=202, headers={"Location": f"/api/imports/{report['id']}"})


async def _pieces(request: Request) -> AsyncGenerator[bytes | str]:
    """The bytes of the file; the name of a form's file comes first."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        async for piece in request.stream():
            yield piece
        return
    async with request.form(max_files=1, max_fields=8) as form:
        files = [value for value in form.values() if isinstance(value, UploadFile)]
        if len(files) != 1:
            raise InvalidInputError("the form must have one file", path="file")
        yield files[0].filename or ""
        while piece := await files[0].read(_PIECE):
            yield piece


async def _written(pieces: AsyncGenerator[bytes | str], path: Path) -> str:
    """Write the pieces to a file; returns the file's own name."""
    name, total = "", 0
    async with await anyio.open_file(path, "wb") as file:
        async for piece in pieces:
            if isinstance(piece, str):
                name = piece[:500]
            else:
                total += len(piece)
                await file.write(piece)
    if not total:
        raise InvalidInputError("the file is empty", hint="send it as the body of the request")
    return name


def _listed(grove: Grove) -> object:
    return {"imports": grove.imports.all()}


@router.get("", **operation("listImports", "List imports", "Imports, the latest first.", imports="array"))
async def list_imports(request: Request, client: AuthenticatedClient) -> JsonAnswer:
    return await answer(request, lambda: _listed(client.grove))


@router.get(
    "/{name}",
    **_ANSWER,
)
async def read_import(request: Request, client: AuthenticatedClient, name: ImportId) -> JsonAnswer:
    return await answer(request, lambda: client.grove.imports.report(name))


@router.get(
    "/{name}/conversations",
    **operation(
        "listImportedConversations",
        "List the conversations of an import",
        "What became of each, in the order of the file.",
        conversations="array",
    ),
    openapi_extra=query_of(ImportPage),
)
async def list_conversations(request: Request, client: AuthenticatedClient, name: ImportId) -> JsonAnswer:
    page = read_query(request, ImportPage)

    def work() -> object:
        return {"conversations": client.grove.imports.conversations(name, page.first, page.limit)}

    return await answer(request, work)


@router.post(
    "/{name}/stop",
    **operation("stopImport", "Stop an import", "It stops after the conversation being written.", **_FIELDS),
)
async def stop_import(request: Request, client: AuthenticatedClient, name: ImportId) -> JsonAnswer:
    return await answer(request, lambda: client.grove.imports.stop(name))
