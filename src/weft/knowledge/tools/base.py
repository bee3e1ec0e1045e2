"""What a tool is, and what it may look at."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from weft.context.layers.blocks import ToolOutput
from weft.context.layers.items import ContextItem
from weft.errors import InvalidInputError, UnavailableError
from weft.knowledge.notes import Mounted
from weft.knowledge.periods import Period
from weft.tree.json import JsonObject, JsonValue


class ToolArguments(BaseModel):
    """What a tool is called with; nothing else is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


A = TypeVar("A", bound=ToolArguments)


class GroveHit(NamedTuple):
    """Something in the grove that has the words."""

    title: str
    item: ContextItem


class WebPage(NamedTuple):
    """A page that a search of the web gave, with what its provider tells of it."""

    title: str
    url: str
    text: str
    published: str | None = None


class WebSearch(Protocol):
    """Whoever searches the web for us."""

    def search(self, query: str, *, limit: int, period: str | None) -> Sequence[WebPage]:
        """The pages that answer best; `period` is day, week, month or year."""
        ...


def nothing(_words: Sequence[str], _kinds: frozenset[str], _period: Period | None) -> Sequence[GroveHit]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """All that tools see: what whoever calls them may see, and nothing else."""

    now: datetime
    """With its zone."""
    mounted: Callable[[], Mounted] = field(default=lambda: Mounted(()))
    find: Callable[[Sequence[str], frozenset[str], Period | None], Sequence[GroveHit]] = nothing
    """Documents and nodes that have any of some words."""
    web: WebSearch | None = None
    web_off: str = "no provider is configured: set WEFT_WEB_SEARCH to searxng:URL, brave or tavily"
    """Why nobody searches the web, where nobody does."""
    first: int = 1
    """The number of the first source: those of one turn are counted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """A tool by name: what it is for, what it takes, and what it does."""

    name: str
    description: str
    arguments: type[A]
    run: Callable[[Desk, A], ToolOutput]
    missing: Callable[[Desk], str | None] = lambda _desk: None
    """Why it is off, where it is."""

    @property
    def schema(self) -> JsonObject:
        """Its arguments, as JSON Schema."""
        return cast("JsonObject", self.arguments.model_json_schema())

    def __call__(self, desk: Desk, arguments: Mapping[str, JsonValue]) -> ToolOutput:
        """Check the arguments, and run."""
        off = self.missing(desk)
        if off is not None:
            raise UnavailableError(f"{self.name} is off: {off}")
        try:
            read = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise InvalidInputError(
                f"{self.name}: {_told(error)}", hint=f"it takes {', '.join(_names(self.arguments))}"
            ) from None
        return self.run(desk, read)


def _names(arguments: type[BaseModel]) -> list[str]:
    return [each.alias or name for name, each in arguments.model_fields.items()] or ["nothing"]


def _told(error: ValidationError) -> str:
    first: Any = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(each) for each in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
