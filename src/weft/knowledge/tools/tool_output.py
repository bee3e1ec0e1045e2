"""What a tool gives, in one shape for all: an instruction, documents, and guidance on how to cite them."""

from collections.abc import Mapping, Sequence

from weft.context.layers.blocks import CitedSource, ToolOutput, close_nothing, one_line, render_item
from weft.context.layers.items import ContextItem

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
    """Documents under their numbers, and behind them which source each number stands for."""
    numbered = list(enumerate(items, first))
    sources = tuple(CitedSource(number, item.id, _title(item)) for number, item in numbered)
    parts = [instruction, *(f"[{number}]\n{render_item(item)}" for number, item in numbered)]
    if after:
        parts.append(close_nothing(after))
    parts.append(f"<guidance>\n{_guidance(sources)}\n</guidance>")
    return ToolOutput(
        name=name, content="\n\n".join(parts), attributes=dict(attributes or {}), sources=sources
    )


def say(
    name: str, instruction: str, text: str = "", *, attributes: Mapping[str, str] | None = None
) -> ToolOutput:
    """What there is nothing to cite of."""
    content = "\n\n".join(filter(None, [instruction, close_nothing(text)]))
    return ToolOutput(name=name, content=content, attributes=dict(attributes or {}))


def _guidance(sources: Sequence[CitedSource]) -> str:
    first, last = sources[0].number, sources[-1].number
    several = "" if first == last else _SEVERAL.format(first, last)
    rules = [_CITE.format(first), f"{_ONLY}{several}.", _ELSE]
    return "\n".join([*rules, "Sources:", *(f"[{each.number}] {_catalogued(each)}" for each in sources)])


def _catalogued(source: CitedSource) -> str:
    shown = one_line(source.id)
    return shown if not source.title else f"{shown} ({one_line(source.title)})"


def _title(item: ContextItem) -> str:
    """Beside an id that says it all, none."""
    title = item.title or ""
    return "" if title in item.id else title
