"""Keys: where they are looked for, how they are kept, and that they are never shown."""

import asyncio
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

from weft.errors import InvalidInputError, NotFoundError, ProviderError, StorageError, Trouble
from weft.providers.keys import KeyPlace, Keys
from weft.providers.redaction import redact_key
from weft.providers.secret import Secret
from weft.providers.troubles import from_connection

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
    with pytest.raises(StorageError, match="others may read") as caught:
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
    keys(path).set("other", CANARY)
    assert [(each.name, each.place.value) for each in found.names()] == [
        ("anthropic", "keyring"),
        ("lab", "environment"),
        ("openai", "environment"),
        ("other", "file"),
    ]
    assert CANARY not in repr(found.names())
    found.delete("anthropic")
    found.delete("other")
    assert found.find("anthropic") is found.find("other") is None
    assert CANARY not in path.read_text() + repr(ring)
    for name in ("anthropic", "openai"):
        with pytest.raises(NotFoundError, match="no key is kept"):
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
    with pytest.raises(InvalidInputError, match="that is not a key"):
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
        assert f"what {where} holds for openai is not a key" in str(caught.value)
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
    with pytest.raises(StorageError, match="not a file of keys"):
        found.find("lab")
    path.write_text('{"lab": "y"}')
    assert found.problem is None


@pytest.mark.parametrize("name", ["", "../x", "Open AI", "a" * 65, "x\n"])
def test_a_name_is_a_providers(path, name):
    for act in (
        lambda: keys(path).set(name, "x"),
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
