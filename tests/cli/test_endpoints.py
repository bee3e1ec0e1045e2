"""Endpoints with their keys: endpoints."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers
from tests.providers.houses import HOUSES
from tests.providers.loopback import serving, streamed

KEY = "sk-lab-canary-0123456789"


@pytest.fixture
def desk(desk: Desk, empty_tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    shutil.copy(empty_tables, desk.address)
    monkeypatch.setenv("WEFT_KEYS", str(tmp_path / "own" / "keys.json"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return desk


def files(desk: Desk) -> list[Path]:
    return sorted(Path(os.environ["WEFT_KEYS"]).parent.iterdir())


def asked(desk: Desk, question: str) -> str:
    """What a process of its own prints: it closes its connections as it ends."""
    command = [sys.executable, "-m", "weft.cli", "ask", question, "--model", "compatible:lab/big"]
    done = subprocess.run(
        [*command, "--grove", desk.address],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout


def lowered(headers) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers]


@covers("endpoints.kept-with-key", "provider.keys-never-shown")
def test_an_endpoint_is_kept_with_its_key_in_files_that_only_the_owner_reads(desk):
    told = desk("endpoints", "add", "lab", "https://lab.example/v1", stdin=f"{KEY}\n")
    assert told.code == 0
    assert "for lab.example only" in told.err
    shown = [told.out + told.err, desk.ok("endpoints"), json.dumps(desk.json("endpoints", "ls"))]
    assert not [text for text in shown if KEY in text]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files(desk)] == [0o600, 0o600]
    assert KEY not in Path(desk.address).read_bytes().decode("latin-1")
    [lab] = [each for each in desk.json("endpoints") if each["name"] == "lab"]
    assert (lab["url"], lab["private"]) == ("https://lab.example/v1", False)
    assert lab["key"].endswith("keys.json")
    assert "removed lab" in desk("endpoints", "remove", "lab").err
    assert [path.name for path in files(desk) if KEY in path.read_text()] == []
    assert "no endpoint 'lab'" in desk.fail("NOT_FOUND", "endpoints", "remove", "lab")


@covers("endpoints.key-bound-to-host")
def test_the_key_goes_to_its_own_host_and_does_not_follow_another_address(desk):
    async def say(heard, writer):
        await streamed(*HOUSES["compatible"].text(["Aye."]))(heard, writer)

    with serving(say) as server, serving(say) as other:
        assert desk("endpoints", "add", "lab", server.url, stdin=KEY).code == 0
        assert asked(desk, "Ready?") == "Aye.\n"
        assert ("authorization", f"Bearer {KEY}") in lowered(server.heard[-1].headers)
        assert "replaced lab" in desk("endpoints", "add", "lab", other.url, stdin="").err
        with pytest.raises(subprocess.CalledProcessError) as refused:
            asked(desk, "And now?")
        assert "MODEL_ERROR" in refused.value.stderr
        assert other.heard == []
        desk.ok("endpoints", "remove", "lab")
        desk.ok("keys", "rm", "lab")
        desk.ok("endpoints", "add", "lab", other.url, "--no-key")
        assert asked(desk, "And now?") == "Aye.\n"
        assert KEY not in str(other.heard[-1].headers)


@covers("endpoints.kept-with-key")
def test_what_cannot_be_an_endpoint_is_refused_and_nothing_is_kept(desk):
    for name, url in (
        ("lab", "ftp://lab.example"),
        ("lab", "https://me:secret@lab.example/v1"),
        ("lab", "http://lab.example/v1"),
        ("Lab!", "https://lab.example/v1"),
    ):
        assert KEY not in desk.fail("INVALID_INPUT", "endpoints", "add", name, url, stdin=KEY)
    assert not Path(os.environ["WEFT_KEYS"]).parent.exists()


@covers("provider.broken-keeps-no-others")
def test_a_file_that_cannot_be_read_leaves_the_others(desk):
    desk.ok("endpoints", "add", "lab", "https://lab.example/v1", "--no-key")
    files(desk)[0].write_text("{")
    listed = desk("endpoints")
    assert "left out" in listed.err
    assert "ollama" in listed.out


@covers("cli.models")
def test_an_endpoints_name_where_a_provider_belongs_is_answered_with_the_right_one(desk):
    desk.ok("endpoints", "add", "lab", "http://127.0.0.1:9/v1", stdin="\n")
    desk.ok("agents", "add", "Lab", "--model", "lab:big")
    desk.ok("new", "Tea")
    refused = desk.fail("NOT_FOUND", "gen", "--agent", "Lab")
    assert "lab is an endpoint: write compatible:lab/MODEL" in refused
