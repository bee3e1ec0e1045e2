"""verify, provenance, timestamp, authority."""

import json
import sqlite3
from pathlib import Path

import pytest
from tests.cli.desk import Desk, run_weft
from tests.covers import covers
from tests.provenance.openssl import authority
from tests.provenance.small import BODY, answer

import weft
from weft.errors import CODES


def damage(desk: Desk, statement: str, *values: object) -> None:
    connection = sqlite3.connect(desk.address)
    with connection:
        assert connection.execute(statement, values).rowcount
    connection.close()


@covers("verify.scopes", "verify.invalid-names-the-difference", "verify.incomplete-names-what-is-missing")
def test_the_exit_code_and_the_first_word_say_whether_all_is_as_it_was_written(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    marie.ok("say", "Because.")
    assert marie.ok("verify").startswith("valid  3 nodes, 5 events in the grove")
    assert marie.ok("verify", "Marie/") == 'valid  3 nodes, 3 events in "Marie"'
    assert marie.ok("verify", "--tree", "Marie") == 'valid  3 nodes, 3 events in "Marie"'
    assert marie.ok("verify", ".") == 'valid  3 nodes in "Marie"'
    assert marie.ok("verify", said, "--node") == 'valid  1 node in "Marie"'
    assert marie.json("verify")["verdict"] == "valid"
    damage(marie, "UPDATE texts SET content = 'Why not?' WHERE content = 'Why?'")
    answer = marie("verify")
    assert answer.code == CODES["STORAGE"].exit
    assert answer.out.startswith("invalid  3 nodes")
    assert "hash differs: stored " in answer.out
    told = marie("verify", said, "--json")
    assert told.code == CODES["STORAGE"].exit
    assert json.loads(told.out)["findings"][0]["input"] == "narrow characters"
    damage(marie, "DELETE FROM texts WHERE content = 'Why not?'")
    assert marie("verify").code == CODES["NOT_FOUND"].exit
    assert "content is missing" in marie("verify", width=100).out


@covers("provenance.one-view", "provenance.raw-on-demand")
def test_provenance_is_drawn_piped_and_printed_raw(desk: Desk, tmp_path: Path) -> None:
    with weft.open(desk.address) as grove:
        grove.add_agent("sage", model_ref="local:sample")
        tree = grove.plant("T", "one")
        said = tree.root.say("Because.", author="sage", response=answer())
    shown = desk("provenance", said.id, width=80)
    lines = {line[:12].strip(): line[12:].strip() for line in shown.out.splitlines()}
    assert lines["chain"] == "valid, 2 nodes"
    assert lines["model"] == "sample-1 by sample"
    assert lines["request id"] == "req-1"
    assert lines["time"] == "not certified"
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    assert desk("provenance", said.id).out.count("\n") == shown.out.count("\n")
    value = desk.json("provenance", said.id)
    assert (value["chain"], value["contentHash"]) == ("valid", said.value.content_hash)
    raw = run_weft("provenance", said.id, "--raw", grove=desk.address)
    assert raw.stdout == BODY
    assert "no request" in desk.fail("NOT_FOUND", "provenance", said.id, "--request")
    assert "no raw response" in desk.fail("NOT_FOUND", "provenance", tree.value.root, "--raw")
    bundle = tmp_path / "b.zip"
    assert desk.ok("provenance", said.id, "--bundle", str(bundle)) == str(bundle)
    assert "exists already" in desk.fail("INVALID_INPUT", "provenance", said.id, "--bundle", str(bundle))
    elsewhere = Desk(str(tmp_path / "nothing" / "here.db"))
    assert elsewhere.ok("verify", "--bundle", str(bundle)) == "valid  2 nodes, 1 body in b.zip"
    bundle.write_bytes(bundle.read_bytes().replace(b"Because", b"Becauze"))
    assert elsewhere("verify", "--bundle", str(bundle)).code == CODES["STORAGE"].exit
    assert not (tmp_path / "nothing").exists()


@covers("timestamp.status", "timestamp.no-authority-by-default")
def test_a_node_and_the_whole_grove_are_certified(marie: Desk, tmp_path: Path) -> None:
    said = marie.ok("say", "Why?")
    assert "nothing leaves the machine" in marie.fail("INVALID_INPUT", "timestamp", said)
    assert marie("authority").err.startswith("no timestamp authority; add one")
    with authority() as tsa:
        trust = tmp_path / "ca.pem"
        trust.write_text(tsa.certificate)
        assert marie.ok("authority", "add", tsa.url, "--trust", str(trust)) == tsa.url
        assert marie.ok("authority") == f"{tsa.url}\t1 certificate"
        assert marie.ok("timestamp", said).endswith("\tpending")
        assert tsa.asked == 0
        assert marie.json("timestamp")["certified"] == 1
        assert marie.json("timestamp", "--all", "--wait")[0]["status"] == "certified"
        assert marie.json("timestamp", said, "--wait", "--authority", tsa.url)[0]["status"] == "certified"
        marie.ok("authority", "remove", tsa.url)
    assert marie.ok("verify").endswith("3 timestamps in the grove")
    assert "certified 20" in marie("provenance", said, width=120).out
    bundle = str(tmp_path / "b.zip")
    marie.ok("provenance", said, "--bundle", bundle)
    assert "give yours with --trust" in marie("verify", "--bundle", bundle).err
    assert marie("verify", "--bundle", bundle, "--trust", str(trust)).err == ""
    damage(marie, "UPDATE timestamps SET token = substr(token, 1, length(token) - 1) || x'00'")
    assert "token differs" in marie("verify").out


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "x", "--bundle", "f"),
        ("verify", "--trust", "f"),
        ("timestamp", ".", "--all"),
        ("provenance", ".", "--raw", "--request"),
        ("authority", "add", "ftp://x", "--trust", "/dev/null"),
        ("authority", "add", "http://x", "--trust", "/nowhere"),
        ("verify", "--bundle", "/nowhere"),
    ],
)
def test_nonsense_is_refused_in_words(marie: Desk, words: tuple[str, ...]) -> None:
    marie.fail("INVALID_INPUT", *words)
