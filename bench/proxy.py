"""What the context proxy adds to the time until the first byte, next to the upstream alone."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import weft
from bench.report import Section, Table, at_most, number
from bench.scene import Scene
from bench.timing import percentile

__all__ = ["run", "serve_upstream"]

_KEY = "sk-bench"
_TURNS, _WORDS = 60, 60
_ROUNDS = 300
_PAUSE = 0.05
"""Seconds between requests: no agent asks faster, because a model has to answer in between."""
_WINDOW = 5_000
_BARS = {"record": (5, 20), "strict": (None, None), "fit": (15, None)}
"""Milliseconds added, at the median and at p99."""


def serve_upstream() -> None:
    """An upstream in a process of its own, until its input ends."""
    from tests.proxy.upstreams import Answer, upstream  # noqa: PLC0415 - only this process needs it

    with upstream(lambda body, count: Answer(text=f"answer {count} to {body['model']}")) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        sys.stdin.read()


def run(scene: Scene) -> Section:
    rounds = scene.size(_ROUNDS, 30)
    section = Section(
        "Context proxy",
        f"A client with one kept connection asks an upstream in a process of its own, streaming, directly and "
        f"through `weft serve`, in turns: {_TURNS} turns of {_WORDS} words before each new question, a history that "
        f"the proxy knows, and a pause of {1_000 * _PAUSE:.0f} ms, in which the last one is recorded. Time until the "
        f"first byte of the answer; {rounds} requests each. Fitting cuts to a window "
        f"of {_WINDOW:,} tokens.",
    )
    rows: list[tuple[str, ...]] = []
    with _process([sys.executable, "-c", "from bench.proxy import serve_upstream; serve_upstream()"]) as line:
        url = line.strip()
        for policy, (median_bar, last_bar) in _BARS.items():
            alone, through, told = _measure(scene, url, policy, rounds)
            middle = percentile(through, 0.5) - percentile(alone, 0.5)
            last = percentile(through, 0.99) - percentile(alone, 0.99)
            rows.append(
                (
                    policy,
                    *(
                        number(1_000 * each)
                        for each in (percentile(alone, 0.5), percentile(through, 0.5), middle, last)
                    ),
                    number(percentile(told, 0.5)),
                )
            )
            if median_bar is not None:
                section.hold(
                    at_most(
                        f"`{policy}`: time to the first byte added, median", 1_000 * middle, median_bar, " ms"
                    )
                )
            if last_bar is not None:
                section.hold(
                    at_most(f"`{policy}`: time to the first byte added, p99", 1_000 * last, last_bar, " ms")
                )
    header = ("policy", "alone, ms", "through, ms", "added, median", "added, p99", "as its header says")
    section.tables.append(Table("Until the first byte", header, rows))
    return section


@contextmanager
def _process(command: list[str], **more: str) -> Generator[str]:
    """A process that says one line when it is ready, and ends with its input."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"} | more
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline()
    finally:
        process.terminate()
        process.wait()


def _measure(
    scene: Scene, url: str, policy: str, rounds: int
) -> tuple[list[float], list[float], list[float]]:
    grove = scene.folder / f"proxy-{policy}.db"
    with weft.open(grove) as loom:
        loom.proxy.set_policy("owner", policy, window=_WINDOW if policy == "fit" else None)
    settings = {
        "WEFT_GROVE": str(grove),
        "WEFT_COMPATIBLE_OPENAI": f"{url}/v1",
        "WEFT_KEY_OPENAI": _KEY,
        "WEFT_KEY_OPENAI_FOR": url,
        "WEFT_SUMMARIES": "off",
    }
    alone, through, told = list[float](), list[float](), list[float]()
    with _process([sys.executable, "-m", "weft.cli", "serve", "--port", "0", "--json"], **settings) as line:
        server = json.loads(line)
        history = _history()
        direct, proxied = _connection(url), _connection(server["url"])
        for number_ in range(rounds + 10):
            question = {"role": "user", "content": f"Question {number_}?"}
            body = json.dumps({"model": "gpt-4o", "stream": True, "messages": [*history, question]}).encode()
            time.sleep(_PAUSE)
            first, _ = _ask(direct, body, _KEY)
            second, header = _ask(proxied, body, server["token"])
            if number_ >= 10:
                alone.append(first)
                through.append(second)
                told.append(float(header))
        direct.close()
        proxied.close()
    return alone, through, told


def _history() -> list[dict[str, Any]]:
    words = " ".join(f"word{index}" for index in range(_WORDS))
    return [
        {"role": role, "content": f"{turn} {words}"}
        for turn in range(_TURNS)
        for role in ("user", "assistant")
    ]


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)


def _ask(connection: http.client.HTTPConnection, body: bytes, key: str) -> tuple[float, str]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body, headers)
    answer = connection.getresponse()
    answer.read(1)
    taken = time.perf_counter() - began
    answer.read()
    return taken, answer.headers.get("weft-added-ms", "0")
