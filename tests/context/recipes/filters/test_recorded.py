"""Every recorded example of every filter, alone and in pipelines."""

import copy

import pytest
from tests.covers import covers
from tests.recorded import label, rows

from weft.context.recipes import apply_filters, run_filters

ALONE = [
    row
    for name in (
        "sizeLimiter",
        "toolCallBackfill",
        "fileContentsLimiter",
        "dropToolCallsCompleted",
        "collapseGroupReplacer",
    )
    for row in rows(name)
]


def options_of(row: dict) -> dict:
    options = dict(row["options"])
    if "tokenizer" in row:
        assert row["tokenizer"]["kind"] == "constant"
        options["tokenizer"] = lambda text: row["tokenizer"]["tokens"]
    return options


@covers("filter.recorded-filters")
@pytest.mark.parametrize("row", ALONE, ids=label)
def test_a_filter_gives_what_was_recorded(row):
    before = copy.deepcopy(row["input"])
    filters = [{"name": row["filter"], "options": options_of(row)}]
    found = run_filters(row["input"], filters, {**row["ctx"], "store": row.get("store", {})})
    assert found.messages == row["output"]
    assert row["input"] == before
    changed = row["input"] != row["output"]
    assert bool(found.steps[0].marks) == changed
    assert all(list(step.entries()) for step in found.steps)


@covers("filter.recorded-filters")
@pytest.mark.parametrize("row", rows("pipeline"), ids=label)
def test_a_pipeline_gives_what_was_recorded(row):
    assert apply_filters(row["input"], row["filters"], {**row["ctx"], "store": row["store"]}) == row["output"]
