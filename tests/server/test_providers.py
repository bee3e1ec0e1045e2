"""Providers over HTTP: an owner sets keys and endpoints; no answer contains a key."""

import pytest
from tests.covers import covers

SECRET = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def private_files(monkeypatch, tmp_path):
    """Keys and endpoints of this test only; no keyring."""
    monkeypatch.setenv("WEFT_KEYS", str(tmp_path / "keys.json"))
    monkeypatch.setenv("WEFT_ENDPOINTS", str(tmp_path / "endpoints.json"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def key_of(owner, name: str):
    providers = owner.get("/api/providers").json()["providers"]
    return next(each["key"] for each in providers if each["name"] == name)


@covers("http.providers")
def test_a_key_is_kept_and_never_answered(owner):
    assert key_of(owner, "openai") is None
    answer = owner("PUT", "/api/providers/openai/key", json={"key": SECRET})
    assert (answer.status_code, answer.json()["place"]) == (200, "file")
    assert key_of(owner, "openai")["place"] == "file"
    assert SECRET not in answer.text + owner.get("/api/providers").text
    assert owner.post("/api/providers/openai/key/remove").status_code == 200
    assert key_of(owner, "openai") is None


@covers("http.providers")
@pytest.mark.parametrize(
    ("provider", "body", "status"),
    [
        ("openai", {}, 400),
        ("openai", {"key": 5}, 400),
        ("openai", {"key": "two words"}, 400),
        ("nobody", {"key": SECRET}, 404),
    ],
)
def test_what_is_no_key_is_refused(owner, provider, body, status):
    answer = owner("PUT", f"/api/providers/{provider}/key", json=body)
    assert answer.status_code == status
    assert SECRET not in answer.text


@covers("http.providers")
def test_endpoints_are_added_and_removed_with_their_key(owner):
    body = {"name": "lab", "url": "https://lab.example/v1", "key": SECRET}
    answer = owner.post("/api/endpoints", body)
    assert answer.json() == {"name": "lab", "url": "https://lab.example/v1", "private": False}
    listed = {each["name"]: each for each in owner.get("/api/providers").json()["endpoints"]}
    assert (listed["lab"]["added"], listed["lab"]["key"]["host"]) == (True, "lab.example")
    assert owner.post("/api/endpoints/lab/remove").status_code == 200
    assert "lab" not in {each["name"] for each in owner.get("/api/providers").json()["endpoints"]}
    assert owner.post("/api/endpoints/lab/remove").status_code == 404
    assert owner.post("/api/endpoints", {"name": "lab", "url": "ftp://lab.example"}).status_code == 400


@covers("http.providers")
@pytest.mark.parametrize("name", ["ada", "bob", "eve"])
def test_only_owners_see_and_set_keys(ask, name):
    assert ask(name).get("/api/providers").status_code == 403
    assert ask(name)("PUT", "/api/providers/openai/key", json={"key": SECRET}).status_code == 403
    assert (
        ask(name).post("/api/endpoints", {"name": "lab", "url": "https://lab.example/v1"}).status_code == 403
    )


@covers("http.user-tokens")
def test_an_owner_makes_a_token_whose_secret_is_answered_once(owner, ask, client):
    made = owner.post("/api/users/bob/tokens", {"label": "laptop"}).json()
    assert made["token"]["label"] == "laptop"
    headers = {"Authorization": f"Bearer {made['secret']}"}
    assert client.get("/api/trees", headers=headers).status_code == 200
    assert made["secret"] not in owner.get("/api/users/bob/tokens").text
    assert owner.post("/api/users/bob/tokens", {"label": 5}).status_code == 400
    assert owner.post("/api/users/nobody/tokens", {}).status_code == 404
    assert ask("ada").post("/api/users/bob/tokens", {}).status_code == 403
