"""Limits of time, size and number, at a real socket where the connection itself decides."""

import contextlib
import gc
import gzip
import http.client
import json
import logging
import re
import socket
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.covers import covers
from tests.server.conftest import KEY, Asker

import weft
from weft.errors import InvalidInputError, LimitExceededError, RateLimitedError, UnavailableError
from weft.server import ServerSettings, create_app
from weft.server.auth import LOOPBACK
from weft.server.connection import GuardedConnection
from weft.server.lifecycle import AppServer, listening_at
from weft.server.rate_limit import BodiesInMemory, OpenRequests, RateLimiter

pytestmark = pytest.mark.outer

HEAD = f"Host: localhost\r\nAuthorization: Bearer {KEY}\r\n"


class Place:
    """A running server, spoken to in bytes."""

    def __init__(self, port: int, server: AppServer) -> None:
        self.port = port
        self.server = server

    @contextlib.contextmanager
    def connection(self) -> Generator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as made:
            yield made

    def say(self, *parts: str | bytes) -> bytes:
        """Send, and read until the server closes the connection."""
        with self.connection() as made:
            for part in parts:
                made.sendall(part if isinstance(part, bytes) else part.encode())
            return rest_of(made)


def rest_of(connection: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65_536):
            received += chunk
    return received


@contextlib.contextmanager
def running(grove: weft.Grove, settings: ServerSettings, proxies: Sequence[str] = ()) -> Generator[Place]:
    ready = threading.Event()
    server = AppServer(create_app(grove, settings), proxies)
    server.when_ready = ready.set
    with listening_at("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert ready.wait(30)
            yield Place(listening.getsockname()[1], server)
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[Place]:
    patience = pytest.MonkeyPatch()
    patience.setattr(GuardedConnection, "head_timeout", 0.3)
    patience.setattr(GuardedConnection, "write_timeout", 0.3)
    with weft.open(tmp_path_factory.mktemp("limits") / "grove.db") as grove:
        tree = grove.plant("Large", "x" * 15_000_000)
        settings = ServerSettings(keys=(KEY,), body_timeout=0.3, open_requests=3)
        with running(grove, settings) as started:
            started.tree = tree
            yield started
    patience.undo()
    with warnings.catch_warnings():
        # Of streams whose clients left without a word.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@covers("http.request-timeouts")
def test_a_connection_that_says_nothing_or_half_a_request_is_dropped(place):
    assert place.say() == b""
    assert place.say("GET /api/health HTT") == b""
    assert place.say("GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") == b""
    # Also after a request that was answered.
    answered = place.say(f"GET /api/health HTTP/1.1\r\n{HEAD}\r\n", "GET /api/hea")
    assert answered.count(b"HTTP/1.1 200") == 1


@covers("http.request-timeouts")
def test_a_head_that_drips_in_is_dropped_at_its_time_however_often_it_drips(place):
    began = time.monotonic()
    with place.connection() as made, contextlib.suppress(OSError):
        made.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n")
        made.settimeout(0.05)
        while time.monotonic() - began < 15:
            made.sendall(b"X-A: b\r\n")
            with contextlib.suppress(TimeoutError):
                if not made.recv(100):
                    break
    assert time.monotonic() - began < 15


@covers("http.request-timeouts")
def test_a_body_that_does_not_arrive_is_a_408_that_closes_the_connection(place):
    answer = place.say(f"POST /api/trees HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\n", '{"t')
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code":"TIMEOUT"' in answer
    assert b"connection: close" in answer.lower()


@covers("http.request-timeouts")
def test_a_client_that_does_not_read_its_answer_is_dropped(place, monkeypatch):
    lost, before = threading.Event(), GuardedConnection.connection_lost

    def connection_lost(self, exc):
        before(self, exc)
        lost.set()

    monkeypatch.setattr(GuardedConnection, "connection_lost", connection_lost)
    path = f"/api/trees/{place.tree.id}/nodes/{place.tree.root.id}"
    with place.connection() as made:
        made.sendall(f"GET {path} HTTP/1.1\r\n{HEAD}\r\n".encode())
        # Nothing is read, and what the system holds for it is not all.
        assert lost.wait(20)
        assert len(rest_of(made)) < 15_000_000


@covers("http.client-leaves")
def test_a_client_that_leaves_in_the_middle_of_its_body_is_one_line_in_the_log(place, caplog):
    caplog.set_level(logging.INFO)
    with place.connection() as made:
        made.sendall(f"POST /api/trees HTTP/1.1\r\n{HEAD}Content-Length: 1000\r\n\r\n{{".encode())
    # It is noticed when the next one is answered, or soon after.
    for _ in range(1_000):
        place.say(f"GET /api/health HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n")
        if caplog.records:
            break
    lines = [record.getMessage() for record in caplog.records if record.name.startswith(("weft", "uvicorn"))]
    assert lines == ["client left before its request was complete method=POST"]


@covers("http.caps-before-allocation")
def test_a_head_that_is_too_large_is_refused_in_the_form_of_every_error(place):
    answers = [
        place.say(f"GET /{'x' * 70_000} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"),
        place.say(f"GET / HTTP/1.1\r\n{HEAD}Connection: close\r\nCookie: {'x' * 70_000}\r\n\r\n"),
        place.say("\0\r\n\r\n"),
        place.say(f"GET /\0 HTTP/1.1\r\n{HEAD}\r\n"),
        place.say("GET / HTTP/1.1\r\n\r\n"),
        place.say(f"POST /api/trees HTTP/1.1\r\n{HEAD}Host: other\r\nContent-Length: 2\r\n\r\n{{}}"),
        place.say(f"POST /api/trees HTTP/1.1\r\n{HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"),
        place.say(f"POST /api/trees HTTP/1.1\r\n{HEAD}Content-Length: -2\r\n\r\n{{}}"),
        place.say(f"POST /api/trees HTTP/1.1\r\n{HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        place.say(f"POST /api/trees HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        place.say(
            f"POST /api/trees HTTP/1.1\r\n{HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            f"GET /api/trees HTTP/1.1\r\n{HEAD}\r\n",
        ),
        place.say(f"GET /api/trees?{'y' * 15_000} HTTP/1.1\r\n{HEAD}Connection: close\r\n\r\n"),
        place.say(f"{'Z' * 3_000} /api/trees HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
    ]
    for answer in answers:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 413")), answer[:300]
        assert answer.count(b"HTTP/1.1 ") == 1
        assert len(body) < 1_000
        assert json.loads(body)["code"] in {"INVALID_INPUT", "LIMIT_EXCEEDED", "PERMISSION_DENIED"}
        assert b"content-security-policy" in head
        assert b"xxx" not in body


@covers("http.caps-before-allocation", "security.deep-and-many")
def test_bombs_are_refused_before_they_are_unpacked(owner, loom):
    tree = loom.plant("T", "one")
    packed = gzip.compress(b"x" * 100_000)
    for name in ("gzip", "br", "deflate", "zstd", "GZIP", "identity, gzip"):
        answer = owner("POST", "/api/trees", content=packed, headers={"Content-Encoding": name})
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_INPUT")
        assert "compressed" in answer.json()["error"]
    assert owner("POST", "/api/trees", json={}, headers={"Content-Encoding": "identity"}).status_code == 200
    for depth in (101, 900, 95_000):
        for pair in ("[]", '{"a":}'):
            opening, closing = pair[:-1], pair[-1]
            deep = '{"title":' + opening * depth + ("0" if opening != "[" else "") + closing * depth + "}"
            answer = owner("POST", "/api/trees", content=deep[:199_000])
            assert answer.status_code == 400, (depth, pair, answer.text)
    for verb in ("ask", f"nodes/{tree.root.id}/generate"):
        for n in (10**9, 10**30, -1):
            answer = owner.post(f"/api/trees/{tree.id}/{verb}", {"text": "x", "n": n})
            assert answer.status_code in {400, 404, 413}, answer.text
    with pytest.raises((InvalidInputError, LimitExceededError)):
        tree.root.generate(n=10**9)
    for query in (f"limit={10**9}", f"limit={'9' * 5_000}"):
        assert owner.get(f"/api/trees?{query}").status_code == 400
    assert owner.get(f"/api/trees?limit={'1' * 40_000}").status_code == 413


@covers("http.caps-before-allocation")
def test_bodies_of_all_requests_together_have_a_limit_and_are_given_back(fresh_loom):
    held = BodiesInMemory(10)
    held.take(7)
    with pytest.raises(UnavailableError, match="too many large requests"):
        held.take(4)
    held.give_back(7)
    held.take(10)
    settings = ServerSettings(keys=(KEY,), memory_limit=1_000)
    with TestClient(create_app(fresh_loom, settings), base_url="http://localhost") as client:
        asker = Asker(client, KEY)
        for _ in range(5):
            assert asker.post("/api/trees", {"title": "x" * 800}).status_code in {200, 400}
            refused = asker.post("/api/trees", {"title": "x" * 1_200})
            assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
            assert refused.headers["retry-after"] == "1"
        # Nobody is known before signing in: that body is small.
        assert asker.post("/api/session", {"token": "x" * 5_000}).status_code == 413


@covers("http.rate-limits")
def test_a_bucket_refills_with_time_and_says_when_to_come_back():
    now = [0.0]
    limiter = RateLimiter(rate=2, burst=3, clock=lambda: now[0])
    for _ in range(3):
        limiter.take("a")
    with pytest.raises(RateLimitedError) as refused:
        limiter.take("a")
    assert refused.value.retry_after == 0.5
    limiter.take("b")
    now[0] = 0.5
    limiter.take("a")
    assert limiter.is_empty("a")
    now[0] = 100
    for _ in range(3):
        limiter.take("a")
    assert limiter.is_empty("a")


@covers("http.rate-limits")
def test_one_token_is_limited_and_another_is_not(fresh_loom):
    users = fresh_loom.users
    for name in ("ada", "bob"):
        users.add(name)
    ada, bob = (users.issue(name)[0] for name in ("ada", "bob"))
    settings = ServerSettings(keys=(KEY,), rate=0.001, burst=3, failures=2)
    with TestClient(create_app(fresh_loom, settings), base_url="http://localhost") as client:
        statuses = [Asker(client, ada).get("/api/trees").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        refused = Asker(client, ada).get("/api/trees")
        assert refused.json()["code"] == "RATE_LIMITED"
        assert int(refused.headers["retry-after"]) > 100
        assert Asker(client, bob).get("/api/trees").status_code == 200
        assert [Asker(client, KEY).get("/api/trees").status_code for _ in range(20)] == [200] * 20
        # Wrong tokens are limited by their address; a token that is known to be valid is still looked up.
        wrong = [Asker(client, f"weft_{number}").get("/api/trees").status_code for number in range(4)]
        assert wrong == [401, 401, 429, 429]
        assert Asker(client, bob).get("/api/trees").status_code == 200
        assert Asker(client, KEY).get("/api/trees").status_code == 200


@covers("http.rate-limits")
def test_streams_of_one_client_are_limited_and_counted_down_when_they_end(place):
    def follow() -> http.client.HTTPConnection:
        made = http.client.HTTPConnection("127.0.0.1", place.port, timeout=20)
        made.request(
            "GET", "/api/events?after=now", headers={"Authorization": f"Bearer {KEY}", "Host": "localhost"}
        )
        return made

    open_streams = [follow() for _ in range(3)]
    answers = [stream.getresponse() for stream in open_streams]
    assert [answer.status for answer in answers] == [200, 200, 200]
    more = follow()
    refused = more.getresponse()
    assert (refused.status, refused.getheader("retry-after")) == (429, "1")
    more.close()
    for stream, answer in zip(open_streams, answers, strict=True):
        answer.close()
        stream.close()
    status = 0
    for _ in range(500):
        again = follow()
        status = again.getresponse().status
        again.close()
        if status == 200:
            break
    assert status == 200


@covers("http.rate-limits")
def test_open_requests_are_counted_for_each_client():
    counter = OpenRequests(1)
    with counter.one("a"), counter.one("b"), pytest.raises(RateLimitedError), counter.one("a"):
        pass
    with counter.one("a"):
        pass


@pytest.mark.parametrize(
    "wrong", [{"rate": -1}, {"burst": 0}, {"open_requests": 0}, {"body_timeout": 0}, {"failures": 0}]
)
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="must be at least"):
        ServerSettings(**wrong)


@covers("teams.behind-a-proxy")
@pytest.mark.parametrize(
    ("proxies", "believed"), [((), False), (("127.0.0.1",), True), (("10.0.0.1",), False)]
)
def test_forwarded_headers_are_believed_only_from_proxies_that_were_named(tmp_path, proxies, believed):
    hosts = (*LOOPBACK, "weft.example.org")
    body = json.dumps({"token": KEY})
    headers = {
        "Host": "weft.example.org",
        "Origin": "https://weft.example.org",
        "X-Forwarded-For": "203.0.113.9",
        "X-Forwarded-Proto": "https",
    }
    with (
        weft.open(tmp_path / "grove.db") as grove,
        running(grove, ServerSettings(keys=(KEY,), hosts=hosts), proxies) as started,
    ):
        made = http.client.HTTPConnection("127.0.0.1", started.port, timeout=20)
        made.request("POST", "/api/session", body, headers)
        answer = made.getresponse()
        assert answer.status == 200
        answer.read()
        assert ("Secure" in answer.getheader("set-cookie")) is believed
        made.close()


@covers("teams.behind-a-proxy")
def test_the_page_about_teams_starts_the_server_with_options_that_exist():
    root = Path(__file__).parents[2]
    page, reference = (root / "docs/teams.md").read_text(), (root / "docs/cli.md").read_text()
    serve = reference[reference.index("### weft serve") :]
    (line,) = re.findall(r"ExecStart=.*weft serve (.*)", page)
    for option in re.findall(r"--[a-z-]+", line):
        assert option in serve
