"""Damaged and forged files: a typed error that names the place, and nothing is imported."""

import base64
import gzip
import hashlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.soundness import check_sound
from tests.transfer.rich import fill

import weft
from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.runtime.transfer.import_target import DryRun
from weft.runtime.transfer.importer import read_records
from weft.store.blobs import BlobStore

Record = dict[str, Any]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with one tree of each mode."""
    with weft.open(tmp_path_factory.mktemp("good") / "grove.db") as grove:
        fill(grove, b"a small picture")
        file = io.BytesIO()
        grove.export(file, ["Marie", "Story"])
        return file.getvalue()


def records_of(file: bytes) -> list[Record]:
    return json.loads(file)["records"]


def written(records: list[Any], scope: str = "trees") -> bytes:
    """The records as a file whose last line is right."""
    head = json.dumps({"format": "weft", "version": 1, "scope": scope})[:-1] + ', "records":[\n'
    body = ",\n".join(json.dumps(record) for record in records)
    data = (head + body + ("\n" if records else "")).encode()
    digest = hashlib.sha256(data).hexdigest()
    return data + f'],"count":{len(records)},"sha256":"{digest}"}}\n'.encode()


def look(file: bytes, folder: Path) -> None:
    path = folder / "file.json"
    path.write_bytes(file)
    read_records(path, DryRun(BlobStore(folder / "blobs")))


def first(records: list[Record], kind: str, index: int = 0) -> Record:
    return [record for record in records if record["record"] == kind][index]


def test_the_file_is_one_json_document_and_one_record_a_line(good: bytes, tmp_path: Path):
    records = records_of(good)
    assert [json.loads(line.rstrip(b",")) for line in good.splitlines()[1:-1]] == records
    look(written(records), tmp_path)


def change(kind: str, index: int = 0, **values: Any) -> Callable[[list[Record]], None]:
    def apply(records: list[Record]) -> None:
        record = first(records, kind, index)
        for name, value in values.items():
            if value is ...:
                del record[name]
            else:
                record[name] = value

    return apply


def drop(kind: str, index: int = 0) -> Callable[[list[Record]], None]:
    return lambda records: records.remove(first(records, kind, index))


def double(kind: str, index: int = 0) -> Callable[[list[Record]], None]:
    def apply(records: list[Record]) -> None:
        record = first(records, kind, index)
        records.insert(records.index(record), dict(record))

    return apply


def swap(kind: str, one: int, other: int) -> Callable[[list[Record]], None]:
    def apply(records: list[Record]) -> None:
        a, b = (records.index(first(records, kind, index)) for index in (one, other))
        records[a], records[b] = records[b], records[a]

    return apply


def nest(records: list[Record]) -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    first(records, "event")["payload"] = {"x": deep}


def repoint(records: list[Record]) -> None:
    """A cycle: a node made from one that comes after it."""
    later = first(records, "node", 3)
    first(records, "node", 1)["sources"] = [
        {"id": later["id"], "role": "primary", "hash": later["contentHash"]}
    ]


def rewrite_source(records: list[Record]) -> None:
    first(records, "node", 2)["sources"][0]["hash"] = "0" * 64


BAD: dict[str, tuple[Callable[[list[Record]], None], str]] = {
    "content": (
        change("node", 1, content={"type": "text", "text": "forged"}),
        "content or createdAt differs",
    ),
    "time": (change("node", 1, createdAt="2001-01-01T00:00:00.000000Z"), "content or createdAt differs"),
    "role": (change("node", 1, role="system"), "does not match its hash: role differs"),
    "status": (change("node", 1, status="interrupted"), "does not match its hash: status differs"),
    "edge type": (change("node", 2, edgeType="annotation"), "edgeType differs"),
    "hash": (change("node", 1, contentHash="0" * 64), "does not match its hash"),
    "source's hash": (rewrite_source, "its source differs"),
    "a response put by": (change("node", 1, response=1), "only a model's node carries a response"),
    "cycle": (repoint, "is not a node before this one"),
    "two roots": (change("node", 1, sources=..., edgeType=...), "does not match its hash"),
    "no root": (drop("node"), "is not a node before this one|announced"),
    "a node too few": (drop("node", -1), "announced|is not a node before"),
    "a node twice": (double("node", 1), "occurs twice"),
    "order": (swap("node", 1, 2), "is not a node before this one"),
    "an event too few": (drop("event", -1), "events of tree .* are missing"),
    "an event from the middle": (drop("event", 2), "does not match its hash"),
    "an event's payload": (change("event", 1, payload={"nodes": []}), "event 2 .* does not match its hash"),
    "an event's agent": (
        change("event", 1, agentId="0" * 26),
        "agentId names an agent that is not in the file",
    ),
    "events in another order": (swap("event", 1, 2), "does not match its hash"),
    "the head": (change("tree", head="0" * 64), "events of tree"),
    "a body": (change("body", data=base64.b64encode(b"other").decode(), size=5), "does not match its hash"),
    "a body twice": (double("body"), "occurs twice"),
    "a body's size": (change("body", size=99), "the rest of .* is missing"),
    "a huge body": (change("body", size=2**60), "more than the limit"),
    "no body": (drop("body"), "not in the file"),
    "a blob": (change("blob", data=base64.b64encode(b"x" * 15).decode()), "does not match its hash"),
    "no blob": (drop("blob"), "which is not in the file"),
    "not base64": (change("body", data="%%%"), "must be base64"),
    "no agent": (drop("agent"), "not in the file"),
    "an agent twice": (double("agent"), "occurs twice"),
    "an agent's type": (change("agent", type="ghost"), "type must be one of"),
    "a model without a model": (change("agent", type="model"), "model_ref"),
    "a permission": (change("agent", permissions=["root"]), "is not a permission"),
    "no project": (drop("project"), "a projectRevision follows its project"),
    "a cursor elsewhere": (change("cursor", node="0" * 26), "not a node before"),
    "a cursor twice": (double("cursor"), "occurs twice"),
    "a selection": (change("selection", position="0" * 26), "not a node before"),
    "a group twice": (double("group"), "occurs twice"),
    "a tag twice": (double("tag"), "order of their numbers"),
    "a tag on nothing": (change("tag", target={"kind": "tree", "id": "0" * 26}), "is not in the file"),
    "a link with one end": (change("link", ends=[]), "two ends"),
    "a tree twice": (double("tree"), "occurs twice|announced"),
    "a tree's counts": (change("tree", nodes=3), "one more"),
    "no nodes": (change("tree", nodes=0), "at least its root"),
    "a mode": (change("tree", mode="heap"), "mode must be one of"),
    "a title of another kind": (change("tree", title=7), "title must be a string"),
    "a title with a NUL": (change("tree", title="a\x00b"), "NUL"),
    "a lone surrogate": (change("tree", title="a\ud800b"), "not a JSON value"),
    "a local id": (change("node", localId="../x"), "is not a local id"),
    "a local id twice": (change("node", 2, localId=...), "localId must be a string"),
    "an unknown field": (change("node", 1, extra=1), "'extra' is unknown"),
    "an unknown record": (change("cursor", record="spell"), "not a record that is known"),
    "no kind of record": (change("cursor", record=...), "record must name the kind"),
    "a time": (change("tree", createdAt="yesterday"), "must be a time"),
    "a day that is none": (change("tree", createdAt="2026-02-31T00:00:00.000000Z"), "must be a time"),
    "a number": (change("tree", nodes=True), "whole number"),
    "a large number": (change("attempt", response=2**40), "whole number"),
    "the number of an event that no store can count": (change("node", 1, hidden=2**63), "whole number"),
    "a manifest": (change("attempt", manifest="AAAA"), "manifest does not match"),
    "a segment": (change("attempt", segments=["0" * 64]), "not in the file"),
    "an attempt twice": (double("attempt"), "occurs twice"),
    "depth": (nest, "nested deeper"),
    "a version of nothing": (change("node", -1, versionOf="0" * 26), "not a node before|does not match"),
    "a grove in a file of trees": (
        lambda records: records.insert(0, {"record": "grove"}),
        "only in a file of a whole grove",
    ),
    "a late agent": (lambda records: records.append(records[0]), "comes too late"),
}


def kind_of(record: Record) -> str:
    return str(record["record"])


@covers("import.bad-file")
@pytest.mark.parametrize(("spoil", "message"), BAD.values(), ids=BAD.keys())
def test_a_wrong_record_is_refused_with_its_place(good: bytes, tmp_path: Path, spoil: Any, message: str):
    records = records_of(good)
    spoil(records)
    data = written(records)
    with pytest.raises(WeftError, match=message) as caught:
        look(data, tmp_path)
    assert isinstance(caught.value, InvalidInputError | LimitExceededError)
    assert caught.value.message.startswith(("line ", "tree ", "events of tree "))


FORMS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda file: b"", "is empty"),
    "text": (lambda file: b"hello\n" * 9, "not a file in Weft's own JSON"),
    "other JSON": (lambda file: b'{"mapping": {}}\n', "does not begin a file"),
    "a long line": (lambda file: b"{" + b" " * 20_000, "not a file in Weft's own JSON"),
    "laid out differently": (
        lambda file: json.dumps(json.loads(file), indent=1).encode(),
        "does not begin a file",
    ),
    "a newer version": (lambda file: file.replace(b'"version":1', b'"version":2', 1), "version 2"),
    "cut between lines": (lambda file: b"".join(file.splitlines(keepends=True)[:20]), "ends too early"),
    "cut in a line": (lambda file: file[: len(file) // 2], "ends in the middle|not a JSON value"),
    "without its end": (lambda file: b"".join(file.splitlines(keepends=True)[:-1]), "ends too early"),
    "with more after it": (lambda file: file + b"more", "after the end|last line is damaged"),
    "a changed letter": (lambda file: file.replace(b'"Marie"', b'"Maria"', 1), "sha256 does not match"),
    "not UTF-8": (lambda file: file.replace(b"Marie", b"Mari\xff", 1), "not a JSON value"),
    "a comma less": (lambda file: file.replace(b"},\n", b"}\n", 1), "comma is missing"),
    "compressed and cut": (lambda file: gzip.compress(file)[:-30], "damaged or cut off"),
    "compressed and spoiled": (
        lambda file: (packed := gzip.compress(file))[:100] + b"\x00" * 50 + packed[150:],
        "damaged or cut off|not a JSON value|begin",
    ),
}


@covers("import.bad-file")
@pytest.mark.parametrize(("spoil", "message"), FORMS.values(), ids=FORMS.keys())
def test_a_changed_file_is_refused(good: bytes, tmp_path: Path, spoil: Any, message: str):
    with pytest.raises(InvalidInputError, match=message):
        look(spoil(good), tmp_path)


@covers("import.bad-file", "import.all-or-nothing")
def test_nothing_of_a_bad_file_is_imported(good: bytes, tmp_path: Path):
    records = records_of(good)
    first(records, "node", -1)["contentHash"] = "0" * 64
    with weft.open(tmp_path / "grove.db") as grove:
        with pytest.raises(InvalidInputError, match="does not match its hash"):
            grove.import_(io.BytesIO(written(records)))
        assert grove.trees(archived=True) == []
        assert len(grove.agents()) == 1
        assert list(grove.read.store.blobs.all()) == []
        grove.import_(io.BytesIO(good))
        check_sound(grove)


@covers("import.limits")
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_early(tmp_path: Path):
    bomb = gzip.compress(b'{"format":"weft","version":1,"scope":"trees","records":[\n' + b" " * 2**27)
    assert len(bomb) < 200_000
    with pytest.raises(LimitExceededError, match="unpacks to more than"):
        look(bomb, tmp_path)


@covers("import.limits")
def test_lists_and_lines_have_limits(good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    records = records_of(good)
    node = first(records, "node", 1)
    node["sources"] = [node["sources"][0]] * 300
    with pytest.raises(LimitExceededError, match="300 entries, the limit is 256"):
        look(written(records), tmp_path)
    monkeypatch.setattr("weft.interop.weft_json._LINE_LIMIT", 200)
    with pytest.raises(LimitExceededError, match="longer than 200 bytes"):
        look(good, tmp_path)


def refusal_of(file: bytes, folders: pytest.TempPathFactory) -> str | None:
    try:
        look(file, folders.getbasetemp())
    except WeftError as error:
        return error.code
    return None


@covers("import.typed-errors")
@settings(max_examples=100)
@given(st.data())
@pytest.mark.long
def test_any_change_to_a_file_gives_a_value_or_a_typed_error(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    """Values of every kind in every place; the last line is made right, so that it is not that which fails."""
    records = [record for record in records_of(good) if record["record"] != "blob"]
    for _ in range(data.draw(st.integers(1, 3))):
        record = data.draw(st.sampled_from(records))
        name = data.draw(st.sampled_from(sorted(record)))
        junk = st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
            ),
            max_leaves=4,
        )
        record[name] = data.draw(junk)
    assert refusal_of(written(records), tmp_path_factory) in {None, "INVALID_INPUT", "LIMIT_EXCEEDED"}


@settings(max_examples=60)
@given(st.data())
def test_any_bytes_give_a_value_or_a_typed_error(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    cut, junk, gone = data.draw(st.tuples(st.integers(0, 3_000), st.binary(max_size=40), st.integers(0, 9)))
    file = good[:cut] + junk + good[cut + gone :]
    assert (refusal_of(file, tmp_path_factory) is None) == (file == good)


@covers("import.linear")
@pytest.mark.long
def test_work_grows_with_the_file_and_no_faster(tmp_path: Path):
    def calls(nodes: int) -> int:
        with weft.open(tmp_path / f"{nodes}.db") as grove:
            tree = grove.plant("Long", "root")
            for index in range(nodes):
                tree.say(f"word {index}")
            file = io.BytesIO()
            grove.export(file)
        count = 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counted)
        try:
            look(file.getvalue(), tmp_path)
        finally:
            sys.setprofile(None)
        return count

    assert calls(240) < 4.2 * calls(60)
