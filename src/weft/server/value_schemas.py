"""Schemas of answers: how the values of the tree look in JSON, from their annotations."""

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, cast

from weft.runtime.coordination.jobs import Job
from weft.runtime.events.log import Event
from weft.runtime.evidence.provenance_view import Provenance
from weft.runtime.operations.drafts import DraftText
from weft.runtime.operations.executor import Editing
from weft.runtime.search.results import Hit
from weft.runtime.views.opening import NodePlace, OpenedTree
from weft.runtime.views.skeleton import Skeleton
from weft.server.wire import BOOLEAN, ERROR, NUMBER, TEXT, Schema, array, object_of, reference_to
from weft.tree.access import Membership, Token, User
from weft.tree.agent import Agent
from weft.tree.approval import Approval, TreeGrants
from weft.tree.authorship import AuthorSpan
from weft.tree.content import Audio, Image, Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.document import Document, Revision
from weft.tree.event_kinds import HistoryEntry, HistoryStep
from weft.tree.json import camel
from weft.tree.node import Node
from weft.tree.reference import CollapsedRange, Link, Project, Tag, Vault
from weft.tree.text_diff import Difference
from weft.tree.tree import Cursor, Tree

VALUES: tuple[type, ...] = (
    *(
        Agent,
        Approval,
        AuthorSpan,
        CollapsedRange,
        Cursor,
        Document,
        Event,
        HistoryEntry,
        Link,
        Membership,
        Node,
    ),
    *(DraftText, Job, NodePlace, OpenedTree),
    *(Difference, HistoryStep, Hit, Project, Provenance, Revision, Skeleton, Tag, Token, Tree, User, Vault),
    TreeGrants,
)
"""What answers consist of; the document names each of them."""

_CONTENT = {Text, Image, Audio, ToolCall, ToolResult, Thinking, Mixed}
_PLAIN: dict[Any, Schema] = {
    str: TEXT,
    bool: BOOLEAN,
    int: {"type": "integer"},
    float: {"anyOf": [NUMBER, {"type": "null"}]},
    Decimal: TEXT,
    datetime: {"type": "string", "format": "date-time"},
    types.NoneType: {"type": "null"},
}
_JSON_NAMES = {"Sequence": Sequence, "Mapping": Mapping, "JsonValue": object}
"""What the recursive type of JSON refers to; any of it is described as anything."""
_ANYTHING: Schema = {}
_WHOLE: Schema = {"type": "integer"}
_CONTENT_SCHEMA = object_of(
    "type",
    type={"enum": ["text", "image", "audio", "tool_call", "tool_result", "thinking", "mixed"]},
    text=TEXT,
    blocks=array({"$ref": "#/components/schemas/Content"}),
    **dict.fromkeys(("id", "name", "callId", "ref", "mimeType", "altText", "transcript"), TEXT),
    **dict.fromkeys(("width", "height", "durationMs"), _WHOLE),
    **dict.fromkeys(("arguments", "content", "opaque"), _ANYTHING),
    isError=BOOLEAN,
)


@functools.cache
def value_schemas() -> dict[str, Schema]:
    """Every value that answers contain, by its name; results of operations are added as they are described."""
    schemas: dict[str, Schema] = {"Content": _CONTENT_SCHEMA, "Error": ERROR}
    for kind in VALUES:
        _describe(kind, schemas)
    return schemas


def result_schema(operation: type[Editing]) -> Schema:
    """What an operation answers; an operation without a result answers an empty object."""
    annotation = typing.get_type_hints(inspect.getattr_static(operation, "apply"), localns=_JSON_NAMES)[
        "return"
    ]
    schema = _schema(annotation, value_schemas())
    if "$ref" in schema:
        return {"type": "object", "allOf": [schema]}
    return schema if schema.get("type") in {"array", "boolean", "integer", "string"} else {"type": "object"}


def _describe(kind: type, schemas: dict[str, Schema]) -> Schema:
    """The schema of a dataclass, under its name."""
    if kind.__name__ not in schemas:
        schemas[kind.__name__] = {}  # a value may contain its own kind
        hints = typing.get_type_hints(kind, localns=_JSON_NAMES)
        names = [each.name for each in dataclasses.fields(kind)]
        properties = {camel(name): _schema(hints[name], schemas) for name in names}
        schemas[kind.__name__] = object_of(*properties, **properties)
    return reference_to(kind.__name__)


def _schema(annotation: Any, schemas: dict[str, Schema]) -> Schema:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation in _CONTENT:
        return reference_to("Content")
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in {typing.Union, types.UnionType}:
        return _union(arguments, schemas)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], schemas)}
    if isinstance(origin, type) and issubclass(origin, Sequence | frozenset | set):
        return array(_schema(arguments[0], schemas))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return {"enum": [str(each.value) for each in annotation]}
    if dataclasses.is_dataclass(cast("object", annotation)):
        return _describe(cast("type", annotation), schemas)
    return {}


def _union(members: Iterable[Any], schemas: dict[str, Schema]) -> Schema:
    """Each form once."""
    forms: list[Schema] = []
    for member in members:
        schema = _schema(member, schemas)
        if not schema:
            return {}
        if schema not in forms:
            forms.append(schema)
    return forms[0] if len(forms) == 1 else {"anyOf": forms}
