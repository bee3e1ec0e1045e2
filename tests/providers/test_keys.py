"""Keys: where they are looked for, how they are kept, and that they are never shown."""

import asyncio
import contextlib
import json
import os
import pickle
import stat
from urllib.parse import quote, quote_plus

import pytest
from tests.covers import covers
from tests.providers.asking import chat, gather
from tests.providers.houses import ANTHROPIC, CHAT, GOOGLE, connect
from tests.providers.loopback import Loopback, streamed

from weft.error_hints import Face, hint_on
from weft.errors import InvalidInputError, NotFoundError, ProviderError, StorageError, Trouble
from weft.providers.adapter import Connection
from weft.providers.compatible import Compatible
from weft.providers.endpoint import Endpoint
from weft.providers.errors import from_connection
from weft.providers.keys import KeyPlace, Keys, Secret
from weft.providers.redaction import redact_key

CANARY = "sk-canary-0123456789"


class Ring(dict):
    """A keyring that remembers as long as the test."""

    def get_password(self, service, username):
        return self.get((service, username))

    def set_password(self, service, username, password):
        self[service, username] = password

    def delete_password(self, service, username):
        del self[service, username]


class Locked:
    def get_password(self, *_):
        raise RuntimeError("locked")

    set_password = delete_password = get_password


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weft" / "keys.json"


def keys(path, environment=None, ring=None):
    return Keys(environment=environment or {}, ring=lambda: ring, file=lambda: path)


@covers("security.secret-order", "provider.keys-from-env-or-keyring")
def test_the_environment_comes_first_then_the_keyring_then_the_file(path):
    ring = Ring()
    keys(path).set("anthropic", "from-file")
    assert keys(path).find("anthropic").reveal() == "from-file"
    keys(path, ring=ring).set("anthropic", "from-ring")
    assert keys(path, ring=ring).find("anthropic").reveal() == "from-ring"
    environment = {"ANTHROPIC_API_KEY": " from-environment\n"}
    found = keys(path, environment, ring)
    assert found.find("anthropic").reveal() == "from-environment"
    assert found.place("anthropic").where == "ANTHROPIC_API_KEY"


@covers("provider.keys-from-env-or-keyring")
def test_every_name_has_a_variable(path):
    environment = {"WEFT_KEY_LLAMA_CPP": "a", "GOOGLE_API_KEY": "b", "OPENAI_API_KEY": "  "}
    found = keys(path, environment)
    assert found.find("llama.cpp").reveal() == "a"
    assert found.find("google").reveal() == "b"
    assert found.find("openai") is None
    assert found.variables("google") == ("GEMINI_API_KEY", "GOOGLE_API_KEY", "WEFT_KEY_GOOGLE")


@covers("security.secret-order")
def test_a_file_is_for_its_owner_alone(path):
    found = keys(path).set("openai", CANARY)
    assert found.place is KeyPlace.FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) & 0o077 == 0
    path.chmod(0o644)
    with pytest.raises(StorageError, match="readable by other users") as caught:
        keys(path).find("openai")
    assert "chmod 600" in caught.value.hint


@covers("security.secret-order")
def test_a_locked_keyring_is_none(path):
    found = keys(path, ring=Locked())
    assert found.set("openai", CANARY).place is KeyPlace.FILE
    assert found.find("openai").reveal() == CANARY


@covers("provider.keys-from-env-or-keyring")
def test_keys_are_listed_and_forgotten_by_name(path):
    ring = Ring()
    found = keys(path, {"OPENAI_API_KEY": "x", "WEFT_KEY_LAB": "y"}, ring)
    found.set("anthropic", CANARY)
    keys(path).set("other", CANARY, "other.example")
    assert [(each.name, each.place.value) for each in found.names()] == [
        ("anthropic", "keyring"),
        ("lab", "environment"),
        ("openai", "environment"),
        ("other", "file"),
    ]
    assert CANARY not in repr(found.names())
    found.delete("anthropic")
    found.delete("other")
    assert found.find("anthropic") is found.find("other", "other.example") is None
    assert CANARY not in path.read_text() + repr(ring)
    for name in ("anthropic", "openai"):
        with pytest.raises(NotFoundError, match="no stored key"):
            found.delete(name)


@covers("provider.keys-never-shown")
def test_a_key_is_not_printed_compared_or_pickled(path):
    secret = Secret(CANARY)
    assert CANARY not in f"{secret} {secret!r} {[secret]} {vars(Secret)}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert CANARY not in repr(keys(path, {"OPENAI_API_KEY": CANARY}))


@covers("provider.keys-never-shown")
@pytest.mark.parametrize("text", [f'{{"openai": "{CANARY}"', f'["{CANARY}"]', f"{CANARY}\x00"])
def test_a_damaged_file_is_not_quoted(path, text):
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(StorageError) as caught:
        keys(path).find("openai")
    told = f"{caught.value} {caught.value.__cause__} {caught.value.__suppress_context__}"
    assert CANARY not in told
    assert "True" in told or caught.value.__context__ is None


@pytest.mark.parametrize("value", ["", "  ", "two words", "a\nb", "naïve", "x" * 5_000, "\x1b[31m"])
def test_what_is_no_key_is_refused_and_not_repeated(path, value):
    with pytest.raises(InvalidInputError, match="not a valid key"):
        keys(path).set("openai", value)
    assert not path.exists()


NO_KEYS = [f"{CANARY}\nzzz", f"clé-{CANARY}", f"{CANARY}\x7f", f"{CANARY} zzz", CANARY * 300]


@covers("provider.keys-never-shown")
@pytest.mark.parametrize("value", NO_KEYS)
def test_what_is_no_key_is_refused_wherever_it_is_kept_and_only_its_place_is_told(path, value):
    ring = Ring({("weft", "openai"): value})
    path.parent.mkdir()
    path.write_text(json.dumps({"openai": value}))
    path.chmod(0o600)
    places = {
        "OPENAI_API_KEY": keys(path, {"OPENAI_API_KEY": value}, ring),
        "the keyring": keys(path, ring=ring),
        str(path): keys(path),
    }
    for where, found in places.items():
        with pytest.raises(ProviderError) as caught:
            found.find("openai")
        assert caught.value.trouble is Trouble.AUTHENTICATION
        assert not caught.value.retryable
        assert f"the value in {where} for openai is not a valid key" in str(caught.value)
        assert CANARY not in str(caught.value)


@covers("provider.keys-never-shown")
@pytest.mark.parametrize("house", [ANTHROPIC, CHAT, GOOGLE], ids=lambda house: house.name)
def test_nothing_is_sent_with_what_is_no_key(house):
    async def scene():
        async with Loopback([streamed(*house.text(["x"]))]) as server:
            provider = house.make(connect(server.url + house.base, house.name, key=NO_KEYS[0]))
            with pytest.raises(ProviderError) as caught:
                await gather(provider, chat("Hi", model=house.model))
            await provider.close()
        return caught.value, server

    error, server = asyncio.run(scene())
    assert (error.trouble, server.heard) == (Trouble.AUTHENTICATION, [])
    assert "canary" not in str(error)


@covers("provider.keys-never-shown")
def test_a_key_is_blotted_out_however_an_error_writes_it():
    secret = "sk'ca\\na\nry+é"
    ways = [
        secret,
        repr(secret),
        repr(secret.encode()),
        json.dumps(secret),
        quote(secret),
        quote_plus(secret),
    ]
    error = ConnectionError(f"Illegal header value: {' '.join(ways)}")
    told = str(from_connection("lab", error, key=Secret(secret)))
    assert "na" not in told.removeprefix("the connection")
    for way in ways:
        assert "ry" not in redact_key(f"<{way}>", secret)


@covers("provider.broken-keeps-no-others")
def test_a_file_that_cannot_be_read_hides_no_other_key(path):
    path.parent.mkdir()
    path.write_text("{")
    path.chmod(0o600)
    found = keys(path, {"OPENAI_API_KEY": "x"}, Ring())
    assert [each.name for each in found.names()] == ["openai"]
    assert "cannot be read" in str(found.problem)
    assert found.find("openai").reveal() == "x"
    path.write_text('{"lab": null}')
    with pytest.raises(StorageError, match="not a key file"):
        found.find("lab", "lab.example")
    path.write_text('{"lab": "y"}')
    assert found.problem is None


@pytest.mark.parametrize("name", ["", "../x", "Open AI", "a" * 65, "x\n"])
def test_a_name_is_a_providers(path, name):
    for act in (
        lambda: keys(path).set(name, "x", "lab.example"),
        lambda: keys(path).find(name),
        lambda: keys(path).delete(name),
    ):
        with pytest.raises(InvalidInputError):
            act()


def test_a_key_that_cannot_be_kept_changes_nothing(path, monkeypatch):
    keys(path).set("openai", "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        keys(path).set("openai", CANARY)
    assert json.loads(path.read_text()) == {"openai": "old"}
    assert [each.name for each in path.parent.iterdir()] == ["keys.json"]


@covers("provider.key-bound-to-host")
def test_a_vendors_key_is_for_the_vendors_host_however_it_is_set(path):
    environment = {"OPENAI_API_KEY": "a", "WEFT_KEY_OPENROUTER": "b"}
    found = keys(path, environment)
    keys(path).set("google", "c")
    for name, host in (("openai", "api.openai.com"), ("openrouter", "openrouter.ai")):
        assert found.find(name).reveal() == found.find(name, host).reveal()
    for name in ("openai", "openrouter", "google"):
        assert found.find(name) is not None
        for host in ("127.0.0.1:8080", f"api.{name}.com:8443", "localhost"):
            assert found.find(name, host) is None
            assert found.place(name, host) is None


@covers("provider.key-bound-to-host")
def test_another_host_needs_a_deliberate_word(path):
    environment = {
        "OPENAI_API_KEY": "a",
        "WEFT_KEY_OPENAI": "b",
        "WEFT_KEY_OPENAI_FOR": "http://127.0.0.1:8080/v1",
    }
    found = keys(path, environment)
    assert found.find("openai").reveal() == "a"
    assert found.find("openai", "127.0.0.1:8080").reveal() == "b"
    assert [(each.where, each.host) for each in found.names()] == [
        ("WEFT_KEY_OPENAI", "127.0.0.1:8080"),
        ("OPENAI_API_KEY", "api.openai.com"),
    ]


@covers("provider.key-bound-to-host")
@pytest.mark.parametrize("ring", [None, Ring()], ids=["file", "keyring"])
def test_a_kept_key_does_not_follow_a_changed_address(path, ring):
    found = keys(path, ring=ring)
    found.set("lab", CANARY, "lab.example")

    def key_at(url, **settings):
        return Connection(endpoint=Endpoint(url), key_name="lab", keys=found, **settings).key()

    assert key_at("https://lab.example/v1").reveal() == CANARY
    for url in ("https://other.example/v1", "https://lab.example:8443/v1", "http://127.0.0.1/v1"):
        with pytest.raises(
            ProviderError, match="there is no key for lab at .*stored key is for lab.example"
        ) as caught:
            key_at(url, key_needed=False)
        assert caught.value.trouble is Trouble.AUTHENTICATION
        assert f"weft keys set lab --for {Endpoint(url).authority}" in hint_on(Face.CLI, caught.value.hint)
    found.set("lab", "other", "other.example")
    assert key_at("https://other.example/v1").reveal() == "other"
    assert key_at("https://lab.example/v1").reveal() == CANARY


def asked(server, provider, model):
    async def scene():
        async with server:
            made = provider(server.url)
            with contextlib.suppress(ProviderError):
                await gather(made, chat("Hi", model=model))
            await made.close()

    asyncio.run(scene())
    return server.heard


@covers("provider.key-bound-to-host")
def test_an_endpoint_with_a_vendors_name_does_not_receive_the_vendors_key(path, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {CANARY}\nX-Team: {CANARY}")

    def moved(name):
        def make(url):
            environment = {**os.environ, f"WEFT_COMPATIBLE_{name}": f"{url}/v1"}
            return Compatible(environment=environment, keys=keys(path, environment))

        return make

    server = Loopback([streamed(*CHAT.text(["x"]))])
    (heard,) = asked(server, moved("OPENAI"), "openai/gpt-4o")
    assert "canary" not in heard.head.decode()
    assert asked(Loopback([streamed()]), moved("OPENROUTER"), "openrouter/m") == [], (
        "it needs a key of its own"
    )


VARIABLES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL")


@covers("provider.key-bound-to-host")
@pytest.mark.parametrize("house", [ANTHROPIC, CHAT, GOOGLE], ids=lambda house: house.name)
def test_an_sdks_variable_for_its_address_leads_no_key_elsewhere(house, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, CANARY)

    def elsewhere(url):
        for variable in VARIABLES:
            monkeypatch.setenv(variable, url)
        return house.make()

    assert asked(Loopback([streamed(*house.text(["x"]))]), elsewhere, house.model) == []


@covers("provider.key-bound-to-host")
def test_an_sdks_other_credentials_are_not_sent(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", CANARY)
    server = Loopback([streamed(*ANTHROPIC.text(["x"]))])
    (heard,) = asked(
        server, lambda url: ANTHROPIC.make(connect(url, "anthropic", key="own-key")), ANTHROPIC.model
    )
    assert "own-key" in heard.head.decode()
    assert "canary" not in heard.head.decode()
