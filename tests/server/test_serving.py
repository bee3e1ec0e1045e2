"""A real server at a real socket: its link, its streams, its end."""

import contextlib
import http.client
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests import postgres
from tests.covers import covers
from tests.server.served import Served

import weft
from weft.errors import UnavailableError
from weft.server.lifecycle import ServerAddress, serve


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(str(tmp_path / "grove.db"))
    yield server
    for connection in server.connections:
        connection.close()
    if server.process.poll() is None:
        server.process.kill()
        server.process.communicate()


def events(stream, count: int) -> list[tuple[str, dict]]:
    """So many events, each with its id."""
    found, name = [], ""
    while len(found) < count:
        line = stream.readline().decode().rstrip("\n")
        if line.startswith("id: "):
            name = line.removeprefix("id: ")
        elif line.startswith("data: "):
            found.append((name, json.loads(line.removeprefix("data: "))))
    return found


@covers("http.loopback", "http.one-time-link", "http.all-streams", "event.one-stream", "http.orderly-end")
def test_a_server_is_entered_followed_and_stopped(served):
    assert served.parts.hostname == "127.0.0.1"
    connection = served.connect()
    connection.request("GET", served.address["link"].removeprefix(served.address["url"]))
    entered = connection.getresponse()
    assert (entered.status, entered.getheader("location")) == (303, "/")
    stream = served.follow("now")
    assert stream.getheader("content-type").startswith("text/event-stream")
    assert served.ask("POST", "/api/trees", {"title": "Marie"})[0] == 200
    first, second = events(stream, 2)
    assert [first[1]["kind"], second[1]["kind"]] == ["plant", "plant"]
    again = events(served.follow(first[0]), 1)
    assert again == [second]
    code, said = served.stop(signal.SIGTERM)
    assert code == 0
    assert said.endswith("stopped\n")
    assert stream.read() is not None


@covers("http.orderly-end")
def test_ctrl_c_ends_it_and_what_was_written_is_there(served, tmp_path):
    status, kept = served.ask("POST", "/api/records", {"records": [{"name": "n", "value": "kept"}]})
    assert status == 200
    assert served.stop(signal.SIGINT)[0] == 0
    with weft.open(tmp_path / "grove.db") as grove:
        assert [each.id for each in grove.records.list("n")] == [kept["records"][0]["id"]]


def test_a_port_that_is_taken_is_said_to_be(tmp_path):
    import socket

    with socket.socket() as taken, weft.open(tmp_path / "grove.db") as grove:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UnavailableError, match="cannot listen at 127.0.0.1 port"):
            serve(grove, port=taken.getsockname()[1], ready=lambda _: None)


@covers("http.never-blocks")
def test_the_loop_goes_on_while_the_store_is_busy(tmp_path):
    """While one request waits for the database, another is answered."""
    started, go_on = threading.Event(), threading.Event()
    addresses: list[ServerAddress] = []
    ready = threading.Event()

    def is_ready(address: ServerAddress) -> None:
        addresses.append(address)
        ready.set()

    from weft.server import lifecycle as serving

    with weft.open(tmp_path / "grove.db") as grove:
        stop: list = []
        original = serving.AppServer.startup

        async def startup(self, sockets=None):
            stop.append(self)
            await original(self, sockets)

        serving.AppServer.startup = startup
        thread = threading.Thread(target=lambda: serve(grove, port=0, ready=is_ready))
        try:
            thread.start()
            assert ready.wait(30)
            holding = threading.Thread(target=lambda: _hold(grove, started, go_on))
            holding.start()
            assert started.wait(30)
            parts = urlsplit(addresses[0].url)
            token = {"Authorization": f"Bearer {addresses[0].token}"}
            waiting, other = (
                http.client.HTTPConnection(parts.hostname, parts.port, timeout=30) for _ in range(2)
            )
            with contextlib.closing(waiting), contextlib.closing(other):
                waiting.request("POST", "/api/trees", "{}", token)
                other.request("GET", "/api/health")
                assert other.getresponse().status == 200
                go_on.set()
                assert waiting.getresponse().status == 200
            holding.join()
        finally:
            serving.AppServer.startup = original
            go_on.set()
            for server in stop:
                server.should_exit = True
            thread.join()


def _hold(grove: weft.Grove, started: threading.Event, go_on: threading.Event) -> None:
    def work(transaction):
        started.set()
        go_on.wait(30)

    grove.read.store.write(work)


@covers("postgres.stateless-servers")
def test_two_servers_stand_in_front_of_one_grove(postgres_server):
    """What one was told the other knows at once, whoever is asked; one that is killed is not missed."""
    with postgres.database(postgres_server) as address:
        servers = [Served(address), Served(address)]
        with weft.open(address) as grove:
            grove.users.add("ada", role="editor")
            token, _ = grove.users.issue("ada")
        for server in servers:
            server.address["token"] = token
        try:
            for number in range(6):
                record = {"name": "notes", "id": f"n{number}", "createTime": number, "value": number}
                status, _ = servers[number % 2].ask("POST", "/api/records", {"records": [record]})
                assert status == 200
                for server in servers:
                    _, found = server.ask("GET", "/api/records?name=notes")
                    assert [each["id"] for each in found["records"]] == [f"n{n}" for n in range(number + 1)]
            servers[0].stop(signal.SIGKILL)
            assert servers[1].ask("GET", "/api/records?name=notes&limit=1")[0] == 200
        finally:
            for server in servers:
                for connection in server.connections:
                    connection.close()
                if server.process.poll() is None:
                    server.stop()
