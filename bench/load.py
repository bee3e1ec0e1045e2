"""Load: readers, writers, followers and clients of the proxy against one server process, on both stores."""

import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.proxy.upstreams import Answer, upstream

import weft
from bench.report import Section, Table, at_most, number
from bench.scene import STORES, Scene
from bench.timing import percentile

__all__ = ["run"]

_READERS, _WRITERS, _STREAMS, _PROXIES = 6, 6, 6, 3
_ROUNDS = 9
_GROWTH = 1.15
_HANDLES = 8
_WAL = 64


class Vitals(NamedTuple):
    """What a server process holds."""

    memory: float
    """Megabytes."""
    handles: int
    log: float
    """Megabytes of SQLite's write-ahead log."""


@dataclass
class Server:
    """`weft serve` on a grove, in a process of its own."""

    address: str
    folder: Path
    process: "subprocess.Popen[str]" = field(init=False)
    token: str = field(init=False)
    port: int = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "weft.cli", "serve", "--create", "--port", "0", "--json"]
        environment = os.environ | {"WEFT_GROVE": self.address, "XDG_CONFIG_HOME": str(self.folder)}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.token, self.port = told["token"], int(told["url"].rpartition(":")[2])

    def vitals(self) -> Vitals:
        place = Path(f"/proc/{self.process.pid}")
        pages = int((place / "statm").read_text().split()[1])
        log = Path(f"{self.address}-wal")
        return Vitals(
            pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
            len(list((place / "fd").iterdir())),
            log.stat().st_size / 1e6 if log.exists() else 0.0,
        )

    def stop(self) -> None:
        self.process.terminate()
        # Requests of the proxy that are not recorded yet are recorded first.
        self.process.communicate(timeout=120)


@dataclass
class Taken:
    """Seconds of the answers to one kind of client, and how many were errors."""

    seconds: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])


class Client:
    """One connection that is kept."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        sent = None if body is None else json.dumps(body)
        self.connection.request(method, path, sent, self.headers)
        answer = self.connection.getresponse()
        told = answer.read()
        if answer.status >= 400:
            raise OSError(f"{answer.status} {told[:200]!r}")
        return json.loads(told) if told[:1] in {b"{", b"["} else told


@dataclass
class Scenery:
    """Trees to read and to write to."""

    trees: list[tuple[str, str]]
    """Id and root of each."""


Turn = Callable[[Client, Scenery, int], None]


def _read(client: Client, scenery: Scenery, number: int) -> None:
    tree, root = scenery.trees[number % len(scenery.trees)]
    match number % 4:
        case 0:
            client.ask("GET", "/api/trees?limit=20")
        case 1:
            client.ask("GET", f"/api/trees/{tree}/nodes/{root}/context?limit=4000")
        case 2:
            client.ask("GET", "/api/search?query=fog&limit=5")
        case _:
            client.ask("GET", f"/api/trees/{tree}/nodes/{root}/path?tail=50")


def _write(client: Client, scenery: Scenery, number: int) -> None:
    tree, root = scenery.trees[number % len(scenery.trees)]
    client.ask(
        "POST", f"/api/trees/{tree}/nodes/{root}/children", {"content": f"Fog, number {number}. " * 10}
    )


def _follow(client: Client, scenery: Scenery, number: int) -> None:
    """Open a stream, write, and wait for the event of it."""
    tree, root = scenery.trees[number % len(scenery.trees)]
    stream = http.client.HTTPConnection("127.0.0.1", client.server.port, timeout=60)
    with contextlib.closing(stream):
        stream.request("GET", f"/api/events?after=now&tree={tree}", headers=client.headers)
        answer = stream.getresponse()
        answer.readline()
        made = client.ask("POST", f"/api/trees/{tree}/nodes/{root}/children", {"content": "Seen."})
        while made["id"] not in (line := answer.readline().decode()):
            if not line:
                raise OSError("the stream ended")


def _proxied(client: Client, scenery: Scenery, number: int) -> None:
    del scenery
    history = [{"role": "user", "content": f"Question {number} of {threading.get_ident()}"}]
    client.ask("POST", "/v1/chat/completions", {"model": "lab:echo", "messages": history})


_KINDS: dict[str, tuple[Turn, int]] = {
    "readers": (_read, _READERS),
    "writers": (_write, _WRITERS),
    "streams, opened until an event arrives": (_follow, _STREAMS),
    "proxy": (_proxied, _PROXIES),
}


def run(scene: Scene) -> Section:
    section = Section(
        "Load",
        f"One `weft serve` process on each store, and at the same time {_READERS} readers (lists, paths, contexts, "
        f"searches), {_WRITERS} writers, {_STREAMS} clients that open a stream, write, wait for their event and "
        f"leave, and {_PROXIES} clients of the context proxy in front of an upstream on this machine, each with "
        "one request after another. Then a day of use, compressed: rounds of the same mix, after each of which the "
        "server's memory, handles and write-ahead log are read. Clients and server share the cores.",
    )
    rows: list[list[str]] = []
    days: list[list[str]] = []
    for store in STORES:
        with _served(scene, store) as (server, scenery):
            taken = _mix(server, scenery, scene.size(15, 3))
            for name, each in taken.items():
                rows.append([store, name, *_figures(each, scene.size(15, 3))])
            section.notes += [f"{store}: {error}" for each in taken.values() for error in each.errors[:3]]
            errors = sum(len(each.errors) for each in taken.values())
            section.hold(at_most(f"errors under load, {store}", errors, 0))
            vitals = _day(scene, server, scenery)
            days += [[store, *_described(each)] for each in (vitals[0], vitals[len(vitals) // 2], vitals[-1])]
            _hold_growth(section, store, vitals)
    section.tables.append(
        Table("Answers", ["store", "clients", "answers/s", "p50 ms", "p99 ms", "errors"], rows)
    )
    section.tables.append(
        Table("A day of use, compressed", ["store", "after round", "memory MB", "handles", "log MB"], days)
    )
    return section


@contextlib.contextmanager
def _served(scene: Scene, store: str) -> Generator[tuple[Server, Scenery]]:
    with (
        scene.address(store) as address,
        upstream(lambda _body, _number: Answer(text="An answer.")) as behind,
    ):
        with weft.open(address) as grove:
            trees = [grove.plant(f"Tree {number}", "The fog came.") for number in range(8)]
            scenery = Scenery([(tree.id, tree.root.id) for tree in trees])
        _add_endpoint(scene, behind.url)
        server = Server(address, scene.folder)
        try:
            yield server, scenery
        finally:
            server.stop()


def _add_endpoint(scene: Scene, url: str) -> None:
    command = [
        sys.executable,
        "-m",
        "weft.cli",
        "endpoints",
        "add",
        "lab",
        f"{url}/v1",
        "--private",
        "--no-key",
    ]
    environment = os.environ | {"XDG_CONFIG_HOME": str(scene.folder)}
    subprocess.run(command, env=environment, check=True, capture_output=True)


def _mix(server: Server, scenery: Scenery, seconds: float, turns: int | None = None) -> dict[str, Taken]:
    """Every kind of client at once: for a time, or for so many turns each."""
    taken = {name: Taken() for name in _KINDS}
    end = time.monotonic() + seconds

    def work(name: str, turn: Turn, first: int) -> None:
        client, number = Client(server), first
        while time.monotonic() < end and (turns is None or number < first + turns):
            start = time.perf_counter()
            try:
                turn(client, scenery, number)
                taken[name].seconds.append(time.perf_counter() - start)
            except (OSError, http.client.HTTPException) as error:
                taken[name].errors.append(f"{name}: {error}")
                client = Client(server)
            number += 1
        client.connection.close()

    threads = [
        threading.Thread(target=work, args=(name, turn, 1_000 * index))
        for name, (turn, count) in _KINDS.items()
        for index in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def _day(scene: Scene, server: Server, scenery: Scenery) -> list[tuple[int, Vitals]]:
    vitals: list[tuple[int, Vitals]] = []
    for done in range(1, scene.size(_ROUNDS, 4) + 1):
        _mix(server, scenery, scene.size(10, 5), scene.size(20, 5))
        # What was closed by clients is closed here, too, before it is counted.
        time.sleep(0.5)
        vitals.append((done, server.vitals()))
    return vitals


def _hold_growth(section: Section, store: str, vitals: list[tuple[int, Vitals]]) -> None:
    """The last third of the rounds against the middle third: what is loaded and cached at first is no growth."""
    third = max(1, len(vitals) // 3)
    middle = [each for _, each in vitals[third : 2 * third]]
    last = [each for _, each in vitals[-third:]]
    memory = statistics.median(each.memory for each in last) / statistics.median(
        each.memory for each in middle
    )
    handles = max(each.handles for each in last) - max(each.handles for each in middle)
    section.hold(at_most(f"growth of memory over a day of use, {store}", memory, _GROWTH, " ×"))
    section.hold(at_most(f"more handles after a day of use, {store}", max(0, handles), _HANDLES))
    if store == "SQLite":
        section.hold(at_most("write-ahead log during a day of use", max(e.log for e in last), _WAL, " MB"))


def _figures(taken: Taken, seconds: float) -> list[str]:
    if not taken.seconds:
        return ["0", "", "", str(len(taken.errors))]
    return [
        number(len(taken.seconds) / seconds),
        number(percentile(taken.seconds, 0.5) * 1_000),
        number(percentile(taken.seconds, 0.99) * 1_000),
        str(len(taken.errors)),
    ]


def _described(vitals: tuple[int, Vitals]) -> list[str]:
    round_number, each = vitals
    return [str(round_number), number(each.memory), str(each.handles), number(each.log)]
