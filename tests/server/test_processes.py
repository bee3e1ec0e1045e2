"""Two server processes in front of one PostgreSQL: what one does, the clients of the other see and stop."""

import contextlib
import http.client
import json
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from tests import postgres
from tests.covers import covers
from tests.server.live import Followed
from tests.server.served import Served

import weft


class Process(Served):
    """A server whose model waits after two words."""

    def __init__(self, address: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.slow_process", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.address = json.loads(line)
        self.parts = urlsplit(self.address["url"])
        self.connections: list[http.client.HTTPConnection] = []

    def go_on(self) -> None:
        self.process.stdin.write("on\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def ended(*servers: Served):
    try:
        yield
    finally:
        for server in servers:
            for connection in server.connections:
                connection.close()
            if server.process.poll() is None:
                server.process.kill()
            server.process.communicate()


@pytest.mark.outer
@covers("teams.processes-are-equal", "postgres.stateless-servers")
def test_a_generation_of_one_process_is_followed_and_stopped_at_another(postgres_server):
    with postgres.database(postgres_server) as address:
        with weft.open(address) as grove:
            grove.users.add("ada", role="editor")
            token, _ = grove.users.issue("ada")
            grove.add_agent("Slow", model_ref="scripted:slow")
            tree = grove.plant("Talk", "Hello.")
            node = tree.root.say("Count.").id
        one, other = Process(address), Served(address)
        one.address["token"] = other.address["token"] = token
        place = f"/api/trees/{tree.id}/nodes/{node}"
        with ended(one, other):
            stream = Followed(other.connect(), "/api/events?after=now", token)
            status, begun = one.ask("POST", f"{place}/generate", {"n": 1})
            assert status == 202, begun
            run = begun["run"]["id"]
            # The text comes in pieces that both processes cut as they like.
            text = ""
            while text != "One two":
                text += stream.until("text")[-1][1]["text"]
            assert other.ask("GET", f"/api/runs/{run}")[1]["status"] == "running"
            # The lease of the one holds at the other: what is being extended cannot be pruned.
            refused = other.ask("POST", f"{place}/prune", {})
            assert (refused[0], refused[1]["code"]) == (409, "CONFLICT")
            assert other.ask("POST", f"/api/runs/{run}/stop", {})[0] == 200
            stopped = stream.until("run", status="stopped")
            answer = next(data for name, data in reversed(stopped) if name == "answer")
            assert answer["status"] == "interrupted"
            for server in (one, other):
                kept = server.ask("GET", f"/api/trees/{tree.id}/nodes/{answer['node']}")[1]
                assert (kept["content"]["text"], kept["status"]) == ("One two", "interrupted")
            # And one that is left alone comes to its end, and is read at the other from an offset.
            one.go_on()
            again = one.ask("POST", f"{place}/generate", {"n": 1})[1]["run"]
            stream.until("run", status="complete")
            attempt = again["attempts"][0]["id"]
            told = other.ask("GET", f"/api/attempts/{attempt}/text?offset=4")[1]
            assert (told["text"], told["status"]) == ("two three four", "complete")
            stream.close()


@pytest.mark.outer
@covers("teams.processes-are-equal", "http.sign-in")
def test_a_browser_that_signed_in_at_one_process_is_known_to_the_other(postgres_server):
    with postgres.database(postgres_server) as address:
        with weft.open(address) as grove:
            grove.users.add("ada", role="editor")
            token, _ = grove.users.issue("ada")
        one, other = Served(address), Served(address)
        with ended(one, other):
            connection = one.connect()
            connection.request("POST", "/api/session", json.dumps({"token": token}))
            answer = connection.getresponse()
            answer.read()
            cookie = {"Cookie": answer.getheader("set-cookie").partition(";")[0]}

            def at(server: Served, method: str) -> int:
                made = server.connect()
                made.request(method, "/api/session", headers=cookie)
                answer = made.getresponse()
                answer.read()
                return answer.status

            assert at(other, "GET") == 200
            assert at(other, "DELETE") == 200
            assert at(one, "GET") == 401
