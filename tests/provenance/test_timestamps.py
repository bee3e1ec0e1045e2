"""Times certified by a real RFC 3161 authority."""

import os
import random
import socket
import threading
from pathlib import Path

import pytest
from tests.covers import covers
from tests.provenance.openssl import Authority, _openssl, make_authority
from tests.provenance.test_verify import damage, tell

import weft
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError, UnavailableError
from weft.provenance.findings import Verdict
from weft.provenance.timestamps import StampStatus, certified_time, check_authority, request_token
from weft.runtime.evidence.timestamps import next_try_after
from weft.store import schema

MINUTE = 60 * 1_000_000
DIGEST = bytes(range(32))


@covers("timestamp.no-authority-by-default")
def test_nothing_leaves_the_machine_unasked(fresh_loom: weft.Grove, tsa: Authority) -> None:
    tree = fresh_loom.plant("T", "one")
    with pytest.raises(InvalidInputError, match="nothing leaves the machine unasked"):
        tree.root.timestamp()
    fresh_loom.set_authorities({tsa.url: tsa.certificate})
    tree.root.timestamp()
    assert tsa.asked == 0
    with pytest.raises(NotFoundError, match="not one of the grove's authorities"):
        tree.root.timestamp("http://127.0.0.1:1/other")
    assert fresh_loom.verify().valid


@covers("timestamp.rfc3161-over-the-hash", "timestamp.status", "timestamp.verified-locally")
def test_a_nodes_hash_is_certified_and_another_tool_agrees(
    fresh_loom: weft.Grove, tsa: Authority, tmp_path: Path
) -> None:
    tree = fresh_loom.plant("T", "one")
    node = tree.root.say("two")
    fresh_loom.set_authorities({tsa.url: tsa.certificate})
    (stamp,) = node.timestamp()
    (pending,) = node.provenance().value.timestamps
    assert (pending.id, pending.status, pending.certified_at) == (stamp, StampStatus.PENDING, None)
    assert fresh_loom.fetch_timestamps().certified == 1
    (certified,) = node.provenance().value.timestamps
    assert (certified.status, certified.authority) == (StampStatus.CERTIFIED, tsa.url)
    assert node.provenance().certified_at == certified.certified_at is not None
    assert fresh_loom.fetch_timestamps().certified == 0
    report = fresh_loom.verify()
    assert (report.verdict, report.timestamps) == (Verdict.VALID, 1)
    with fresh_loom.caller.executor.store.read() as session:
        row = session.execute(schema.timestamps.select()).one()
    (tmp_path / "reply").write_bytes(row.token)
    (tmp_path / "ca.pem").write_text(tsa.certificate)
    _openssl(
        tmp_path,
        *("ts", "-verify", "-digest", node.value.content_hash, "-in", "reply", "-CAfile", "ca.pem"),
    )


@covers("timestamp.whole-grove")
def test_a_grove_that_was_rewritten_whole_differs_from_what_was_certified(
    fresh_loom: weft.Grove, address: str, tsa: Authority
) -> None:
    tree, other = fresh_loom.plant("T", "one"), fresh_loom.plant("O", "two")
    tree.root.say("three")
    fresh_loom.set_authorities({tsa.url: tsa.certificate})
    fresh_loom.timestamp()
    fresh_loom.fetch_timestamps()
    tree.root.say("four")
    other.delete(confirm=other.id)
    assert fresh_loom.verify().findings == ()
    # Whoever rewrites everything ends with a chain that is sound in itself: here, one that is shorter.
    with fresh_loom.caller.executor.store.read() as session:
        kept = session.execute(schema.events.select().where(schema.events.c.tree == 1)).all()
    for statement in (
        "DELETE FROM events WHERE tree = 1 AND ordinal > 1",
        "DELETE FROM texts WHERE tree = 1 AND node > 1",
        "DELETE FROM cursors WHERE tree = 1",
        "DELETE FROM nodes WHERE tree = 1 AND key > 1",
    ):
        damage(fresh_loom, address, statement)
    damage(
        fresh_loom,
        address,
        "UPDATE trees SET events = 1, head = ?, nodes = 1, depth = 0, next_key = 2, updated_at = created_at "
        "WHERE key = 1",
        kept[0].hash,
    )
    report = fresh_loom.verify()
    assert report.verdict is Verdict.INVALID
    assert any(f"{tree.id}/2" in line and "timestamp" in line for line in tell(report))


@covers("timestamp.in-the-background", "timestamp.status")
def test_a_failure_is_tried_again_later_and_later_and_given_up_in_the_end(
    address: str, tsa: Authority
) -> None:
    now = [1_800_000_000_000_000]
    with weft.grove.grove.open_grove(address, clock=lambda: now[0]) as grove:
        tree = grove.plant("T", "one")
        grove.set_authorities({tsa.url: tsa.certificate})
        tree.root.timestamp()
        tsa.answers = [(503, b"")]
        now[0] += MINUTE
        assert grove.fetch_timestamps().failed == 1
        assert grove.fetch_timestamps().failed == 0
        (stamp,) = grove.evidence.timestamps(tree.id, tree.root.id)
        assert (stamp.status, stamp.attempts) == (StampStatus.PENDING, 1)
        assert "status 503" in (stamp.error or "")
        assert tsa.asked == 1
    # The request is a row: a new process continues it.
    now[0] += MINUTE
    with weft.grove.grove.open_grove(address, clock=lambda: now[0]) as grove:
        assert grove.fetch_timestamps().certified == 1
        (other,) = grove.tree("T").root.timestamp()
        tsa.answers = [(200, b"nonsense")] * 24
        now[0] += MINUTE
        for _ in range(24):
            assert grove.fetch_timestamps().failed == 1
            now[0] += 7 * 60 * MINUTE
        assert grove.fetch_timestamps(everything=True).failed == 0
        given_up = {stamp.id: stamp.status for stamp in grove.evidence.timestamps(tree.id)}
        assert given_up[other] is StampStatus.UNAVAILABLE
        assert grove.verify().valid


def wait_for(grove: weft.Grove, tree: str, status: StampStatus, attempts: int) -> None:
    """As long as it takes; the runner's patience ends what waits in vain."""
    pause = threading.Event()
    for _ in range(1_500):
        (stamp,) = grove.evidence.timestamps(tree)
        if (stamp.status, stamp.attempts) == (status, attempts):
            return
        pause.wait(0.02)
    raise AssertionError("waited in vain")


@covers("timestamp.in-the-background")
def test_an_open_grove_fetches_what_was_asked_for_by_itself(address: str, tsa: Authority) -> None:
    now = [1_800_000_000_000_000]

    def clock() -> int:
        now[0] += 1_000
        return now[0]

    with weft.grove.grove.open_grove(address, clock=clock, background=True) as grove:
        tree = grove.plant("T", "one")
        assert tsa.asked == 0
        grove.set_authorities({tsa.url: tsa.certificate})
        tsa.answers = [(503, b""), (503, b"")]
        tree.root.timestamp()
        wait_for(grove, tree.id, StampStatus.PENDING, 1)
        now[0] += MINUTE
        tree.say("a commit wakes it")
        wait_for(grove, tree.id, StampStatus.PENDING, 2)
    now[0] += 2 * MINUTE
    # The request and the time of the next try are rows: the next process that opens the grove continues.
    with weft.grove.grove.open_grove(address, clock=clock, background=True) as grove:
        wait_for(grove, tree.id, StampStatus.CERTIFIED, 2)
        assert grove.verify().valid
    with weft.open(address) as grove:
        assert grove.jobs.all(kind="timestamp") == []
    assert tsa.asked == 3


def test_an_authority_that_thinks_for_long_does_not_keep_a_grove_open(address: str) -> None:
    """The listener takes the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with weft.grove.grove.open_grove(address, background=True) as grove:
            grove.set_authorities({url: _any_certificate().decode()})
            grove.timestamp()
            silent.accept()[0].close()
        with weft.open(address) as again:
            assert [stamp.status for stamp in again.evidence.timestamps()] == [StampStatus.PENDING]


def test_waiting_doubles_up_to_six_hours() -> None:
    waits = [next_try_after(attempts) // 1_000_000 for attempts in (1, 2, 3, 11, 24, 1_000)]
    assert waits == [30, 60, 120, 21_600, 21_600, 21_600]


def test_several_authorities_certify_the_same_hash(fresh_loom: weft.Grove, tsa: Authority) -> None:
    tree = fresh_loom.plant("T", "one")
    fresh_loom.set_authorities({tsa.url: tsa.certificate, tsa.url + "/2": tsa.certificate})
    assert len(tree.root.timestamp()) == 2
    assert len(tree.root.timestamp(tsa.url)) == 1
    done = fresh_loom.fetch_timestamps()
    assert (done.certified, done.waiting) == (3, 0)
    fresh_loom.set_authorities({})
    assert fresh_loom.verify().valid


@pytest.mark.parametrize(
    "answers",
    [
        [(200, b"")],
        [(200, b"\x30\x03\x02\x01\x02")],
        [(200, bytes(2_000_000))],
        [(404, b"no")],
        [(302, b"http://127.0.0.1:1/")],
    ],
)
def test_an_answer_that_is_no_timestamp_is_refused(tsa: Authority, answers: list[tuple[int, bytes]]) -> None:
    tsa.answers = answers
    with pytest.raises((InvalidInputError, UnavailableError)):
        request_token(tsa.url, DIGEST, tsa.certificate.encode())
    assert tsa.asked == 1


@covers("timestamp.verified-locally")
def test_a_strangers_or_a_changed_token_is_not_believed(tsa: Authority, tmp_path: Path) -> None:
    token = request_token(tsa.url, DIGEST, tsa.certificate.encode())
    assert certified_time(token.response, DIGEST, token.certificates) == token.time
    stranger = make_authority(tmp_path, "Somebody else").encode()
    for answer, digest, certificates in (
        (token.response, DIGEST[::-1], token.certificates),
        (token.response, DIGEST, stranger),
        (token.response, DIGEST, b""),
        (token.response[:-1], DIGEST, token.certificates),
        (b"", DIGEST, token.certificates),
    ):
        with pytest.raises(InvalidInputError):
            certified_time(answer, digest, certificates)
    replayed = [(200, token.response)]
    tsa.answers = replayed
    with pytest.raises(InvalidInputError, match="Nonce"):
        request_token(tsa.url, DIGEST, tsa.certificate.encode())


@covers("verify.finds-any-change", "timestamp.verified-locally")
@pytest.mark.long
def test_a_token_or_a_certificate_with_any_byte_changed_holds_as_it_was_or_is_refused(tsa: Authority) -> None:
    """What the libraries make of damaged bytes is never anything but a refusal."""
    token = request_token(tsa.url, DIGEST, tsa.certificate.encode())
    chance = random.Random(2026)
    refused = 0
    for whole in (token.response, token.certificates):
        step = 1 if os.environ.get("WEFT_PROVE") else 7
        for at in range(chance.randrange(step), len(whole), step):
            changed = bytearray(whole)
            changed[at] ^= chance.randrange(1, 256)
            answer = bytes(changed) if whole is token.response else token.response
            certificates = bytes(changed) if whole is token.certificates else token.certificates
            try:
                assert certified_time(answer, DIGEST, certificates) == token.time
            except InvalidInputError:
                refused += 1
    assert refused


def test_an_authority_that_does_not_answer_is_said_so() -> None:
    with pytest.raises(UnavailableError, match="does not answer"):
        request_token("http://127.0.0.1:1/", DIGEST, _any_certificate(), timeout=1)


def _any_certificate() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return make_authority(Path(folder)).encode()


@pytest.mark.parametrize(
    "address",
    ["ftp://a/", "file:///etc/passwd", "http://", "a.b", "http://u:p@a/", "http://a b/", "http://a:x/"],
)
def test_only_plain_web_addresses_are_authorities(address: str) -> None:
    with pytest.raises(InvalidInputError):
        check_authority(address)


def test_models_do_not_choose_authorities(fresh_loom: weft.Grove, tsa: Authority) -> None:
    fresh_loom.add_agent("sage", model_ref="local:sample", permissions=["loom_aware", "loom_write"])
    with pytest.raises(PermissionDeniedError):
        fresh_loom.acting_as("sage").set_authorities({tsa.url: tsa.certificate})
    with pytest.raises(InvalidInputError, match="no certificates"):
        fresh_loom.set_authorities({tsa.url: "trust me"})


def test_deleting_a_tree_takes_its_timestamps_along(fresh_loom: weft.Grove, tsa: Authority) -> None:
    tree = fresh_loom.plant("T", "one")
    fresh_loom.set_authorities({tsa.url: tsa.certificate})
    tree.root.timestamp()
    tree.delete(confirm=tree.id)
    with fresh_loom.caller.executor.store.read() as session:
        assert session.execute(schema.timestamps.select()).all() == []
    assert fresh_loom.verify().valid
