"""Recipes as they are read: what is taken, what is refused, and where."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.context.recipes import OnFilterError
from weft.context.recipes.recipe import Recipe, RecipeError, decode_recipe

SEG = {"kind": "SegKala", "sessionId": "s", "end": 1000, "windowSeconds": 600}
DEFAULT = [{"name": "sizeLimiter", "options": {"maxTokens": 24000}}, {"name": "toolCallBackfill"}]
LEAF = {"kind": "literal", "value": "x"}


def decoded(model=None, **body):
    given_model = {} if model is None else {"model": model}
    return decode_recipe({"kala": SEG, **given_model, **body})


def model_of(model=None, **body) -> dict:
    return dict(decoded(model, **body).model.to_wire())


def refused(model=None, **body) -> RecipeError:
    with pytest.raises(RecipeError) as caught:
        decoded(model, **body)
    assert caught.value.row.http == 400
    return caught.value


@covers("recipe.kala-required")
@pytest.mark.parametrize("kala", [None, 5, "SegKala", [], {}, {"kind": ""}, {"kind": None}, {"kind": 0}])
def test_a_recipe_needs_a_kala_with_a_kind(kala):
    error = refused(kala=kala)
    assert (error.path, error.message) == ("kala.kind", "Missing required field: kala.kind")


@pytest.mark.parametrize("body", [None, [], "recipe", 5, True])
def test_a_recipe_is_an_object(body):
    with pytest.raises(
        RecipeError, match="Missing required field: kala.kind; a recipe must be an object"
    ) as caught:
        decode_recipe(body)
    assert caught.value.path == "kala.kind"


@covers("recipe.defaults")
@pytest.mark.parametrize("body", [{}, {"model": None}, {"model": 0}, {"model": "x"}, {"presetId": 5}])
def test_without_a_model_or_a_preset_there_are_only_the_general_filters(body):
    found = decode_recipe({"kala": SEG, **body})
    assert found.model.to_wire() == {"promoteUpstream": False, "components": [], "filters": DEFAULT}


@covers("recipe.unknown-preset")
def test_a_preset_that_does_not_exist_is_refused():
    with pytest.raises(RecipeError, match="Unknown presetId: [?]; presets are TopicContext") as caught:
        decode_recipe({"kala": SEG, "presetId": "?"})
    assert caught.value.path == "presetId"
    assert decode_recipe({"kala": SEG, "model": {}, "presetId": "?"}).model.components == ()


@covers("recipe.topic-context", "recipe.wire-words")
def test_the_topic_context_is_as_the_contract_says():
    found = model_of(presetId="TopicContext")
    assert found["intro"] == {
        "system": "These are the previously extracted topic information, "
        "as well as the conversation context: \r"
    }
    assert found["promoteUpstream"] is True
    assert found["components"] == [
        {"kind": "yoj", "name": "topicInfos", "framing": "Previously extracted topic info:\r"},
        {"kind": "yoj", "name": "summaries", "framing": "Previous convo summaries:\r"},
        {"kind": "yoj", "name": "messages", "framing": "Summary of older conversation messages:\r"},
    ]
    assert found["filters"] == [
        {"name": "collapseGroupReplacer"},
        {"name": "fileContentsLimiter", "options": {"filesLimit": 7, "versionsPerFile": 2}},
        {"name": "sizeLimiter", "options": {"maxTokens": 20000}},
        {"name": "toolCallBackfill"},
    ]


@covers("recipe.model-wins-over-preset")
def test_a_model_wins_over_a_preset():
    assert model_of({}, presetId="TopicContext") == model_of([], presetId="TopicContext") == model_of()
    assert model_of(presetId="TopicContext") != model_of()


@covers("recipe.filter-entries")
def test_filters_are_names_or_names_with_options():
    given_filters = [
        "a",
        {"name": "b"},
        {"name": "c", "options": {"x": [1]}, "more": 1},
        {"name": "d", "options": None},
        {"name": ""},
    ]
    found = model_of({"filters": given_filters})["filters"]
    assert found == [
        {"name": "a"},
        {"name": "b"},
        {"name": "c", "options": {"x": [1]}},
        {"name": "d"},
        {"name": ""},
    ]
    assert model_of({"filters": []})["filters"] == []
    assert model_of({"filters": None})["filters"] == DEFAULT


@covers("recipe.filter-entries")
@pytest.mark.parametrize(
    ("filters", "path", "said"),
    [
        (True, "model.filters", "must be an array, got boolean"),
        ({}, "model.filters", "must be an array, got object"),
        ("a", "model.filters", "must be an array, got string"),
        (7, "model.filters", "must be an array, got number"),
        ([None], "model.filters[0]", "must be a string or an object"),
        (["a", []], "model.filters[1]", "must be a string or an object"),
        (["a", {}], "model.filters[1]", ".name"),
        ([{"name": 5}], "model.filters[0]", ".name"),
        ([{"name": "a", "options": "x"}], "model.filters[0].options", "must be an object, got string"),
        (["a", {"name": "a", "options": []}], "model.filters[1].options", "must be an object, got array"),
    ],
)
def test_other_filters_are_refused_with_their_place(filters, path, said):
    error = refused({"filters": filters})
    assert error.path == path
    assert path in error.message
    assert said in error.message


@covers("recipe.component-kinds", "recipe.errors-say-where")
@pytest.mark.parametrize(
    ("component", "path", "said"),
    [
        ("x", "model.components[1]", "must be an object"),
        (None, "model.components[1]", "must be an object"),
        (5, "model.components[1]", "must be an object"),
        ([], "model.components[1].kind", "is required"),
        ({}, "model.components[1].kind", "is required"),
        ({"kind": 0}, "model.components[1].kind", "is required"),
        ({"kind": "YOJ", "name": "a"}, "model.components[1].kind", "Unsupported component kind: YOJ"),
        ({"kind": True}, "model.components[1].kind", "Unsupported component kind: true at"),
        ({"kind": ["yoj", 1e21]}, "model.components[1].kind", "Unsupported component kind: yoj,1e+21 at"),
        ({"kind": "yoj"}, "model.components[1].name", "is required for kind='yoj'"),
        ({"kind": "ista", "name": ""}, "model.components[1].name", "is required for kind='ista'"),
        ({"kind": "ista", "name": 5}, "model.components[1].name", "is required for kind='ista'"),
        ({"kind": "literal"}, "model.components[1].value", "must be a string for kind='literal', got null"),
        ({"kind": "literal", "value": 5}, "model.components[1].value", "got number"),
        ({"kind": "yoj", "name": "a", "framing": 5}, "model.components[1].framing", "got number"),
    ],
)
def test_a_component_that_makes_no_sense_is_refused_with_its_place(component, path, said):
    error = refused({"components": [LEAF, component]})
    assert error.path == path
    assert said in error.message
    inside = {"kind": "yoj", "name": "p", "children": [LEAF, component]}
    assert refused({"components": [inside]}).path == path.replace(
        "components[1]", "components[0][children][1]"
    )


@covers("recipe.literal-without-children")
def test_a_literal_with_children_is_refused():
    error = refused({"components": [{**LEAF, "children": [LEAF]}]})
    assert error.path == "model.components[0].children"
    for children in ([], None, "x", {}):
        assert model_of({"components": [{**LEAF, "children": children}]})["components"] == [LEAF]


def nested(depth):
    found: dict = {"kind": "yoj", "name": "leaf"}
    for _ in range(depth - 1):
        found = {"kind": "yoj", "name": "p", "children": [found]}
    return found


@covers("recipe.depth-limit")
def test_six_levels_are_read_and_the_seventh_is_refused():
    assert decoded({"components": [nested(6)]})
    error = refused({"components": [LEAF, nested(7)]})
    path = "model.components[1]" + "[children][0]" * 6
    assert (error.path, error.limit, error.got) == (path, 6, 7)
    assert error.message == f"Maximum nesting depth exceeded at {path}: depth must be <= 6, got 7"
    deep = nested(300)
    assert refused({"components": [deep]}).got == 7


@covers("recipe.count-limit")
def test_128_components_are_read_and_one_more_is_refused():
    parent = {"kind": "yoj", "name": "p", "children": [LEAF] * 63}
    assert decoded({"components": [parent, parent]})
    error = refused({"components": [parent, parent, LEAF]})
    assert (error.path, error.limit, error.got) == ("model.components[2]", 128, 129)
    assert "must be <= 128, got 129" in error.message
    inner = refused({"components": [parent, {**parent, "children": [LEAF] * 64}]})
    assert inner.path == "model.components[1][children][63]"
    assert decoded({"components": [LEAF] * 128})
    assert refused({"components": [LEAF] * 1_000_000}).got == 129


@covers("recipe.filter-entries", "recipe.errors-say-where")
def test_more_filters_than_anybody_needs_are_refused():
    error = refused({"filters": ["repair"] * 129})
    assert (error.path, error.limit, error.got) == ("model.filters[128]", 128, 129)
    assert len(model_of({"filters": ["repair"] * 128})["filters"]) == 128


@covers("recipe.intro")
def test_an_intro_is_kept_as_it_was_given():
    for intro in ({"system": "s", "more": 1}, {}, {"system": None}, [], ["s"]):
        assert model_of({"intro": intro})["intro"] == intro
    assert decoded({"intro": ["s"]}).model.opening is None
    for intro in (None, 5, "s", True):
        assert "intro" not in model_of({"intro": intro})


@covers("recipe.intro", "recipe.errors-say-where")
@pytest.mark.parametrize("said", [5, True, ["s"], {"text": "s"}])
def test_an_intro_that_is_no_text_is_refused(said):
    assert refused({"intro": {"system": said}}).path == "model.intro.system"


@covers("kala.unknown", "kala.topic", "recipe.errors-say-where")
@pytest.mark.parametrize(
    ("kala", "path"),
    [
        ({"kind": "DayKala"}, "kala.kind"),
        ({"kind": ["Topic"]}, "kala.kind"),
        ({"kind": "Topic"}, "kala.topicId"),
        ({"kind": "Topic", "topicId": None}, "kala.topicId"),
    ],
)
def test_a_slice_of_an_unknown_kind_or_topic_is_refused(kala, path):
    assert refused(kala=kala).path == path


@covers("recipe.errors-say-where")
def test_the_innermost_mistake_is_the_one_that_is_told():
    inner = {"kind": "yoj"}
    assert refused({"components": [{"kind": "bogus", "children": [inner]}]}).path == (
        "model.components[0][children][0].name"
    )
    assert refused({"components": [{"kind": "literal", "children": [LEAF]}]}).path == (
        "model.components[0].value"
    )


def test_switches_are_read_as_javascript_reads_them():
    for value, found in [
        ([], True),
        ({}, True),
        ("false", True),
        (1, True),
        (0, False),
        ("", False),
        (None, False),
    ]:
        assert model_of({"promoteUpstream": value})["promoteUpstream"] is found
        assert decoded(includeDocId=value).include_doc_id is found


@covers("filter.skip-on-error")
def test_a_recipe_says_what_happens_if_a_filter_fails():
    assert decoded().on_filter_error is OnFilterError.FAIL
    assert decoded(onFilterError="skip").on_filter_error is OnFilterError.SKIP
    assert refused(onFilterError="ignore").path == "onFilterError"


@covers("recipe.round-trip")
def test_a_recipe_that_was_read_can_be_written_and_read_again():
    body = {"kala": SEG, "presetId": "TopicContext"}
    once = decode_recipe(body).to_wire()
    assert decode_recipe(json.loads(json.dumps(once))).to_wire() == once


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats()
    | st.sampled_from(["", "yoj", "literal", "x", "skip"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["kind", "name", "children", "value", "framing", "options", "filters", "components", "intro"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@covers("recipe.errors-say-where")
@given(json_values, json_values, json_values)
def test_anything_is_a_recipe_or_an_error_that_says_where(model, kala, preset):
    try:
        found = decode_recipe({"kala": kala, "model": model, "presetId": preset})
    except RecipeError as error:
        where = error.path
    else:
        where = "nowhere"
        assert isinstance(found, Recipe)
        assert decode_recipe(found.to_wire()).to_wire() == found.to_wire()
    assert where
