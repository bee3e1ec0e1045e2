"""Evidence in one file, checked by someone who has nothing else."""

import io
import os
import random
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.covers import covers
from tests.provenance.openssl import Authority, make_authority
from tests.provenance.small import fill

import weft
from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.provenance.bundle import verify_bundle
from weft.provenance.findings import Report, Verdict


def made(grove: weft.Grove, tsa: Authority, path: Path) -> Path:
    """A bundle of the node with the richest ancestry: a merge with context below model answers."""
    fill(grove)
    tree = grove.tree("A talk")
    nodes = [row.node for row in grove.read.outline(tree.id)]
    node = grove.node(next(node for node in nodes if node.text == "With context").id)
    grove.set_authorities({tsa.url: tsa.certificate})
    node.timestamp()
    grove.fetch_timestamps()
    node.provenance().save_bundle(path)
    return path


@pytest.fixture(scope="module")
def evidence(running_authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("evidence")
    with weft.open(folder / "grove.db") as grove:
        return made(grove, running_authority, folder / "evidence.zip").read_bytes()


@pytest.fixture
def bundle(evidence: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "evidence.zip"
    path.write_bytes(evidence)
    return path


@pytest.mark.long
@covers("provenance.self-contained-bundle")
def test_another_installation_verifies_a_bundle_without_the_grove(
    bundle: Path, tsa: Authority, tmp_path: Path
) -> None:
    report = verify_bundle(bundle)
    assert (report.verdict, report.findings, report.timestamps, report.blobs) == (Verdict.VALID, (), 1, 1)
    assert report.nodes == 7
    assert report.bodies == 2
    assert verify_bundle(bundle, trust=tsa.certificate.encode()).valid
    (tmp_path / "other").mkdir()
    stranger = make_authority(tmp_path / "other", "Stranger").encode()
    (found,) = verify_bundle(bundle, trust=stranger).findings
    assert (found.kind, found.input) == ("timestamp", "token")


@covers("provenance.self-contained-bundle")
def test_a_bundle_that_could_not_be_finished_leaves_nothing_behind(tmp_path: Path) -> None:
    def give_up(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with weft.open(tmp_path / "grove.db") as grove:
        node = grove.plant("A talk", "Hello").say("And then?")
        folder = tmp_path / "out"
        folder.mkdir()
        with pytest.raises(KeyboardInterrupt):
            grove.evidence.write_bundle(node.tree_id, node.id, folder / "evidence.zip", progress=give_up)
        assert not list(folder.iterdir())


@pytest.mark.long
def test_a_bundle_made_twice_is_the_same_to_the_byte(
    fresh_loom: weft.Grove, tsa: Authority, tmp_path: Path
) -> None:
    bundle = made(fresh_loom, tsa, tmp_path / "evidence.zip")
    assert verify_bundle(bundle).valid
    tree = fresh_loom.tree("A talk")
    nodes = [row.node for row in fresh_loom.read.outline(tree.id)]
    node = fresh_loom.node(next(node for node in nodes if node.text == "With context").id)
    node.provenance().save_bundle(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()
    with pytest.raises(InvalidInputError, match="exists already"):
        node.provenance().save_bundle(bundle)
    with pytest.raises(InvalidInputError, match="cannot write"):
        node.provenance().save_bundle(tmp_path / "nowhere" / "b.zip")
    assert sorted(path.name for path in tmp_path.glob(".bundle-*")) == []


def outcome(path: Path) -> Report | WeftError:
    try:
        return verify_bundle(path)
    except WeftError as error:
        return error


@pytest.mark.long
def test_any_byte_changed_in_a_bundle_is_found(tmp_path: Path, evidence: bytes) -> None:
    whole = evidence
    chance = random.Random(7)
    every = range(len(whole))
    changed = tmp_path / "changed.zip"
    for at in every if os.environ.get("WEFT_PROVE") else chance.sample(every, 200):
        data = bytearray(whole)
        data[at] ^= chance.randrange(1, 256)
        changed.write_bytes(data)
        found = outcome(changed)
        assert isinstance(found, WeftError) or found.findings, at
    for data in (whole + b"\0", b"\0" + whole, whole[:-1], whole[1:], b"", b"PK"):
        changed.write_bytes(data)
        found = outcome(changed)
        assert isinstance(found, WeftError) or found.findings


def rewritten(path: Path, change: Callable[[zipfile.ZipFile], None], *, leave: str = "") -> Path:
    """A bundle with something done to its parts."""
    data = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(data, "w") as new:
        for entry in old.infolist():
            if entry.filename != leave:
                new.writestr(entry, old.read(entry))
        change(new)
    target = path.with_name("rewritten.zip")
    target.write_bytes(data.getvalue())
    return target


def symlink(archive: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("bodies/" + "0" * 64)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(entry, "/etc/passwd")


@pytest.mark.parametrize(
    "change",
    [
        lambda archive: archive.writestr("../evil", b""),
        lambda archive: archive.writestr("/etc/passwd", b""),
        lambda archive: archive.writestr("bodies/../../x", b""),
        lambda archive: archive.writestr("bodies/" + "A" * 64, b""),
        lambda archive: archive.writestr("nodes.jsonl/", b""),
        lambda archive: archive.writestr("bodies/" + "0" * 64, bytes(10**7), zipfile.ZIP_DEFLATED),
        symlink,
    ],
    ids=["up", "absolute", "through", "capitals", "folder", "bomb", "symlink"],
)
def test_a_hostile_part_is_refused_and_nothing_is_written(
    bundle: Path, change: Callable[[zipfile.ZipFile], None]
) -> None:
    before = sorted(bundle.parent.rglob("*"))
    found = outcome(rewritten(bundle, change))
    assert isinstance(found, InvalidInputError) or found.verdict is Verdict.INVALID
    assert sorted(bundle.parent.rglob("*")) == sorted([*before, bundle.with_name("rewritten.zip")])


def test_a_part_named_twice_is_refused(bundle: Path) -> None:
    def twice(archive: zipfile.ZipFile) -> None:
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("seal", b"0" * 64)

    assert isinstance(outcome(rewritten(bundle, twice)), InvalidInputError)


def test_a_part_that_is_missing_is_named(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        names = archive.namelist()
    for name in names:
        found = outcome(rewritten(bundle, lambda archive: None, leave=name))
        assert isinstance(found, Report)
        assert found.verdict is not Verdict.VALID
        assert any(name in str(finding) for finding in found.findings)


def test_a_body_that_unfolds_too_far_is_refused(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("weft.provenance.bundle._BODY_LIMIT", 10)
    assert isinstance(outcome(bundle), LimitExceededError)


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_bundle_is_said_so(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert verify_bundle(tmp_path / "x").verdict is not Verdict.VALID
    with pytest.raises(InvalidInputError, match="cannot read"):
        verify_bundle(tmp_path / "nothing")
    with pytest.raises(InvalidInputError, match="cannot read"):
        verify_bundle(tmp_path)
