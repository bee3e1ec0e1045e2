"""Run a pipeline of filters over anybody's messages, and tell what each of them did."""

import inspect
from collections.abc import (
    Awaitable,
    Coroutine,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from types import FunctionType
from typing import Any, cast

from weft.context.message_dict import PlainMessage
from weft.context.recipes.filters.base import (
    Filter,
    FilterContext,
    FilterEntry,
    FilterLike,
    Options,
    Registry,
    context_of,
    entry_of,
    installed_filters,
)
from weft.context.recipes.filters.trace import FilterStep, Mark, Trace
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, WeftError

_FIT, _REPAIR = "fit", "repair"
_OWN = "weft.context.recipes.filters."
"""The package of the filters that change no message."""


class OnFilterError(StrEnum):
    """What happens if a filter is unknown or fails."""

    FAIL = "fail"
    SKIP = "skip"


class FilterError(InvalidInputError):
    """A filter that does not exist, or that failed: its name, its place in the pipeline, and why."""

    def __init__(self, name: str, index: int, why: str, *, hint: str | None = None, option: str = "") -> None:
        path = f"filters[{index}].{option}" if option else f"filters[{index}]"
        super().__init__(f"filters[{index}] {name!r}: {why}", hint=hint, path=path)
        self.name = name
        self.index = index


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """The messages that a pipeline gave, and what each step did to them."""

    messages: list[PlainMessage]
    steps: tuple[FilterStep, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(
            f"filters[{step.index}] {step.name}: {step.warning}" for step in self.steps if step.warning
        )


def apply_filters(
    messages: Sequence[PlainMessage],
    filters: Sequence[FilterLike],
    context: FilterContext | Mapping[str, object] | None = None,
    *,
    on_error: OnFilterError | str = OnFilterError.FAIL,
    registry: Registry | None = None,
) -> list[PlainMessage]:
    """Give the messages to each filter in turn: names, or `{name, options}`, in the order given.

    Neither the list nor any message in it is changed. `context` may be a dictionary with
    `sessionId`, `userId` and `store`, for filters that ask. Use `run_filters` to see what
    each filter did.
    """
    return run_filters(messages, filters, context, on_error=on_error, registry=registry).messages


async def apply_filters_async(
    messages: Sequence[PlainMessage],
    filters: Sequence[FilterLike],
    context: FilterContext | Mapping[str, object] | None = None,
    *,
    on_error: OnFilterError | str = OnFilterError.FAIL,
    registry: Registry | None = None,
) -> list[PlainMessage]:
    """`apply_filters` where a loop runs already."""
    filtered = await run_filters_async(messages, filters, context, on_error=on_error, registry=registry)
    return filtered.messages


def run_filters(
    messages: Sequence[PlainMessage],
    filters: Sequence[FilterLike],
    context: FilterContext | Mapping[str, object] | None = None,
    *,
    on_error: OnFilterError | str = OnFilterError.FAIL,
    registry: Registry | None = None,
) -> Filtered:
    """`apply_filters` with an account of every step."""
    pipeline = _Pipeline(messages, filters, context, on_error, registry)
    for step in pipeline.steps():
        try:
            step.end(_waited(step.begin()))
        except Exception as error:  # noqa: BLE001 - a filter is anybody's code; the step decides what its failing means
            step.fail(error)
    return pipeline.filtered()


async def run_filters_async(
    messages: Sequence[PlainMessage],
    filters: Sequence[FilterLike],
    context: FilterContext | Mapping[str, object] | None = None,
    *,
    on_error: OnFilterError | str = OnFilterError.FAIL,
    registry: Registry | None = None,
) -> Filtered:
    """`run_filters` where a loop runs already."""
    pipeline = _Pipeline(messages, filters, context, on_error, registry)
    for step in pipeline.steps():
        try:
            answer = step.begin()
            step.end(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:  # noqa: BLE001 - see above
            step.fail(error)
    return pipeline.filtered()


def _waited(answer: Sequence[object] | Awaitable[Sequence[object]]) -> Sequence[object]:
    """What an asynchronous filter answers, where nothing asynchronous is going on."""
    if not inspect.isawaitable(answer):
        return answer
    import asyncio  # noqa: PLC0415 - it takes longer to load than most pipelines to run

    async def awaited() -> Sequence[object]:
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    if inspect.iscoroutine(answer):
        cast("Coroutine[object, object, object]", answer).close()
    raise InvalidInputError("it is asynchronous", hint=Hint(HintKind.ASYNC_FILTERS))


class _Pipeline:
    """The messages on their way, and the steps so far."""

    def __init__(
        self,
        messages: Sequence[PlainMessage],
        filters: Sequence[FilterLike],
        context: FilterContext | Mapping[str, object] | None,
        on_error: OnFilterError | str,
        registry: Registry | None,
    ) -> None:
        self.messages: list[object] = list(_listed(messages, "messages"))
        self.entries = [
            entry_of(entry, f"filters[{index}]") for index, entry in enumerate(_listed(filters, "filters"))
        ]
        if any(entry.name == _FIT for entry in self.entries) and self.entries[-1].name != _REPAIR:
            # What was fitted has to be accepted by providers, also after other filters.
            self.entries.append(FilterEntry(name=_REPAIR))
        self.context = context_of(context)
        try:
            self.skips = OnFilterError(on_error) is OnFilterError.SKIP
        except ValueError:
            raise InvalidInputError(f"onFilterError must be fail or skip, got {on_error!r}") from None
        self.registry = installed_filters() if registry is None else registry
        self.done: list[FilterStep] = []

    def steps(self) -> "Iterator[_Step]":
        for index, entry in enumerate(self.entries):
            yield _Step(self, index, entry)

    def filtered(self) -> Filtered:
        return Filtered(messages=cast("list[PlainMessage]", self.messages), steps=tuple(self.done))


class _Step:
    """One filter at work."""

    def __init__(self, pipeline: _Pipeline, index: int, entry: FilterEntry) -> None:
        self.pipeline = pipeline
        self.index = index
        self.name = entry.name
        self.options = entry.settings
        self.trace = Trace()
        self.given: list[object] = pipeline.messages

    def begin(self) -> Sequence[object] | Awaitable[Sequence[object]]:
        chosen = self.pipeline.registry.filter_of(self.name)
        context = replace(self.pipeline.context, trace=self.trace)
        if _is_own(chosen):
            return chosen(list(self.given), self.options, context)
        # The filter of a plug-in may change what it is given.
        self.given = [_copied(message) for message in self.pipeline.messages]
        context = replace(context, values=cast("Mapping[str, object]", _copied(dict(context.values))))
        return chosen(list(self.given), cast("Options", _copied(dict(self.options))), context)

    def end(self, answer: Sequence[object]) -> None:
        if not isinstance(answer, list | tuple):
            raise InvalidInputError(f"it gave {type(answer).__name__} instead of a list of messages")
        after = list(answer)
        originals = self._unchanged({id(message) for message in after})
        self.trace.complete(self.given, after, self.name)
        self._record(len(after), self.trace.marks)
        self.pipeline.messages = [originals.get(id(message), message) for message in after]

    def _unchanged(self, after: set[int]) -> dict[int, object]:
        """The caller's messages by the ids of their copies, where these say the same; others are marked."""
        if self.given is self.pipeline.messages:
            return {}
        unmarked = after - {id(mark.before) for mark in self.trace.marks}
        originals: dict[int, object] = {}
        for place, (original, copy) in enumerate(zip(self.pipeline.messages, self.given, strict=True)):
            if _is_same(original, copy):
                originals[id(copy)] = original
            elif id(copy) in unmarked:
                self.trace.kept(place, original, copy, "changed")
        return originals

    def fail(self, error: Exception) -> None:
        why = error.message if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"
        if self.pipeline.skips:
            self._record(len(self.pipeline.messages), (), why)
            return
        hint = error.hint if isinstance(error, WeftError) else None
        if isinstance(error, WeftError) and not isinstance(error, InvalidInputError | NotFoundError):
            # What the filter refuses keeps its code: a budget that cannot be met is no mistake in the recipe.
            raise error
        option = error.path if isinstance(error, InvalidInputError) else ""
        raise FilterError(self.name, self.index, why, hint=hint, option=option) from error

    def _record(self, gave: int, marks: Sequence[Mark], warning: str = "") -> None:
        self.pipeline.done.append(
            FilterStep(
                index=self.index,
                name=self.name,
                given=len(self.pipeline.messages),
                gave=gave,
                marks=tuple(marks),
                warning=warning,
                options=self.options,
            )
        )


def _is_own(chosen: Filter) -> bool:
    """True for our functions, and not for one that wraps them: a wrapper has the module's name, not its globals."""
    return isinstance(chosen, FunctionType) and str(chosen.__globals__.get("__name__")).startswith(_OWN)


def _copied(value: object) -> object:
    """A message with objects and lists of its own; what cannot be changed in it is shared."""
    whole: list[object] = [value]
    known: dict[int, dict[object, object] | list[object]] = {}
    pending: list[dict[object, object] | list[object]] = [whole]
    while pending:
        container = pending.pop()
        for key, each in container.items() if isinstance(container, dict) else enumerate(container):
            if not isinstance(each, dict | list):
                if isinstance(each, tuple | set | MutableMapping | MutableSequence):
                    cast("Any", container)[key] = deepcopy(cast("object", each))
                continue
            inner = cast("dict[object, object] | list[object]", each)
            if id(inner) not in known:
                known[id(inner)] = inner.copy()
                pending.append(known[id(inner)])
            cast("Any", container)[key] = known[id(inner)]
    return whole[0]


def _is_same(original: object, copy: object) -> bool:
    try:
        return original == copy
    except RecursionError:
        return False


def _listed(value: Sequence[object], name: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{name} must be an array, got {type(value).__name__}")
    return value
