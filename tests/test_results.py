"""The figures that were measured last, against the bars that are said to be held."""

import re
from pathlib import Path

import pytest
from tests.covers import covers
from tests.test_requirements import RULES

RESULTS = Path(__file__).parent.parent / "bench" / "RESULTS.md"
ROW = re.compile(
    r"^\| (?P<bar>[^|]+) \| [^|]+ \| (?:[≥≤] |equal)[^|]* \| (?P<verdict>met|not met[^|]*) \|$", re.MULTILINE
)

BARS = {
    "bar.fit-ten-thousand-messages": r"10,000 messages, rollingWindow: .* ÷ ours",
    "bar.fit-growth-exponent": r"growth exponent of rollingWindow",
    "bar.growing-chat-refit": r"a chat of 2,000 turns, fitted afresh",
    "bar.growing-chat-extend": r"a chat of 2,000 turns, extended",
    "bar.growing-chat-sqlite": r"A chat of 2,000 turns through SQLite, every message committed",
    "bar.context-fresh-sqlite": r"SQLite: a fresh context ÷ plain SQL",
    "bar.context-fresh-postgres": r"PostgreSQL: a fresh context ÷ plain SQL",
    "bar.context-extended": r"(SQLite|PostgreSQL): an extended context ÷ a fresh one",
    "bar.assembly-flat-in-depth": r"(SQLite|PostgreSQL), (straight|zigzag): .* 100,000 ÷ 1,000",
    "bar.postgres-flat-in-depth": r"PostgreSQL, (straight|zigzag): .* 100,000 ÷ 1,000",
    "bar.prefix-reuse-middle": r"linear, truncateMiddle, step 0.25: (prefix reused|cost ÷ uncached)",
    "bar.window-use-middle": r"(linear|branching), truncateMiddle, step 0.25: window used",
    "bar.prefix-reuse-rolling": r"linear, rollingWindow, step 0.25",
    "bar.import-time": r"import weft.context",
    "bar.group-commit-ratio": r"SQLite writes ÷ a writer that commits each",
    "bar.nodes-per-second": r"SQLite writes a second, with events",
    "bar.postgres-writers": r"PostgreSQL, 16 threads: writes ÷ bare SQL",
    "bar.sqlite-processes": r"SQLite, 8 processes: writes ÷ bare SQL",
    "bar.first-word": r"the first word over HTTP after the SDK alone has it",
    "bar.start-up": r"(start of `weft --version`|`weft ls`) ÷ import of SQLAlchemy",
    "bar.postgres-tails-per-second": r"PostgreSQL, tails of 50 a second",
    "loom.layout-cache-measured": r"100 turns, layout cache: input reused",
    "security.long-command-line": r"the slowest line of 1 MB",
}
"""Rule → the rows of the report that show it."""


def measured() -> dict[str, bool]:
    """Every bar of the report, and whether it was met."""
    return {row["bar"]: row["verdict"] == "met" for row in ROW.finditer(RESULTS.read_text(encoding="utf-8"))}


@covers("bar.measured-in-one-run")
def test_every_bar_that_is_held_has_its_figure_in_one_report():
    rows = measured()
    built = {row["id"] for row in RULES if row["status"] == "built"}
    for rule in built & BARS.keys():
        assert [bar for bar in rows if re.match(BARS[rule], bar)], rule


@covers(
    "bar.fit-ten-thousand-messages",
    "bar.fit-growth-exponent",
    "bar.growing-chat-extend",
    "bar.assembly-flat-in-depth",
    "bar.postgres-flat-in-depth",
    "bar.prefix-reuse-middle",
    "bar.window-use-middle",
    "bar.prefix-reuse-rolling",
    "bar.import-time",
    "bar.group-commit-ratio",
    "bar.postgres-tails-per-second",
    "loom.layout-cache-measured",
    "security.long-command-line",
)
@pytest.mark.parametrize("rule", BARS)
def test_a_bar_is_called_built_if_and_only_if_the_report_shows_it_met(rule):
    rows = [met for bar, met in measured().items() if re.match(BARS[rule], bar)]
    status = next(row["status"] for row in RULES if row["id"] == rule)
    assert (status == "built") == (all(rows) and bool(rows))
