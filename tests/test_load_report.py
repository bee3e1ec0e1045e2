"""The last run of `make bench-load`: what it measured, and that nothing failed or grew."""

import re
from pathlib import Path

from tests.covers import covers

REPORT = Path(__file__).parent.parent / "bench" / "LOAD.md"
_ROW = re.compile(
    r"^\| (?P<bar>[^|]+) \| [^|]+ \| ≤ [^|]* \| (?P<verdict>met|not met[^|]*) \|$", re.MULTILINE
)


def bars() -> dict[str, str]:
    return {row["bar"]: row["verdict"] for row in _ROW.finditer(REPORT.read_text(encoding="utf-8"))}


@covers("load.bench-load")
def test_every_kind_of_client_was_measured_on_both_stores_without_an_error():
    report = REPORT.read_text(encoding="utf-8")
    for store in ("SQLite", "PostgreSQL"):
        for clients in ("readers", "writers", "streams", "proxy"):
            assert re.search(
                rf"^\| {store} \| {clients}[^|]* \|( [\d,.]+ \|){{3}} 0 \|$", report, re.MULTILINE
            )
        assert bars()[f"errors under load, {store}"] == "met"


@covers("load.no-growth")
def test_a_day_of_use_brought_no_growth_in_memory_handles_or_log():
    held = bars()
    for store in ("SQLite", "PostgreSQL"):
        assert held[f"growth of memory over a day of use, {store}"] == "met"
        assert held[f"more handles after a day of use, {store}"] == "met"
    assert held["write-ahead log during a day of use"] == "met"
