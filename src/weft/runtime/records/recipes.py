"""Recipes over a grove: its records, its trees, its collapsed groups."""

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from weft.argument_checks import refuse_unknown
from weft.context.manifest import Manifest
from weft.context.plain_messages import plain_envelope, plain_messages_of, plain_request
from weft.context.recipes.collapsed_groups import GroupReader
from weft.context.recipes.filters.base import Registry
from weft.context.recipes.recipe import ASSEMBLED, PRESETS, Model, Recipe, decode_recipe
from weft.context.recipes.recipe_run import Followed, follow_recipe
from weft.context.recipes.record_streams import (
    Record,
    RecordScope,
    RecordSpan,
    StreamRecords,
    TreePath,
    slice_of,
)
from weft.context.rows import reason_to_leave_out
from weft.context.settings import check_names, resolve_layer_settings, resolve_preferences
from weft.errors import InvalidInputError, LimitExceededError, NotFoundError
from weft.runtime.contexts.collapsed_path import TreeGroups
from weft.runtime.contexts.layers import Contexts
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.operations.executor import Caller
from weft.runtime.records.group_index import StoredGroups
from weft.runtime.records.streams import require_records
from weft.runtime.views.reader import Reader
from weft.store.base import Snapshot
from weft.store.lookup import find_tree
from weft.store.records import Window, nearest_place, read_window
from weft.store.session import Session
from weft.tree.json import JsonObject, JsonValue, camel
from weft.tree.node import Identified
from weft.tree.record import RecordPlace
from weft.tree.tree import Mode

if TYPE_CHECKING:
    from weft.context.result import Context

_MESSAGES = "messages"
_MOST = 100_000
_OPTIONS: Mapping[str, str] = {
    camel(name): name
    for name in (
        "limit", "window", "max_tokens", "agent", "strategy", "step", "text", "annotations", "preferences",
        "library", "changed", "strip",
    )
}  # fmt: skip
"""The options of a path, by their names in a recipe."""
_OF_LAYERS = frozenset({"library", "changed", "strip"})

Assembler = Callable[[Caller, TreePath, ContextOptions], tuple[list[JsonObject], Manifest]]
"""Makes the messages of a path to a budget, with the account of it."""


def _assemble(mode: Mode) -> Assembler:
    def assembled(
        caller: Caller, path: TreePath, options: ContextOptions
    ) -> tuple[list[JsonObject], Manifest]:
        for name in _OF_LAYERS:
            if getattr(options, name) is not None:
                raise InvalidInputError(f"kala.{name} is an option of layers", path=f"kala.{name}")
        context = Contexts.of(caller).at(path.tree_id, path.node_id, options)
        _require_mode(context, mode)
        return list(plain_request(context)), context.manifest

    return assembled


def _in_layers(caller: Caller, path: TreePath, options: ContextOptions) -> tuple[list[JsonObject], Manifest]:
    envelope = Contexts.of(caller).at(path.tree_id, path.node_id, options).laid_out
    return list(plain_envelope(envelope)), envelope.manifest


def _require_mode(context: "Context", mode: Mode) -> None:
    is_buffer = context.document is not None
    if is_buffer != (mode is Mode.BUFFER):
        own = Mode.BUFFER if is_buffer else Mode.DIALOGUE
        raise InvalidInputError(f"the tree is in {own} mode", hint=f"use the recipe {own}", path="presetId")


ASSEMBLERS: dict[str, Assembler] = {
    "dialogue": _assemble(Mode.DIALOGUE),
    "buffer": _assemble(Mode.BUFFER),
    "layered": _in_layers,
}
"""The built-in recipes of a path."""


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """Records of a grove as recipes read them, in one consistent view."""

    session: Session
    caller: Caller
    room: list[int] = field(default_factory=lambda: [_MOST])
    """How many more records one recipe may read, all its streams together."""

    def span(self, scope: RecordScope, span: RecordSpan) -> Iterator[Record]:
        place = RecordPlace(stream=span.stream, session=span.session_id)
        return self._read(scope, place, Window(span.begin, span.end))

    def topic(self, scope: RecordScope, topic_id: str, name: str) -> Iterator[Record]:
        return self._read(scope, RecordPlace(stream=name, topic=topic_id), None)

    def path(self, scope: RecordScope, path: TreePath, name: str) -> StreamRecords:
        del scope
        with _field("kala.treeId"):
            find_tree(self.session, path.tree_id)
        if name == _MESSAGES:
            with _field("kala.nodeId"):
                return StreamRecords(list(self._messages(path)))
        if name not in ASSEMBLED:
            return StreamRecords(())
        options = _path_options(path.options)
        with _field("kala.nodeId"):
            messages, manifest = ASSEMBLERS[name](self.caller, path, options)
        return StreamRecords([Record(id="", document={"value": message}) for message in messages], manifest)

    def _read(self, scope: RecordScope, place: RecordPlace, window: Window | None) -> Iterator[Record]:
        place = nearest_place(self.session, replace(place, user=scope.user_id, project=scope.project_id))
        rows = read_window(self.session, place, window, self.room[0] + 1)
        self._take(len(rows), f"{place.stream!r}: a recipe reads at most {_MOST:,} records")
        return (Record(id=name, document=json.loads(document)) for name, document in rows)

    def _take(self, count: int, message: str) -> None:
        self.room[0] -= count
        if self.room[0] < 0:
            hint = "choose a shorter window; of a path, the stream dialogue reads only what fits"
            raise LimitExceededError(message, hint=hint)

    def _messages(self, path: TreePath) -> Iterator[Record]:
        nodes = Reader.of(self.caller).path(path.tree_id, path.node_id, tail=self.room[0] + 1)
        self._take(len(nodes), f"the path: a recipe reads at most {_MOST:,} nodes")
        for node in nodes:
            if reason_to_leave_out(node.metadata, annotation=False, node=node.id, annotations=False) is None:
                for message in plain_messages_of(node.role, node.content):
                    if message.get("content") or "tool_calls" in message or "tool_call_id" in message:
                        yield Record(id=node.id, document={"value": message})


def _path_options(given: JsonObject) -> ContextOptions:
    """The options of a path, each checked by itself: an error names its field."""
    options: dict[str, Any] = {}
    for name, value in given.items():
        path = f"kala.{name}"
        refuse_unknown([name], _OPTIONS, "option", path=path)
        inner = _OPTIONS[name]
        if value is None:
            continue
        if name == "annotations" and not isinstance(value, bool):
            raise InvalidInputError(f"{path} must be true or false, got {value!r}", path=path)
        if name == "agent" and isinstance(value, str) and not value.strip():
            raise InvalidInputError(f"{path} must name an agent", path=path)
        parts = value.items() if name == "preferences" and isinstance(value, Mapping) else ()
        for setting, each in parts:
            _check_option(inner, {setting: each}, f"{path}.{setting}")
        _check_option(inner, value, path)
        options[inner] = value
    return ContextOptions(**options)


def _check_option(name: str, value: Any, path: str) -> None:
    with _field(path, always=True):
        settings = ContextOptions(**{name: value}).settings
        check_names(settings)
        resolve_preferences(settings)
        resolve_layer_settings(settings)


@contextmanager
def _field(path: str, *, always: bool = False) -> Generator[None]:
    """An input error raised in here is about that field, unless it names another."""
    try:
        yield
    except InvalidInputError as error:
        named = path if always else error.path or path
        raise InvalidInputError(error.message, hint=error.hint, path=named) from None


@dataclass(frozen=True, slots=True)
class Recipes:
    """Recipes followed over what a grove holds, as one agent may see it."""

    caller: Caller

    @property
    def names(self) -> list[str]:
        return sorted(PRESETS)

    def preset(self, name: str) -> Model:
        model = PRESETS.get(name)
        if model is None:
            raise NotFoundError(f"no recipe {name!r}", hint=f"recipes are {', '.join(self.names)}")
        return model

    def run(
        self,
        recipe: "JsonValue | Recipe",
        *,
        user: str | None = None,
        project: str | None = None,
        session: str | None = None,
        registry: Registry | None = None,
    ) -> Followed:
        """The messages that a recipe makes for a user, with the account of how they came to be these.

        The recipe may name the user and the project: `userId`, `projectId`.
        """
        read = recipe if isinstance(recipe, Recipe) else decode_recipe(recipe)
        scope = RecordScope(
            user_id=user or _named(recipe, "userId"), project_id=project or _named(recipe, "projectId")
        )
        here = slice_of(read.kala)
        with self.caller.store.read() as reading:
            groups: GroupReader
            hides = False
            if isinstance(here, TreePath):
                # Whose tree it is, reading the path asks.
                groups, session = TreeGroups(reading, here.tree_id), session or here.tree_id
                hides = _folds(read) and not read.include_doc_id
                read = replace(read, include_doc_id=True) if hides else read
            else:
                require_records(reading, self.caller.actor)
                groups = StoredGroups(reading)
            # A path is read in the same snapshot: a second connection could wait for the first for ever.
            executor = replace(self.caller.executor, store=Snapshot(self.caller.store, reading))
            records = StoredRecords(reading, replace(self.caller, executor=executor))
            followed = follow_recipe(
                read, records, scope=scope, session_id=session, groups=groups, registry=registry
            )
            return followed.without_doc_ids() if hides else followed

    def at(
        self, node: Identified, recipe: JsonValue = None, *, user: str | None = None, **options: JsonValue
    ) -> Followed:
        """A recipe at a node: a built-in's name, or a recipe without a kala; else the tree's own mode."""
        read = Reader.of(self.caller)
        tree_id = read.find(node.id).tree_id
        body = read.tree(tree_id).mode.value if recipe is None else recipe
        if isinstance(body, str):
            body = {"presetId": body}
        if not isinstance(body, Mapping):
            raise InvalidInputError("a recipe is an object, or the name of a built-in one")
        kala = {"kind": "Path", "treeId": tree_id, "nodeId": node.id, **options}
        return self.run({**body, "kala": kala}, user=user)


def _named(recipe: "JsonValue | Recipe", name: str) -> str | None:
    value = recipe.get(name) if isinstance(recipe, Mapping) else None
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a string", path=name)
    return value or None


def _folds(recipe: Recipe) -> bool:
    """Messages of a path are known by their nodes wherever a filter asks for it."""
    return any(entry.name == "collapseGroupReplacer" for entry in recipe.model.filters)
