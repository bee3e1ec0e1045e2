"""Proofs over HTTP: text survives the server, streams resume everywhere, several servers are one."""

import contextlib
import os
import socket
import threading

import psycopg
import pytest
from tests import postgres
from tests.covers import covers
from tests.server.live import KEY, LiveServer, ServerProcess
from tests.server.streaming import CHUNKS

import weft
from weft.runtime.generation.live_text import text_in_pieces
from weft.store.model_calls import calls_under_way, pieces_of
from weft.tree.node import Status

WHOLE = bool(os.environ.get("WEFT_PROVE"))
KILLED_AT = range(1, len(CHUNKS) + 1) if WHOLE else (1, 77)
WRITERS, EACH = (100, 10) if WHOLE else (8, 4)


@contextlib.contextmanager
def process(address: str, chunks: int):
    server = ServerProcess(address, chunks)
    try:
        yield server
    finally:
        server.kill()


def text_on(stream, wanted: str) -> None:
    """Read a stream until so much text has come."""
    said = ""
    for name, _, data in stream.events():
        if name == "text":
            assert data["offset"] <= len(said)
            said = said[: data["offset"]] + data["text"]
        if said == wanted:
            return


@covers("proof.killed-at-every-chunk", "run.text-by-offset")
@pytest.mark.long
def test_a_server_killed_at_any_chunk_leaves_the_text_as_interrupted_for_the_next_server(address, figure):
    with weft.open(address) as grove:
        tree = grove.plant("Talk", "Count.")
        root = tree.root.id
    for chunks in KILLED_AT:
        said = "".join(CHUNKS[:chunks])
        with process(address, chunks) as server:
            with server.follow() as stream:
                run = server.ask("POST", f"/api/trees/{tree.id}/nodes/{root}/generate", {})[1]["run"]
                text_on(stream, said)
            attempt = run["attempts"][0]["id"]
            # What was shown may be a moment younger than what is durable.
            durable = 0
            with weft.open(address) as other:
                while durable < len(said):
                    with other.caller.store.read() as session:
                        (call,) = calls_under_way(session)
                        pieces = pieces_of(session, call.call.tree, call.call.attempt)
                    durable = len(text_in_pieces(pieces).get((0, "t"), ""))
            server.process.kill()
            server.process.wait()
        with weft.open(address) as grove, contextlib.closing(LiveServer(grove)) as server:
            ended = server.ask("GET", f"/api/runs/{run['id']}")[1]
            assert (ended["status"], ended["attempts"][0]["status"]) == ("failed", "interrupted")
            node = grove.read.node(tree.id, ended["attempts"][0]["node"])
            assert (node.content.text, node.status) == (said, Status.INTERRUPTED)
            half = len(said) // 2
            rest = server.ask("GET", f"/api/attempts/{attempt}/text?offset={half}")[1]
            assert (rest["text"], rest["status"]) == (said[half:], "interrupted")
    figure("streams over HTTP killed and kept as interrupted", f"{len(KILLED_AT)} of {len(KILLED_AT)}")


@covers("run.belongs-to-the-server", "run.text-by-offset")
@pytest.mark.long
def test_another_server_follows_and_stops_what_the_first_one_generates(address):
    with weft.open(address) as grove:
        tree = grove.plant("Talk", "Count.")
    said = "".join(CHUNKS[:5])
    with process(address, 5) as first, process(address, 0) as second:
        run = first.ask("POST", f"/api/trees/{tree.id}/generate", {})[1]["run"]
        with second.follow() as stream:
            text_on(stream, said)
            assert [each["id"] for each in second.ask("GET", "/api/runs")[1]["runs"]] == [run["id"]]
            assert second.ask("POST", f"/api/runs/{run['id']}/stop")[1]["stopping"] is True
            events = stream.until("run", id=run["id"], status="stopped")
        answer = [data for name, data in events if name == "answer"][-1]
        assert answer["status"] == "interrupted"
        text = second.ask("GET", f"/api/attempts/{answer['id']}/text")[1]
        assert (text["text"], text["node"]) == (said, answer["node"])


@covers("proof.stream-reconnected-everywhere", "event.resume")
@pytest.mark.long
def test_a_stream_reconnected_at_every_event_has_the_same_bytes_while_others_write(address, figure):
    with weft.open(address) as grove, contextlib.closing(LiveServer(grove)) as server:
        trees = [grove.plant(f"Tree {number}").id for number in range(4)]
        with contextlib.closing(grove.follow(after="now")) as here:
            start = here.cursor

        def write(number: int) -> None:
            for each in range(EACH):
                body = {"content": f"{number}.{each}"}
                while server.ask("POST", f"/api/trees/{trees[number % 4]}/nodes", body)[0] != 200:
                    pass

        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        cursor, pieces = start, []
        while len(pieces) < WRITERS * EACH:
            with server.follow(f"after={cursor}") as stream:
                name, cursor, data = next(each for each in stream.events() if each[1] is not None)
                pieces.append((name, cursor, data))
        for thread in threads:
            thread.join()
        whole = []
        with server.follow(f"after={start}") as stream:
            for each in stream.events():
                if each[1] is not None:
                    whole.append(each)
                if len(whole) == len(pieces):
                    break
        assert pieces == whole
        assert len({data["number"] for _, _, data in pieces}) == WRITERS * EACH
    figure("events missed or doubled by a client that reconnects at each", f"0 of {len(pieces):,}")


@covers("event.slow-reader")
def test_a_client_that_does_not_read_holds_up_no_other(address):
    with weft.open(address) as grove, contextlib.closing(LiveServer(grove)) as server:
        tree = grove.plant("Talk", "Hello.")
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            request = f"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n\r\n"
            slow.sendall(request.encode())
            with server.follow() as stream:
                for number in range(60):
                    tree.root.say("x" * 4_000 + str(number))
                last = [stream.until("append") for _ in range(60)][-1]
                assert last[-1][1]["ordinal"] == 61


@covers("proof.storage-trouble")
def test_a_database_that_goes_away_and_comes_back_is_said_and_waited_for_over_http(postgres_server):
    with (
        postgres.database(postgres_server) as address,
        weft.open(address) as grove,
        contextlib.closing(LiveServer(grove)) as server,
    ):
        tree = grove.plant("Talk", "Hello.")
        name = address.partition("?")[0].rsplit("/", 1)[1]
        path = f"/api/trees/{tree.id}/nodes"
        with server.follow() as stream, psycopg.connect(postgres_server, autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
            status, said = server.ask("POST", path, {"content": "never"})
            assert (status, said["retry"]) in {(503, "retry"), (507, "retry")}
            admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            while server.ask("POST", path, {"content": "after"})[0] != 200:
                pass
            events = stream.until("append")
            assert events[-1][1]["ordinal"] == 2
        assert [node.text for node in tree.cursor.path] == ["Hello.", "after"]
