"""The records of a file, each described once: the exporter writes by it, the importer reads by it."""

import json
import math
from typing import Any, cast

import orjson

from weft.errors import InvalidInputError
from weft.runtime.operations.references import KINDS as TARGET_KINDS
from weft.runtime.transfer.checked_fields import (
    COUNT,
    DATA,
    DIGEST,
    EVENT_NUMBER,
    FLAG,
    HEX_DIGEST,
    LARGE_COUNT,
    NAME,
    OBJECT,
    TEXT,
    TIME,
    ULID,
    Field,
    FieldType,
    RecordReference,
    RecordSpec,
    Row,
    choice,
    count,
    list_of,
    one_of,
    optional,
    read_list,
    text,
)
from weft.store import schema
from weft.store.rows import (
    AGENT_TYPES,
    EDGE_TYPES,
    MODES,
    OUTCOMES,
    ROLES,
    SOURCE_ROLES,
    STATUSES,
    permission_bits,
    permissions_from,
)
from weft.store.schema.records import PLACE
from weft.tree.agent import parse_permissions
from weft.tree.citation import CITATION_LIMIT
from weft.tree.content import Content, check_content, content_from_wire, content_to_wire
from weft.tree.json import JsonValue
from weft.tree.record import ID_LIMIT, NAME_LIMIT
from weft.tree.reference import ProjectItem, ProjectItemKind, check_items, items_to_wire

_PROJECT_ITEM_KINDS: tuple[ProjectItemKind, ...] = tuple(ProjectItemKind)


def _read_permissions(value: JsonValue, name: str) -> int:
    return permission_bits(parse_permissions(str(item) for item in read_list(value, name, 100)))


def _read_project_context(value: JsonValue, name: str) -> str:
    items = [
        ProjectItem(_PROJECT_ITEM_KINDS[int(item["kind"])], item["reference"])
        for item in cast("list[Row]", _PROJECT_ITEMS.read(value, name))
    ]
    return orjson.dumps(items_to_wire(check_items(items))).decode()


def _read_content(value: JsonValue, name: str) -> Content:
    content = content_from_wire(value, path=name)
    check_content(content)
    if content_to_wire(content) != value:
        raise InvalidInputError(f"{name} has an unknown value")
    return content


def _read_digests(value: JsonValue, name: str) -> list[bytes]:
    return [
        DIGEST.read(item, f"{name}[{index}]") for index, item in enumerate(read_list(value, name, 1_000_000))
    ]


def _read_number(value: JsonValue, name: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidInputError(f"{name} must be a number")
    return float(value)


def _read_json(value: JsonValue, name: str) -> str:
    document = TEXT.read(value, name)
    try:
        parsed: Any = json.loads(document)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise InvalidInputError(f"{name} must be a JSON object")
    return document


_PROJECT_ITEMS = list_of(
    RecordSpec("", Field("kind", choice(_PROJECT_ITEM_KINDS)), Field("reference", TEXT)), limit=10_000
)
_PROJECT_CONTEXT = FieldType(_read_project_context, orjson.loads)
_PERMISSIONS = FieldType(
    _read_permissions, lambda bits: sorted(permission.value for permission in permissions_from(bits))
)
_CONTENT = FieldType(_read_content, content_to_wire)
_DIGESTS = FieldType(_read_digests, lambda digests: [digest.hex() for digest in digests])
_NUMBER = FieldType(_read_number)
_JSON = FieldType(_read_json)
_NODE_COUNT = count(10_000_000)
_PLACE_NAME = text(ID_LIMIT)

_ID = Field("id", ULID, "ulid")
_CREATED = Field("createdAt", TIME)
_UPDATED = Field("updatedAt", TIME)
_ARCHIVED = optional("archivedAt", TIME)
_REMOVED = optional("removedAt", TIME, "removed")
_HIDDEN = optional("hidden", EVENT_NUMBER)
_AGENT_ID = Field("agentId", RecordReference.AGENT, "agent")
_AUTHOR_ID = Field("authorId", RecordReference.AGENT, "author")

GROVE = RecordSpec(
    "grove",
    _ID,
    Field("ownerId", ULID),
    Field("preferences", OBJECT),
    _CREATED,
    _UPDATED,
    Field("events", LARGE_COUNT),
    optional("head", DIGEST),
    table=schema.grove,
)
AGENT = RecordSpec(
    "agent",
    _ID,
    Field("name", text(200)),
    Field("type", choice(AGENT_TYPES)),
    optional("modelRef", text(300)),
    Field("configuration", OBJECT),
    Field("permissions", _PERMISSIONS),
    _CREATED,
    _ARCHIVED,
    _HIDDEN,
    table=schema.agents,
    unique=("ulid",),
)
PROJECT = RecordSpec(
    "project",
    _ID,
    Field("name", NAME),
    Field("systemPrompt", TEXT),
    Field("context", _PROJECT_CONTEXT),
    Field("revision", COUNT),
    _CREATED,
    _ARCHIVED,
    _HIDDEN,
    table=schema.projects,
    unique=("ulid",),
)
PROJECT_REVISION = RecordSpec(
    "projectRevision",
    Field("revision", COUNT),
    Field("name", NAME),
    Field("systemPrompt", TEXT),
    Field("context", _PROJECT_CONTEXT),
    _AUTHOR_ID,
    _CREATED,
    _HIDDEN,
    table=schema.project_revisions,
    order=("project", "revision"),
)
EVENT = RecordSpec(
    "event",
    Field("kind", text(100)),
    _AGENT_ID,
    Field("payload", OBJECT),
    Field("inverse", OBJECT),
    _CREATED,
    Field("hash", DIGEST),
    table=schema.events,
    order=("ordinal",),
)
TIMESTAMP = RecordSpec(
    "timestamp",
    _ID,
    Field("target", ULID),
    optional("statement", TEXT),
    Field("digest", DIGEST),
    Field("authority", NAME),
    Field("status", count(2)),
    optional("token", DATA),
    optional("certificates", DATA),
    optional("certifiedAt", TIME),
    Field("attempts", COUNT),
    optional("nextTry", TIME),
    optional("error", TEXT),
    _CREATED,
    table=schema.timestamps,
    unique=("ulid",),
)
DOCUMENT = RecordSpec(
    "document",
    _ID,
    Field("title", NAME),
    optional("summary", TEXT),
    Field("revision", COUNT),
    Field("revisions", COUNT, "revision_count"),
    _CREATED,
    _UPDATED,
    _ARCHIVED,
    _HIDDEN,
    table=schema.documents,
    unique=("ulid",),
)
DOCUMENT_REVISION = RecordSpec(
    "revision",
    Field("revision", COUNT),
    Field("title", NAME),
    Field("content", TEXT),
    _AUTHOR_ID,
    _CREATED,
    _HIDDEN,
    table=schema.revisions,
    order=("document", "revision"),
)
TREE = RecordSpec(
    "tree",
    _ID,
    Field("title", NAME),
    Field("description", TEXT, default=""),
    optional("summary", TEXT),
    Field("mode", choice(MODES)),
    Field("systemContext", TEXT, default=""),
    Field("bufferModeSystemContext", FLAG, default=False),
    Field("preferences", OBJECT),
    optional("projectId", RecordReference.PROJECT, "project"),
    _CREATED,
    _UPDATED,
    _ARCHIVED,
    _HIDDEN,
    Field("nodes", _NODE_COUNT, "node_count"),
    Field("responses", _NODE_COUNT, "response_count"),
    Field("attempts", _NODE_COUNT, "attempt_count"),
    Field("events", LARGE_COUNT),
    optional("head", DIGEST),
    table=schema.trees,
    unique=("ulid",),
)

BODY = RecordSpec(
    "body",
    Field("sha256", HEX_DIGEST),
    Field("size", LARGE_COUNT),
    Field("offset", LARGE_COUNT, default=0),
    Field("data", DATA),
)
BLOB = RecordSpec(
    "blob",
    Field("sha256", HEX_DIGEST),
    optional("size", LARGE_COUNT),
    Field("offset", LARGE_COUNT, default=0),
    optional("data", DATA),
    Field("missing", FLAG, default=False),
)
RESPONSE = RecordSpec(
    "response",
    Field("sha256", DIGEST),
    Field("provider", NAME),
    Field("model", NAME),
    optional("requestId", NAME),
    optional("statusCode", COUNT),
    optional("requestedAt", TIME),
    optional("respondedAt", TIME),
    optional("promptTokens", COUNT),
    optional("completionTokens", COUNT),
    optional("totalTokens", COUNT),
    optional("cachedRead", COUNT),
    optional("cachedWrite", COUNT),
    table=schema.responses,
    order=("key",),
)
_SOURCE = RecordSpec("", Field("id", ULID), Field("role", choice(SOURCE_ROLES)), Field("hash", DIGEST))
_ITEM = RecordSpec(
    "",
    Field("id", text(4_096)),
    Field("type", text(64)),
    Field("sha256", DIGEST),
    Field("recoverable", FLAG, default=True),
    optional("about", text(200_000)),
    optional("attachedBy", EVENT_NUMBER),
    optional("detachedBy", EVENT_NUMBER),
)
_CITATION = RecordSpec(
    "",
    Field("number", COUNT),
    optional("source", text(10_000)),
    Field("title", text(10_000), default=""),
    Field("start", COUNT),
    Field("end", COUNT),
)
NODE = RecordSpec(
    "node",
    _ID,
    Field("localId", text(10_000)),
    optional("versionOf", RecordReference.NODE),
    optional("edgeType", choice(EDGE_TYPES)),
    Field("sources", list_of(_SOURCE, limit=256), default=()),
    optional("editedFrom", RecordReference.NODE),
    _AUTHOR_ID,
    Field("role", choice(ROLES)),
    Field("status", choice(STATUSES)),
    Field("content", _CONTENT),
    optional("summary", TEXT),
    Field("attachments", list_of(_ITEM, limit=10_000), default=()),
    Field("citations", list_of(_CITATION, limit=CITATION_LIMIT), default=()),
    optional("response", RecordReference.RESPONSE),
    optional("choice", COUNT),
    _CREATED,
    Field("excluded", FLAG, default=False),
    Field("bookmarked", FLAG, default=False),
    optional("bookmarkLabel", text(500)),
    Field("joined", FLAG, default=False),
    optional("pruned", EVENT_NUMBER),
    _HIDDEN,
    Field("contentHash", DIGEST, "hash"),
    table=schema.nodes,
    order=("key",),
)
ATTEMPT = RecordSpec(
    "attempt",
    _ID,
    _AGENT_ID,
    Field("parent", RecordReference.NODE),
    Field("outcome", choice(OUTCOMES)),
    optional("idempotencyKey", NAME),
    optional("request", DIGEST),
    Field("segments", _DIGESTS, default=()),
    optional("manifestSha256", DIGEST, "manifest_digest"),
    optional("manifest", DATA),
    optional("response", RecordReference.RESPONSE),
    optional("partial", DATA),
    optional("error", TEXT),
    Field("startedAt", TIME),
    optional("endedAt", TIME),
    table=schema.attempts,
    unique=("ulid",),
    order=("key",),
)
ENVELOPE = RecordSpec(
    "envelope",
    Field("node", RecordReference.NODE),
    Field("ordinal", COUNT),
    _AGENT_ID,
    Field("provider", NAME),
    optional("attempt", ULID),
    Field("legacy", FLAG, default=False),
    Field("sha256", DIGEST),
    Field("data", DATA),
    Field("prefix", DATA),
    Field("total", COUNT),
    Field("predicted", COUNT),
    optional("cached", COUNT),
    _CREATED,
    table=schema.envelopes,
    unique=("node", "ordinal"),
)
TOOL_RESULT = RecordSpec(
    "toolResult",
    Field("number", COUNT),
    Field("node", RecordReference.NODE),
    _AGENT_ID,
    Field("tool", NAME),
    Field("arguments", _JSON),
    Field("sha256", DIGEST),
    Field("size", COUNT),
    Field("lines", COUNT),
    _CREATED,
    table=schema.tool_results,
    unique=("number",),
)
TYPING = RecordSpec(
    "typing",
    Field("event", LARGE_COUNT, "ordinal"),
    Field("kept", COUNT),
    Field("removed", TEXT),
    Field("added", TEXT),
    table=schema.typings,
    unique=("ordinal",),
)
CURSOR = RecordSpec(
    "cursor",
    _AGENT_ID,
    Field("node", RecordReference.NODE),
    _UPDATED,
    table=schema.cursors,
    unique=("agent",),
)
SELECTION = RecordSpec(
    "selection",
    _AGENT_ID,
    Field("position", RecordReference.NODE),
    Field("node", RecordReference.NODE),
    table=schema.selections,
    unique=("agent", "position"),
)
BUFFER = RecordSpec(
    "buffer", _AGENT_ID, Field("text", TEXT), _UPDATED, table=schema.buffers, unique=("agent",)
)
GROUP = RecordSpec(
    "group",
    _ID,
    Field("name", NAME),
    Field("description", TEXT, default=""),
    Field("first", RecordReference.NODE),
    Field("last", RecordReference.NODE),
    Field("expanded", FLAG, default=False),
    _CREATED,
    table=schema.groups,
    unique=("name",),
    order=("ulid",),
)
MEMORY = RecordSpec(
    "memory",
    _AGENT_ID,
    Field("ordinal", COUNT),
    Field("kind", count(2**15 - 1)),
    optional("label", NAME),
    Field("body", TEXT),
    _CREATED,
    _REMOVED,
    table=schema.memory,
    unique=("agent", "ordinal"),
)

_TARGET = RecordSpec("", Field("kind", choice(TARGET_KINDS)), Field("id", ULID), optional("treeId", ULID))
LINK = RecordSpec(
    "link",
    _ID,
    Field("ends", list_of(_TARGET, limit=2)),
    Field("note", TEXT, default=""),
    _AUTHOR_ID,
    _CREATED,
    _REMOVED,
    table=schema.links,
    unique=("ulid",),
)
TAG = RecordSpec(
    "tag",
    Field("number", COUNT, "key"),
    Field("target", one_of(_TARGET)),
    Field("label", NAME),
    _CREATED,
    _REMOVED,
    table=schema.tags,
    order=("key",),
)
RECORD = RecordSpec(
    "record",
    Field("ulid", ULID),
    Field("user", _PLACE_NAME, default=""),
    Field("project", _PLACE_NAME, default=""),
    Field("session", _PLACE_NAME, default=""),
    Field("topic", _PLACE_NAME, default=""),
    Field("stream", text(NAME_LIMIT)),
    Field("id", _PLACE_NAME),
    Field("createTime", _NUMBER),
    Field("document", _JSON),
    _HIDDEN,
    table=schema.records,
    unique=(*PLACE, "id"),
    order=("ulid",),
)
GROUP_ENTRY = RecordSpec(
    "groupEntry",
    Field("user", _PLACE_NAME, default=""),
    Field("session", _PLACE_NAME),
    Field("shelf", count(100)),
    Field("name", text(2 * ID_LIMIT)),
    Field("document", _JSON),
    table=schema.group_index,
    unique=("user", "session", "shelf", "name"),
)

FILE_RECORDS = (
    GROVE,
    AGENT,
    PROJECT,
    EVENT,
    TIMESTAMP,
    DOCUMENT,
    TREE,
    LINK,
    TAG,
    RECORD,
    GROUP_ENTRY,
)
"""In the order of a file: a record comes before those that name it. Revisions follow what they revise."""
TREE_RECORDS = (
    BODY,
    BLOB,
    RESPONSE,
    NODE,
    ATTEMPT,
    ENVELOPE,
    TOOL_RESULT,
    EVENT,
    TYPING,
    CURSOR,
    SELECTION,
    BUFFER,
    GROUP,
    MEMORY,
    TIMESTAMP,
)
"""In the order of a tree."""
