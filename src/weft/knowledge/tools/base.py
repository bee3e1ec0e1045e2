"""Tools of a turn: their definition, what they can read, their output, and the registry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from weft.context.items.blocks import ToolOutput, close_nothing, one_line, render_item
from weft.context.items.item_types import ContextItem
from weft.errors import InvalidInputError, NotFoundError, UnavailableError
from weft.knowledge.notes import Mounted
from weft.knowledge.retrieval import Period, Retrieval
from weft.knowledge.tools.argument_schema import check_against_schema
from weft.plugins import Plugins
from weft.tree.agent import Permission
from weft.tree.citation import CitedSource
from weft.tree.json import JsonObject, JsonValue


class ToolArguments(BaseModel):
    """The arguments of a tool; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A")


class WebPage(NamedTuple):
    """A page that a web search returned."""

    title: str
    url: str
    text: str
    published: str | None = None


class WebSearch(Protocol):
    """A provider of web search."""

    def search(self, query: str, *, limit: int, period: str | None) -> Sequence[WebPage]:
        """The best pages; `period` is day, week, month or year."""
        ...


def _no_result(number: int) -> str:
    raise NotFoundError(f"there is no result {number}", hint="results belong to a turn: say which one")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Everything that a tool can read: what its caller may read."""

    now: datetime
    """With its time zone."""
    mounted: Callable[[], Mounted] = field(default=lambda: Mounted(()))
    retrieve: Callable[[str, frozenset[str], int, Period | None], Retrieval] = (
        lambda _question, _places, _limit, _period: Retrieval()
    )
    """The best passages of notes, documents and nodes about a question."""
    result: Callable[[int], str] = _no_result
    """The whole text of a result that was put aside, by its number."""
    urls: Callable[[], Sequence[str]] = tuple
    """The addresses that `readUrl` may read: attached ones, and the project's."""
    read_url: Callable[[str], WebPage] = lambda url: WebPage("", url, "")
    urls_off: str | None = "reading addresses is off: weft tools urls public"
    """The reason why no address is read, if none is."""
    web: WebSearch | None = None
    web_off: str = "no provider is configured: set WEFT_WEB_SEARCH to searxng:URL, brave or tavily"
    """The reason why there is no web search, if there is none."""
    first: int = 1
    """The number of the first source: the sources of one turn are numbered in one sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """A tool: its name, purpose, arguments and function, what it needs and how far it may go."""

    name: str
    description: str
    arguments: type[A] | JsonObject
    """A subclass of `ToolArguments`, or a JSON Schema: then `run` gets the arguments as they are."""
    run: Callable[[ToolContext, A], ToolOutput]
    missing: Callable[[ToolContext], str | None] = lambda _context: None
    """The reason why it is off, if it is."""
    permission: Permission | None = None
    """What every agent in the calling chain must have; None: what it reads is checked where it is read."""
    effects: bool = False
    """It changes something outside: it runs only if the owner allows it, or a person agrees."""
    seconds: float = 30.0
    """How long it may run."""
    size: int = 2_000_000
    """How many characters it may return."""
    pages: bool = False
    """It returns a part that suits a turn: its output is never put aside."""

    @property
    def schema(self) -> JsonObject:
        """The arguments as JSON Schema."""
        given = self.arguments
        return cast("JsonObject", given if isinstance(given, Mapping) else _model(given).model_json_schema())

    @property
    def argument_names(self) -> list[str]:
        """The names of its arguments, those that are needed first; optional ones end with a question mark."""
        named, required = self.schema.get("properties"), self.schema.get("required")
        names = list(named) if isinstance(named, Mapping) else []
        needed = required if isinstance(required, Sequence) else ()
        return [name for name in names if name in needed] + [
            f"{name}?" for name in names if name not in needed
        ]

    def check(self, arguments: Mapping[str, JsonValue]) -> A:
        """The arguments as the function takes them; an error names the field."""
        given = self.arguments
        if isinstance(given, Mapping):
            check_against_schema(self.name, given, arguments)
            return cast("A", dict(arguments))
        try:
            return cast("A", _model(given).model_validate(dict(arguments)))
        except ValidationError as error:
            first: Any = error.errors(include_url=False, include_input=False)[0]
            path = ".".join(map(str, first["loc"]))
            names = ", ".join(each.rstrip("?") for each in self.argument_names) or "nothing"
            raise InvalidInputError(
                ": ".join(filter(None, [self.name, path, first["msg"]])), hint=f"it takes {names}", path=path
            ) from None

    def __call__(self, context: ToolContext, arguments: Mapping[str, JsonValue]) -> ToolOutput:
        """Check the arguments and run the tool."""
        off = self.missing(context)
        if off is not None:
            raise UnavailableError(f"{self.name} is off: {off}")
        return self.run(context, self.check(arguments))


def _model(arguments: object) -> type[ToolArguments]:
    return cast("type[ToolArguments]", arguments)


_MOST_LINES = 400
_MOST_CHARACTERS = 16_000
"""What a part of a note or of a result has at most."""
_CITE = "Cite what you use: put the number of its source in brackets right after the statement, such as [{}]."
_ONLY = "Cite only sources of this list, by these numbers"
_SEVERAL = "; several are written [{}][{}]"
_ELSE = "Where the context does not hold the answer, say so and cite nothing."


def compose(
    name: str,
    instruction: str,
    items: Sequence[ContextItem],
    *,
    first: int,
    attributes: Mapping[str, str] | None = None,
    after: str = "",
) -> ToolOutput:
    """An output with numbered documents, followed by the list of sources by number."""
    numbered = list(enumerate(items, first))
    sources = tuple(
        # A title that is part of the id is not repeated.
        CitedSource(number, item.id, "" if (title := item.title or "") in item.id else title)
        for number, item in numbered
    )
    parts = [instruction, *(f"[{number}]\n{render_item(item)}" for number, item in numbered)]
    if after:
        parts.append(close_nothing(after))
    return _with_guidance(name, "\n\n".join(parts), sources, attributes)


def cite(
    name: str,
    text: str,
    sources: Sequence[tuple[str, str]],
    *,
    first: int,
    attributes: Mapping[str, str] | None = None,
) -> ToolOutput:
    """A text whose sources (id and title) are numbered after it."""
    numbered = tuple(CitedSource(number, *each) for number, each in enumerate(sources, first))
    return _with_guidance(name, text, numbered, attributes)


def _with_guidance(
    name: str, content: str, sources: tuple[CitedSource, ...], attributes: Mapping[str, str] | None
) -> ToolOutput:
    return ToolOutput(
        name=name,
        content=content,
        attributes=dict(attributes or {}),
        sources=sources,
        guidance=f"<guidance>\n{_guidance(sources)}\n</guidance>",
    )


def say(
    name: str, instruction: str, text: str = "", *, attributes: Mapping[str, str] | None = None
) -> ToolOutput:
    """An output without sources."""
    content = "\n\n".join(filter(None, [instruction, close_nothing(text)]))
    return ToolOutput(name=name, content=content, attributes=dict(attributes or {}))


def part_of(lines: Sequence[str], start: int, end: int | None = None) -> tuple[str, int, str]:
    """As many lines from one on as suit a turn, the last of them, and what to say if that one is cut."""
    last = min(len(lines), start + _MOST_LINES - 1, len(lines) if end is None else end)
    size = 0
    for number in range(start, last + 1):
        size += len(lines[number - 1]) + 1
        if size > _MOST_CHARACTERS and number > start:
            last = number - 1
            break
    part = "\n".join(lines[start - 1 : last])
    cut = f"Line {last:,} is longer than what is shown of it." if len(part) > _MOST_CHARACTERS else ""
    return part[:_MOST_CHARACTERS], last, cut


def _guidance(sources: Sequence[CitedSource]) -> str:
    first, last = sources[0].number, sources[-1].number
    several = "" if first == last else _SEVERAL.format(first, last)
    rules = [_CITE.format(first), f"{_ONLY}{several}.", _ELSE]
    listed = (
        f"[{each.number}] {one_line(each.id)}{f' ({one_line(each.title)})' if each.title else ''}"
        for each in sources
    )
    return "\n".join([*rules, "Sources:", *listed])


GROUP = "weft.tools"
AnyTool: TypeAlias = Tool[Any]


class ToolRegistry(Plugins[AnyTool]):
    """Tools by name."""

    __slots__ = ()

    GROUP = GROUP
    KIND = "tool"

    def with_tool(self, tool: AnyTool) -> "ToolRegistry":
        """A copy of the registry with one more tool."""
        return self._with(tool.name, tool)

    def tool(self, name: str) -> AnyTool:
        """The tool of that name, loaded on first use."""
        return self._named(name)

    def _made(self, name: str, loaded: Any) -> AnyTool:
        if not isinstance(loaded, Tool) or cast("AnyTool", loaded).name != name:
            raise TypeError(f"it is not a tool {name!r}")
        return cast("AnyTool", loaded)


@lru_cache(maxsize=1)
def installed_tools() -> ToolRegistry:
    """The tools of all installed packages, looked up once per process."""
    return ToolRegistry.installed()
