"""Every operation as a route: its path gives some of the operation's fields, the body the rest."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request

from weft.errors import InvalidInputError
from weft.runtime.operations import (
    access,
    agents,
    approvals,
    attachments,
    cursors,
    documents,
    edits,
    grants,
    metadata,
    nodes,
    projects,
    references,
    settings,
    trees,
)
from weft.runtime.operations.executor import Editing
from weft.runtime.proxy import policy as proxy_policy
from weft.runtime.tools import settings as tool_settings
from weft.runtime.undo.undo import Redo, Undo
from weft.server.idempotency import KeyedRoute
from weft.server.json_fields import fields_of, fields_schema, is_required, read_fields
from weft.server.value_schemas import result_schema
from weft.server.wire import (
    ERRORS,
    LONGEST_ID,
    AuthenticatedClient,
    JsonAnswer,
    answer,
    body_of,
    object_of,
    read_object,
)
from weft.tree.json import JsonObject, JsonValue

router = APIRouter(route_class=KeyedRoute, prefix="/api", tags=["operations"], responses=ERRORS)

_PARAMETER = re.compile(r"{(\w+)}")
_TREE, _NODE = "/trees/{tree}", "/trees/{tree}/nodes/{node}"


def parameters_in(path: str) -> list[str]:
    return _PARAMETER.findall(path)


@dataclass(frozen=True, slots=True)
class OperationRoute:
    """Where an operation is called."""

    method: str
    path: str
    operation: type[Editing]
    result: str = ""
    """The field of the answer that holds the result; default: the result is the answer."""
    example: Mapping[str, JsonValue] | None = None
    without: tuple[str, ...] = ()
    """Fields that a client cannot give."""

    @property
    def parameters(self) -> list[str]:
        return parameters_in(self.path)

    @property
    def name(self) -> str:
        """Unique in the document: the operation, and what it is of if that is not the usual thing."""
        words = self.operation.__name__
        return (
            words[0].lower()
            + words[1:]
            + ("InGrove" if self.operation in {Undo, Redo} and not self.parameters else "")
        )


ROUTES: tuple[OperationRoute, ...] = (
    OperationRoute("PATCH", _TREE, trees.Describe, example={"title": "Marie"}),
    OperationRoute("POST", f"{_TREE}/archive", trees.Archive),
    OperationRoute("POST", f"{_TREE}/unarchive", trees.Unarchive),
    OperationRoute("POST", f"{_TREE}/delete", trees.DeleteTree),
    OperationRoute(
        "PATCH", f"{_TREE}/preferences", settings.PreferInTree, example={"settings": {"truncationStep": 0}}
    ),
    OperationRoute("PUT", f"{_TREE}/project", projects.AssignProject),
    OperationRoute("POST", f"{_TREE}/switch", cursors.Switch, example={"to": "parent"}),
    OperationRoute("PUT", f"{_TREE}/buffer", cursors.TypeText, example={"text": "It was late."}),
    OperationRoute("POST", f"{_TREE}/commit", cursors.CommitBuffer),
    OperationRoute(
        *("POST", f"{_TREE}/nodes", nodes.Append),
        example={"content": "Because of the fog."},
        # Only histories and models bring these.
        without=("response", "choice", "role", "status"),
    ),
    OperationRoute(
        "POST", f"{_TREE}/merge", nodes.Merge, example={"nodes": ["a7x2", "b3k9"], "content": "Both."}
    ),
    OperationRoute("POST", f"{_TREE}/erase", edits.Erase, "nodes"),
    OperationRoute("POST", f"{_TREE}/undo", Undo, "steps"),
    OperationRoute("POST", f"{_TREE}/redo", Redo, "steps"),
    OperationRoute("POST", "/undo", Undo, "steps", without=("tree",)),
    OperationRoute("POST", "/redo", Redo, "steps", without=("tree",)),
    OperationRoute("POST", f"{_NODE}/edit", edits.Edit, example={"content": "Because of the storm."}),
    OperationRoute("POST", f"{_NODE}/annotate", nodes.Annotate, example={"content": "Keep this."}),
    OperationRoute("POST", f"{_NODE}/split", edits.Split, "nodes", {"at": "and"}),
    OperationRoute("POST", f"{_NODE}/join", edits.Join),
    OperationRoute("POST", f"{_NODE}/exclude", metadata.Exclude),
    OperationRoute("POST", f"{_NODE}/include", metadata.Include),
    OperationRoute("POST", f"{_NODE}/bookmark", metadata.Bookmark, example={"label": "her voice"}),
    OperationRoute("POST", f"{_NODE}/unbookmark", metadata.Unbookmark),
    OperationRoute("POST", f"{_NODE}/prune", metadata.Prune, "count"),
    OperationRoute("POST", f"{_NODE}/restore", metadata.Restore, "count"),
    OperationRoute("POST", f"{_NODE}/attach", attachments.Attach),
    OperationRoute("POST", f"{_NODE}/detach", attachments.Detach),
    OperationRoute("POST", "/links", references.LinkTogether),
    OperationRoute("POST", "/links/remove", references.Unlink),
    OperationRoute("POST", "/tags", references.TagTarget),
    OperationRoute("POST", "/tags/remove", references.Untag),
    OperationRoute("POST", "/documents", documents.CreateDocument, example={"title": "Harbour notes"}),
    OperationRoute(
        "PUT", "/documents/{document}", documents.SaveDocument, example={"revision": 1, "content": "Fog."}
    ),
    OperationRoute("POST", "/documents/{document}/archive", documents.ArchiveDocument),
    OperationRoute("POST", "/documents/{document}/delete", documents.DeleteDocument),
    OperationRoute("POST", "/projects", projects.CreateProject, example={"name": "Harbour"}),
    OperationRoute("PUT", "/projects/{project}", projects.ChangeProject),
    OperationRoute("POST", "/projects/{project}/archive", projects.ArchiveProject),
    OperationRoute("POST", "/vaults", projects.MountVault),
    OperationRoute("POST", "/vaults/{vault}/unmount", projects.UnmountVault),
    OperationRoute("POST", "/agents", agents.AddAgent, example={"name": "Ada", "type": "human"}),
    OperationRoute("PATCH", "/agents/{agent}", agents.ChangeAgent),
    OperationRoute("POST", "/agents/{agent}/archive", agents.ArchiveAgent),
    OperationRoute("PATCH", "/preferences", settings.Prefer, example={"settings": {"truncationStep": 0}}),
    OperationRoute("PUT", "/tools/{tool}/policy", tool_settings.SetToolPolicy, example={"policy": "deny"}),
    OperationRoute("PUT", "/tool-urls", tool_settings.SetUrlAccess, example={"urls": "public"}),
    OperationRoute("POST", "/approvals/{approval}/allow", approvals.AllowApproval),
    OperationRoute("POST", "/approvals/{approval}/deny", approvals.DenyApproval),
    OperationRoute(
        *("PUT", f"{_TREE}/grants", grants.Grant, "grants"),
        example={"agent": "Ada", "subject": "tool", "name": "files.write"},
    ),
    OperationRoute("POST", "/calibrations", settings.Calibrate),
    OperationRoute("POST", "/users/{user}/archive", access.ArchiveUser),
    OperationRoute("PUT", "/users/{user}/role", access.SetRole, example={"role": "editor"}),
    OperationRoute("POST", "/tokens/{token}/revoke", access.RevokeToken),
    OperationRoute("PUT", "/tokens/{token}/policy", proxy_policy.SetProxyPolicy, example={"policy": "fit"}),
)


def path_values(request: Request) -> dict[str, str]:
    """What the path names."""
    return {name: str(value) for name, value in request.path_params.items()}


def whole_number(text: str, name: str) -> int:
    """A number in a path."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidInputError(f"{name} must be a whole number", path=name)
    return int(text)


def path_parameters(names: list[str]) -> list[dict[str, Any]]:
    """The parameters of a path for the document."""
    schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in names]


def _add(route: OperationRoute) -> None:
    kind = route.operation
    taken = {*route.parameters, *route.without}
    own = [each for each in fields_of(kind) if each.name not in taken]

    async def endpoint(request: Request, client: AuthenticatedClient) -> JsonAnswer:
        given = path_values(request)
        body = _with_revision(request, kind, await read_object(request))

        def work() -> object:
            result = client.grove.perform(read_fields(kind, body, given, route.without))
            if route.result:
                return {route.result: result}
            return {} if result is None else result

        return await answer(request, work)

    described = body_of(fields_schema(kind, taken), route.example)
    described["requestBody"]["required"] = any(map(is_required, own))
    answers = result_schema(kind)
    if route.result:
        answers = object_of(route.result, **{route.result: answers})
    router.add_api_route(
        route.path,
        endpoint,
        methods=[route.method],
        operation_id=route.name,
        summary=_summary(kind),
        description=kind.__doc__ or "",
        responses={200: {"description": "Done.", "content": {"application/json": {"schema": answers}}}},
        openapi_extra={"parameters": path_parameters(route.parameters), **described},
    )


def _with_revision(request: Request, kind: type[Editing], body: JsonObject) -> JsonObject:
    """`If-Match` names the revision that a change started from, as the field `revision` does."""
    match = request.headers.get("if-match")
    if match is None or not any(each.name == "revision" for each in fields_of(kind)):
        return body
    revision = match.strip().removeprefix("W/").strip('"')
    if not revision.isascii() or not revision.isdigit() or len(revision) > 9:
        raise InvalidInputError("If-Match must be the ETag of a revision", path="If-Match")
    if body.get("revision", int(revision)) != int(revision):
        raise InvalidInputError("If-Match and revision differ", path="revision")
    return {**body, "revision": int(revision)}


def _summary(kind: type[Editing]) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()
    return words[0].upper() + words[1:]


for _route in ROUTES:
    _add(_route)
