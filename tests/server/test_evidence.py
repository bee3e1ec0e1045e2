"""Evidence over HTTP: what was sent and received, how probable each token was, a bundle, statistics."""

import io
import json
import zipfile

import pytest
from tests.covers import covers

from weft.runtime.evidence.token_chances import tokens_of
from weft.tree.attempt import RawResponse


def chunk(token: str, *others: str, answer: str = "a", index: int = 0) -> bytes:
    tops = [{"token": each, "logprob": -1.0 - at} for at, each in enumerate((token, *others))]
    chances = {"content": [{"token": token, "logprob": -0.5, "top_logprobs": tops}]}
    return json.dumps({"id": answer, "choices": [{"index": index, "logprobs": chances}]}).encode()


LINES = b"HTTP/1.1 200 OK\r\n\r\n" + b"\n".join([chunk("The"), chunk(" key", " door", " lamp"), chunk(".")])
EVENTS = b"\n\n".join([b"data: " + chunk("The"), b"data: " + chunk(" key", " door"), b"data: [DONE]"])
CHOICES = b"\n".join(
    [chunk("No", index=0), chunk("The", index=1), chunk(" key", index=1), chunk("Yes", answer="b")]
)


@covers("http.evidence")
@pytest.mark.parametrize("body", [LINES, EVENTS, CHOICES], ids=["lines", "events", "choices"])
def test_tokens_are_read_from_the_answer_that_has_the_nodes_text(body):
    tokens = tokens_of(body, "The key.")
    assert [(each.token, each.start) for each in tokens][:2] == [("The", 0), (" key", 3)]


@covers("http.evidence")
@pytest.mark.parametrize("body", [b"", b"not json", b'{"choices": 5}', b"[]", b'{"choices": [7]}'])
def test_a_response_without_probabilities_has_no_tokens(body):
    assert tokens_of(body, "The key.") == []


@covers("http.evidence")
def test_tokens_end_where_they_differ_from_the_text():
    assert [each.token for each in tokens_of(LINES, "The keys")] == ["The", " key"]
    assert [each.token for each in tokens_of(chunk(" The") + b"\n" + chunk(" key"), "The key")] == [
        "The",
        " key",
    ]


@pytest.fixture
def answered(loom) -> tuple[str, str]:
    """A tree and a node that a model wrote."""
    if "Scribe" not in {each.name for each in loom.agents()}:
        loom.add_agent("Scribe", model_ref="local:sample")
    tree = loom.plant("Evidence", "The lamp.")
    response = RawResponse(body=LINES, provider="local", model="sample")
    return tree.id, tree.say("The key.", author="Scribe", response=response).id


@covers("http.evidence")
def test_response_tokens_and_bundle_of_a_node_are_read(owner, answered):
    tree, node = answered
    place = f"/api/trees/{tree}/nodes/{node}"
    response = owner.get(f"{place}/response").json()
    assert (response["text"], response["bytes"]) == (LINES.decode(), len(LINES))
    tokens = owner.get(f"{place}/tokens").json()["tokens"]
    assert tokens[1]["token"] == " key"
    assert [each["token"] for each in tokens[1]["alternatives"]] == [" key", " door", " lamp"]
    bundle = owner.get(f"{place}/bundle")
    assert bundle.headers["content-type"] == "application/zip"
    assert "nodes.jsonl" in zipfile.ZipFile(io.BytesIO(bundle.content)).namelist()


@covers("http.evidence")
def test_what_no_model_wrote_has_no_request_and_no_tokens(owner, answered):
    tree, _ = answered
    root = owner.get(f"/api/trees/{tree}").json()["root"]
    place = f"/api/trees/{tree}/nodes/{root}"
    assert owner.get(f"{place}/request").status_code == 404
    assert owner.get(f"{place}/response").json()["code"] == "NOT_FOUND"
    assert owner.get(f"{place}/tokens").json() == {"tokens": []}


@covers("http.evidence")
def test_statistics_of_a_tree_are_read(owner, answered):
    tree, node = answered
    statistics = owner.get(f"/api/trees/{tree}/stats?path={node}").json()
    assert statistics["requests"]["count"] == 0
    assert owner.get(f"/api/trees/{tree}/stats?path=nowhere").status_code == 404


@covers("http.evidence")
def test_evidence_needs_the_right_to_read_the_tree(ask, answered):
    tree, node = answered
    for name in ("request", "response", "tokens", "bundle"):
        assert ask("eve").get(f"/api/trees/{tree}/nodes/{node}/{name}").status_code in {403, 404}
        assert ask(None).get(f"/api/trees/{tree}/nodes/{node}/{name}").status_code == 401
