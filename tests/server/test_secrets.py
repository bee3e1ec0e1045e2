"""Keys and addresses over HTTP: set by owners only, read back by nobody, never pointing inside by accident."""

import logging
import re

import pytest
from tests.covers import covers
from tests.server.conftest import Asker
from tests.server.test_doors import OPEN, ROUTES
from tests.server.test_object_access import at, endless

from weft.providers.saved_endpoints import SavedEndpoints
from weft.store import schema

CANARY = "sk-canary-0f1e2d3c4b5a69788796a5b4c3d2e1f0"


@pytest.fixture(autouse=True)
def _own_machine(tmp_path, monkeypatch):
    """Keys and endpoints of this test only; no keyring."""
    monkeypatch.setenv("WEFT_KEYS", str(tmp_path / "keys.json"))
    monkeypatch.setenv("WEFT_ENDPOINTS", str(tmp_path / "endpoints.json"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


@covers("security.endpoints-by-owner-only")
@pytest.mark.parametrize("name", ["ada", "bob", "eve", "service"])
def test_only_an_owner_sets_endpoints_and_keys(ask, name):
    asker = ask(name)
    for method, path, body in (
        ("POST", "/api/endpoints", {"name": "lab", "url": "https://lab.example/v1", "key": CANARY}),
        ("POST", "/api/endpoints/lab/remove", {}),
        ("PUT", "/api/providers/openai/key", {"key": CANARY}),
        ("POST", "/api/providers/openai/key/remove", {}),
        ("GET", "/api/providers", None),
    ):
        answer = asker(method, path, **({} if body is None else {"json": body}))
        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED"), path
    assert SavedEndpoints().all() == {}


@covers("security.endpoints-by-owner-only", "security.forged-requests-refused")
@pytest.mark.parametrize(
    "url",
    [
        "http://lab.example/v1",
        "ftp://lab.example",
        "file:///etc/passwd",
        "https://user:secret@lab.example/v1",
        "http://169.254.169.254/latest",
        "http://[::ffff:169.254.169.254]/",
        "https://lab.example/v1?key=x",
        "//lab.example",
        "lab",
    ],
)
def test_an_address_that_is_no_public_server_is_not_kept(owner, url):
    answer = owner.post("/api/endpoints", {"name": "lab", "url": url, "key": CANARY})
    assert answer.status_code in {400, 502}, answer.text
    assert CANARY not in answer.text
    assert SavedEndpoints().all() == {}


@pytest.mark.outer
@covers("security.canary-key")
def test_a_key_is_written_and_never_read_back_on_any_route(client, loom, owner, foreign, caplog):
    caplog.set_level(logging.DEBUG)
    answers = [
        owner("PUT", "/api/providers/openai/key", json={"key": CANARY}),
        owner("PUT", "/api/providers/openai/key", json={"key": CANARY, "more": CANARY}),
        owner("PUT", "/api/providers/nothing/key", json={"key": CANARY}),
        owner.post("/api/endpoints", {"name": "lab", "url": "https://lab.example/v1", "key": CANARY}),
        owner.post("/api/endpoints", {"name": "lab", "url": CANARY, "key": CANARY}),
        owner.post("/api/session", {"token": CANARY}),
        Asker(client, CANARY).get("/api/trees"),
    ]
    for method, path in sorted(ROUTES - OPEN):
        if method == "GET" and not endless(path):
            answers.append(owner(method, at(path, foreign)))
    assert len(answers) > 50
    for answer in answers:
        assert answer.status_code < 500, answer.text
        assert CANARY not in re.sub(r"\\/", "/", answer.text), answer.url
        assert CANARY not in str(answer.headers)
    assert CANARY not in caplog.text
    with loom.read.store.read() as session:
        for table in schema.metadata.sorted_tables:
            assert CANARY not in str(session.execute(table.select()).all()), table.name
