"""What a bench has to say, as values and as markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["Bar", "Section", "Table", "at_least", "at_most", "number", "render", "render_all"]


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise, and whether this run kept it."""

    what: str
    figure: str
    bar: str
    met: bool
    verdict: str
    """"met", or "not met" and by how much."""


@dataclass(frozen=True, slots=True)
class Table:
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(slots=True)
class Section:
    title: str
    words: str
    tables: list[Table] = field(default_factory=list[Table])
    bars: list[Bar] = field(default_factory=list[Bar])
    notes: list[str] = field(default_factory=list[str])

    def hold(self, bar: Bar) -> Bar:
        """Keep a bar for the summary."""
        self.bars.append(bar)
        return bar


def at_least(what: str, value: float, bar: float, unit: str = "") -> Bar:
    met = value >= bar
    short = f"not met: {number(value)}{unit} is {100 * (1 - value / bar):.0f} % short"
    return Bar(what, number(value) + unit, f"≥ {number(bar)}{unit}", met, "met" if met else short)


def at_most(what: str, value: float | None, bar: float, unit: str = "") -> Bar:
    """`None` stands for a measurement that was given up because it took too long."""
    if value is None:
        return Bar(what, "given up", f"≤ {number(bar)}{unit}", met=False, verdict="not met: took too long")
    met = value <= bar
    times = f"{number(value / bar)} times the bar" if bar else "more than none"
    over = f"not met: {number(value)}{unit} is {times}"
    return Bar(what, number(value) + unit, f"≤ {number(bar)}{unit}", met, "met" if met else over)


def number(value: float | None) -> str:
    """Three digits are as many as a shared machine can mean."""
    if value is None:
        return "—"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2f}".removesuffix(".00")


def render(section: Section) -> str:
    parts = [f"## {section.title}", section.words]
    for table in section.tables:
        lines = [
            _line(table.header),
            _line("---" if index == 0 else "---:" for index in range(len(table.header))),
            *(_line(row) for row in table.rows),
        ]
        parts.extend([f"**{table.caption}**", "\n".join(lines)])
    if section.notes:
        parts.append("\n".join(f"- {note}" for note in section.notes))
    return "\n\n".join(parts) + "\n"


def render_all(
    facts: Sequence[tuple[str, str]], sections: Sequence[Section], command: str = "make bench"
) -> str:
    bars = [bar for section in sections for bar in section.bars]
    kept = sum(bar.met for bar in bars)
    summary = Table(
        f"{kept} of {len(bars)} bars met",
        ("bar", "this run", "wanted", "verdict"),
        [(bar.what, bar.figure, bar.bar, bar.verdict) for bar in bars],
    )
    front = Section(
        "Bars",
        "Ratios are what counts: both sides of each were measured in this run, on this machine.",
        [Table("Machine", ("what", "value"), facts), summary],
    )
    head = f"# Results\n\nWritten by `{command}`; do not edit.\n"
    return "\n".join([head, *(render(section) for section in (front, *sections))])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
