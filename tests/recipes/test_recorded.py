"""Every recorded example of recipes, slices and the collapse index."""

import copy

import pytest
from tests.covers import covers
from tests.recorded import label, rows

from weft.context.recipes.collapsed_groups import DocumentReader, GroupScope
from weft.context.recipes.group_index import (
    MemoryIndex,
    plan_index,
    plan_state,
    read_index_request,
    read_state_request,
)
from weft.context.recipes.recipe import RecipeError, decode_recipe
from weft.context.recipes.recipe_run import follow_recipe
from weft.context.recipes.record_streams import (
    LABELS,
    DocumentRecords,
    RecordScope,
    messages_of_stream,
    promoted,
    slice_of,
    week_end,
)
from weft.errors import InvalidInputError


@covers("recipe.recorded-examples")
@pytest.mark.parametrize("row", rows("modelDecoder"), ids=label)
def test_a_recipe_is_read_as_recorded(row):
    if not row["error"]:
        assert decode_recipe(row["input"]).to_wire() == row["output"]
        return
    with pytest.raises(RecipeError) as caught:
        decode_recipe(row["input"])
    assert row["error_message"] in caught.value.message
    assert caught.value.path


def yoj_messages(arguments, store):
    return messages_of_stream(
        DocumentRecords(store),
        arguments["name"],
        slice_of(arguments["kala"]),
        RecordScope(user_id=arguments["userId"], project_id=arguments["projectId"]),
        framing=arguments["framing"],
    )


def promoted_kala(kala):
    found = promoted(slice_of(kala))
    return None if found is None else found.to_wire()


@covers("recipe.recorded-examples", "kala.weeks-and-terms", "kala.labels", "kala.promotion")
@pytest.mark.parametrize("row", rows("kala"), ids=label)
def test_slices_are_as_recorded(row):
    (given,) = row["args"]
    found = {
        "toWeekEnd": week_end,
        "kalaLabel": lambda kala: LABELS.get(kala["kind"], ""),
        "promoteKala": promoted_kala,
        "buildYojMessages": lambda arguments: yoj_messages(arguments, row["store"]),
    }[row["filter"]](given)
    assert found == row["output"]


def run(body, store) -> dict:
    user = body["userId"]
    try:
        done = follow_recipe(
            decode_recipe(body),
            DocumentRecords(store),
            scope=RecordScope(user_id=user),
            groups=DocumentReader(store),
        )
    except InvalidInputError as error:
        return {"status": error.row.http, "json": {"error": error.message}}
    assert done.manifest.tokens >= 0
    return {"status": 200, "json": {"yoj": done.messages}}


@covers("recipe.recorded-examples")
@pytest.mark.parametrize("row", rows("router"), ids=label)
def test_a_recipe_makes_the_recorded_messages(row):
    found, expected = run(row["input"], row["store"]), row["output"]
    assert found["status"] == expected["status"]
    if found["status"] == 200:
        assert found == expected
    else:
        assert expected["json"]["error"] in found["json"]["error"]


def indexed(row):
    """The state of the index and the answer, as an endpoint would give them."""
    index, body, sizes = MemoryIndex(copy.deepcopy(row["store"])), row["input"], []
    try:
        if row["filter"] == "collapseState":
            plan = plan_state(read_state_request(body), user_id=row["userId"], now=row["now"])
            index.write(plan)
        else:
            request = read_index_request(body)
            scope = GroupScope(session_id=request.session_id, user_id=row["userId"])
            kept = index.reader.responses(scope, [request.response_id] if request.response_id else [])
            response = kept.get(request.response_id)
            plan = plan_index(request, user_id=row["userId"], now=row["now"], response=response)
            sizes = index.write(plan)
    except InvalidInputError as error:
        answer = {"ok": False, "error": error.message}
        return {"status": error.row.http, "json": answer, "batch_sizes": [], "store": index.documents}
    return {"status": 200, "json": plan.answer, "batch_sizes": sizes, "store": index.documents}


@covers("collapse.recorded-examples")
@pytest.mark.parametrize("row", rows("collapseIndexer"), ids=label)
def test_groups_are_indexed_as_recorded(row):
    assert indexed(row) == row["output"]
