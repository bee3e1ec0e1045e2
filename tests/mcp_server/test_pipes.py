"""Over pipes: only the protocol on stdout, an orderly end however it comes, and nothing lost."""

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import anyio
import pytest
from tests.covers import covers
from tests.mcp_server.talk import COMMAND, QUIET

import weft
from weft.mcp_server.transports import _Lines

BEGIN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
BEGUN = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Piped:
    def __init__(self, path: Path, *more: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *more],
            env={**os.environ, **QUIET, "WEFT_GROVE": str(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, *messages: object) -> None:
        for each in messages:
            self.process.stdin.write(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, number: int, tool: str, **arguments: object) -> dict:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        return self.answer()

    def answer(self) -> dict:
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def piped(tmp_path: Path):
    started = Piped(tmp_path / "grove.db")
    yield started
    if started.process.poll() is None:
        started.process.kill()
        started.process.communicate()


@covers("mcp.only-the-protocol", "mcp.orderly-end")
def test_nonsense_is_passed_over_and_the_end_of_input_ends_it(piped):
    piped.send(
        b"nonsense\n", b"{\n", b"[]\n", b'"x"\n', b"\xff\xfe\n", b"\n", b"9" * 100_000 + b"\n", BEGIN, BEGUN
    )
    assert piped.answer()["result"]["serverInfo"]["name"] == "weft"
    made = piped.call(2, "new_tree", text="hello")
    assert made["result"]["structuredContent"]["title"] == "hello"
    unknown = piped.call(3, "nothing")
    assert unknown["error"]["code"] == -32602
    code, out, err = piped.end()
    assert (code, out, err) == (0, b"", b"")


@covers("mcp.orderly-end")
def test_ctrl_c_a_kill_and_a_broken_pipe_lose_nothing(tmp_path):
    path = tmp_path / "grove.db"
    said = []
    for stop in (signal.SIGINT, signal.SIGKILL, None):
        piped = Piped(path)
        piped.send(BEGIN, BEGUN)
        piped.answer()
        said.append(piped.call(2, "new_tree", text="kept")["result"]["structuredContent"]["id"])
        if stop is not None:
            piped.process.send_signal(stop)
            code, _, err = piped.end()
            assert (code, err) == (130 if stop is signal.SIGINT else -signal.SIGKILL, b"")
        else:
            piped.process.stdout.close()
            piped.send({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
            assert piped.process.wait(30) == 0
            assert piped.process.stderr.read() == b""
            piped.process.stdin.close()
            piped.process.stderr.close()
    with weft.open(path) as grove:
        assert {tree.id for tree in grove.trees()} == set(said)
        assert grove.verify().valid


@covers("mcp.only-the-protocol")
def test_what_is_printed_meanwhile_goes_to_stderr(tmp_path):
    program = (
        "import sys, threading, weft\n"
        "from weft.mcp_server import server, transports\n"
        "grove = weft.open(sys.argv[1], background=False)\n"
        "class Loud(server.McpFace):\n"
        "    async def _call_tool(self, *given):\n"
        "        print('stray words', flush=True)\n"
        "        return await super()._call_tool(*given)\n"
        "transports.serve_stdio(Loud(grove))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "grove.db")],
        input="\n".join(
            json.dumps(each)
            for each in (
                BEGIN,
                BEGUN,
                {
                    "jsonrpc": "2.0",
                    "id": 2,
                    "method": "tools/call",
                    "params": {"name": "trees", "arguments": {}},
                },
            )
        ).encode()
        + b"\n",
        capture_output=True,
        env={**os.environ, **QUIET},
        timeout=60,
        check=True,
    )
    assert run.stderr == b"stray words\n"
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in run.stdout.splitlines())


class _EndsInTheMidst(asyncio.SelectorEventLoop):
    """A loop that is closed between a line's arrival and its being taken."""

    def __init__(self, written: int) -> None:
        super().__init__()
        self._written = written
        self._handed = threading.Event()

    def call_soon_threadsafe(self, *given, **named):
        self._handed.set()
        return super().call_soon_threadsafe(*given, **named)

    def close(self) -> None:
        if not self.is_closed():
            self._handed.clear()
            os.write(self._written, b"too late\n")
            assert self._handed.wait(30)
        super().close()


@covers("mcp.orderly-end")
def test_a_line_that_comes_while_the_loop_ends_is_forgotten_without_a_word():
    incoming, written = os.pipe()

    async def serve() -> str:
        os.write(written, b"in time\n")
        lines = aiter(_Lines(incoming))
        return await anext(lines)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with asyncio.Runner(loop_factory=lambda: _EndsInTheMidst(written)) as runner:
            assert runner.run(serve()) == "in time"
        gc.collect()
    os.close(written)
    os.close(incoming)
    assert not said


@covers("mcp.only-the-protocol")
def test_more_lines_than_are_read_ahead_come_in_order():
    incoming, written = os.pipe()
    sent = [f"line {number}" for number in range(500)]
    os.write(written, "".join(f"{line}\n" for line in sent).encode())
    os.close(written)

    async def serve() -> list[str]:
        return [line async for line in _Lines(incoming)]

    assert anyio.run(serve) == sent
    os.close(incoming)
