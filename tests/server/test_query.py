"""Query options: one description gives the check, the error and the OpenAPI document."""

import pytest
from tests.covers import covers

from weft.runtime.events.log import EventOptions
from weft.runtime.records.options import RecordListOptions, StreamListOptions
from weft.runtime.runners.options import PreviewOptions

CONTEXT = "/api/trees/{tree}/nodes/{node}/context"
ROUTES = [
    (CONTEXT, PreviewOptions, {"tool_outputs", "items", "tools"}),
    ("/api/records", RecordListOptions, set()),
    ("/api/records/streams", StreamListOptions, set()),
    ("/api/events", EventOptions, set()),
]


@pytest.fixture
def node(owner) -> str:
    """The address of a node."""
    tree = owner.post("/api/trees", {"title": "Marie", "text": "Why?"}).json()
    return f"/api/trees/{tree['id']}/nodes/{tree['root']}"


@covers("face.options-described-once", "http.rest-and-openapi")
@pytest.mark.parametrize(("path", "options", "python_only"), ROUTES, ids=[route[0] for route in ROUTES])
def test_the_document_describes_the_options_of_a_route(owner, path, options, python_only):
    parameters = owner.get("/openapi.json").json()["paths"][path]["get"]["parameters"]
    described = [each["description"] for each in parameters if each["in"] == "query"]
    assert described == [spec.help for name, spec in options.specs().items() if name not in python_only]


@covers("face.options-described-once", "endpoint.bad-input")
@pytest.mark.parametrize(
    ("path", "name", "hint"),
    [
        ("/api/records?name=a&limt=5", "limt", "did you mean limit?"),
        ("/api/records?name=a&session=s", "session", "did you mean sessionId?"),
        ("/api/records/streams?limit=5", "limit", "query parameters: userId, sessionId, topicId"),
        ("/api/trees?archive=true", "archive", "did you mean archived?"),
        ("/api/events?trees=x", "trees", "did you mean tree?"),
    ],
)
def test_an_unknown_query_parameter_is_refused_with_the_nearest_one(owner, path, name, hint):
    answer = owner.get(path)
    assert answer.status_code == 400
    assert answer.json() | {"retry": ""} == {
        "error": f"unknown query parameter {name!r}",
        "code": "INVALID_INPUT",
        "retry": "",
        "path": name,
        "hint": hint,
    }


@covers("face.options-described-once")
def test_a_route_without_options_takes_no_query(owner, ask, node):
    tree = node.rpartition("/nodes")[0]
    assert owner.post("/api/trees?title=Marie", {}).json()["hint"] == "query parameters: none"
    assert owner.get(f"{tree}/groups?limit=5").status_code == 400
    assert ask(None).get(f"{tree}/groups?limit=5").status_code == 401
    assert owner.post("/context/topicContextYoj/run?user=ada", {}).json()["hint"] == "did you mean userId?"


@covers("face.options-described-once", "endpoint.bad-input")
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=x", "limit"),
        ("limit=-1", "limit"),
        ("limit=1.5", "limit"),
        ("limit=1e3", "limit"),
        ("limit=1_000", "limit"),
        ("limit=", "limit"),
        ("limit=5&limit=6", "limit"),
        (f"limit={'9' * 500}", "limit"),
        ("window=0", "window"),
        ("maxTokens=many", "maxTokens"),
        ("step=nan", "step"),
        ("prefill=perhaps", "prefill"),
        ("preferences=5", "preferences"),
        ("preferences={", "preferences"),
        ("max_tokens=5", "max_tokens"),
        ("toolOutputs=x", "toolOutputs"),
    ],
)
def test_a_wrong_value_is_refused_with_the_name_it_has_in_the_query(owner, node, query, path):
    answer = owner.get(f"{node}/context?{query}")
    assert (answer.status_code, answer.json()["path"]) == (400, path), answer.text
    assert path in answer.json()["error"]


@covers("face.options-described-once")
def test_a_context_takes_the_options_that_python_takes(owner, loom, node):
    child = owner.post(f"{node}/children", {"content": "Because."}).json()
    owner.post(f"{node}/children", {"content": "Or not."})
    tree, handle = node.rpartition("/nodes/")[0], loom.node(child["id"])
    for query, options in [
        (
            "limit=60&maxTokens=7&strategy=stopAtLimit",
            {"limit": 60, "max_tokens": 7, "strategy": "stopAtLimit"},
        ),
        ("text=And+then%3F&step=0.5", {"text": "And then?", "step": 0.5}),
        ("text=5&annotations=true", {"text": "5", "annotations": True}),
        (f"annotations={handle.local_id}", {"annotations": [handle.local_id]}),
        ('preferences={"truncationStep":0}', {"preferences": {"truncationStep": 0}}),
        ("window=5000&prefill=false", {"window": 5_000, "prefill": False}),
    ]:
        answer = owner.get(f"{tree}/nodes/{handle.id}/context?{query}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["messages"] == handle.context(**options).to_wire()["messages"]
