"""The OpenAPI document: its examples are run, and answers are as their schemas say."""

import re

import jsonschema
import pytest
from tests.covers import covers


@pytest.fixture(scope="module")
def stage(loom, client):
    """Something of everything that a path can name."""
    if not any(agent.name == "Echo" for agent in loom.agents()):
        loom.add_agent("Echo", model_ref="scripted:echo")
    tree = loom.plant("Example", "Hello.")
    node = tree.say("Hello and goodbye.")
    document = loom.write_document("Example notes", "Fog.")
    return {
        "page": loom.plant("A page", "It was late.", mode="buffer").id,
        "tree": tree.id,
        "node": node.id,
        "document": document.id,
        "project": loom.create_project("Example project").value.id,
        "agent": loom.add_agent("Ada of the examples", type="human").id,
    }


def routes(document, method):
    for path, methods in document["paths"].items():
        if method in methods and set(re.findall(r"{(\w+)}", path)) <= {
            "tree",
            "node",
            "document",
            "project",
            "agent",
        }:
            yield path, methods[method]


def schema_of(document, told, status):
    content = told["responses"].get(str(status), {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    return None if schema is None else {**schema, "components": document["components"]}


def check(document, told, answer):
    schema = schema_of(document, told, answer.status_code)
    if schema is not None:
        wrong = [
            f"{told['operationId']}: {error.json_path} {error.validator} {error.message[-200:]}"
            for error in jsonschema.Draft202012Validator(schema).iter_errors(answer.json())
        ]
        assert wrong == []


@covers("http.examples-run")
def test_every_example_of_the_document_is_taken_and_its_answer_is_as_described(owner, stage):
    document = owner.get("/openapi.json").json()
    tried = 0
    for method in ("post", "put", "patch"):
        for path, told in routes(document, method):
            content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" not in content or path.startswith(
                ("/v1", "/context", "/jobs", "/api/providers", "/api/endpoints", "/api/session")
            ):
                continue
            at = {**stage, "tree": stage["page"]} if path.endswith(("/buffer", "/erase")) else stage
            answer = owner(method.upper(), path.format(**at), json=content["example"])
            # What an example names (an agent, an earlier revision, a name that is free) may be missing here.
            assert answer.status_code in {200, 202, 404, 409}, (path, answer.text)
            check(document, told, answer)
            tried += 1
    assert tried > 15


@covers("http.examples-run")
def test_every_view_without_arguments_answers_as_described(owner, stage):
    document = owner.get("/openapi.json").json()
    tried = 0
    for path, told in routes(document, "get"):
        if path == "/api/events" or path.startswith("/v1"):
            continue
        if any(each.get("required") and each["in"] == "query" for each in told.get("parameters", ())):
            continue
        answer = owner.get(path.format(**stage))
        assert answer.status_code in {200, 303, 400, 404, 409}, (path, answer.text)
        if answer.status_code == 200 and answer.headers["content-type"] == "application/json":
            check(document, told, answer)
            tried += 1
    assert tried > 40
