"""The official client, from tests that do not wait: in process, over real pipes, over real HTTP."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

COMMAND = [sys.executable, "-m", "weft.cli", "mcp", "--create", "--tools", "all"]
"""A later `--tools` counts."""
QUIET = {"WEFT_OFFLINE": "1", "WEFT_SUMMARIES": "off", "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Reply:
    text: str
    facts: Any
    refused: bool


@dataclass
class Talk:
    """One connection."""

    portal: BlockingPortal
    client: Client

    def __call__(self, tool: str, /, **arguments: Any) -> Reply:
        """Call a tool. The client checks what it answers against the tool's schema."""
        told = self.portal.call(self.client.call_tool, tool, arguments)
        return Reply(told.content[0].text, told.structured_content, told.is_error)

    def do(self, tool: str, /, **arguments: Any) -> Any:
        """The facts of what must work."""
        reply = self(tool, **arguments)
        assert not reply.refused, (tool, arguments, reply)
        return reply.facts

    def ask(self, method: str, *given: Any, **named: Any) -> Any:
        """Any other method of the client."""
        return self.portal.call(partial(getattr(self.client, method), *given, **named))


@contextlib.contextmanager
def talking(server: Any, *, mode: str = "auto") -> Generator[Talk]:
    with start_blocking_portal() as portal:
        client = Client(server, mode=mode)
        with portal.wrap_async_context_manager(client):
            portal.call(client.list_tools)
            yield Talk(portal, client)


@contextlib.contextmanager
def over_pipes(grove: str, *more: str, mode: str = "auto") -> Generator[Talk]:
    started = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *more], env={**os.environ, **QUIET, "WEFT_GROVE": grove}
    )
    with talking(started, mode=mode) as talk:
        yield talk


class OverHttp:
    """`weft mcp --http` as somebody starts it."""

    def __init__(self, grove: str, *more: str) -> None:
        command = [*COMMAND, "--http", "--port", "0", "--json", *more]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, **QUIET, "WEFT_GROVE": grove},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.address = json.loads(line)

    @contextlib.contextmanager
    def talk(self, *, token: str | None = None, mode: str = "auto") -> Generator[Talk]:
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(self._client(token, mode)) as client,
        ):
            yield Talk(portal, client)

    @contextlib.asynccontextmanager
    async def _client(self, token: str | None, mode: str):
        headers = {"Authorization": f"Bearer {token or self.address['token']}"}
        async with create_mcp_http_client(headers=headers) as web:
            transport = streamable_http_client(self.address["url"], http_client=web)
            async with Client(transport, mode=mode) as client:
                with anyio.fail_after(60):
                    await client.list_tools()
                yield client

    def stop(self) -> tuple[int, str]:
        self.process.terminate()
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said
