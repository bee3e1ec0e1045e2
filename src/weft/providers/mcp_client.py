"""Tools of an MCP server, over pipes or HTTP, with limits."""

import asyncio
import codecs
import hashlib
import itertools
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

from weft.errors import InvalidInputError, LimitExceededError, UnavailableError, WeftError
from weft.providers.adapter import Connection, ResponseLimits
from weft.providers.endpoint import Endpoint, Resolver, resolve
from weft.providers.errors import find_own
from weft.providers.keys import Keys, Secret
from weft.providers.mcp_sessions import OpenClient, session_for
from weft.redaction import redact
from weft.tree.json import JsonObject, JsonValue

LONGEST_MESSAGE = 16 * 1024 * 1024
"""Characters of one message of a server."""
MOST_TOOLS = 200
_START_SECONDS = 30.0
_LONGEST_ERROR = 500
_LONGEST_DESCRIPTION = 2_000
_LARGEST_SCHEMA = 64_000
_PAGES = 20


class McpToolSpec(NamedTuple):
    """A tool as its server describes it."""

    name: str
    description: str
    schema: JsonObject
    read_only: bool
    """The server says that it changes nothing."""


class McpAnswer(NamedTuple):
    """What a tool of a server returned, as text."""

    text: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConnection:
    """How a server is reached: a command that is started, or an address."""

    name: str
    command: Sequence[str] = ()
    url: str | None = None
    private: bool = False
    secrets: Sequence[str] = ()
    """Environment variables of the command: their values come from the environment or from the stored keys."""
    seconds: float = 60.0
    keys: Keys = field(default_factory=Keys)
    resolver: Resolver = resolve

    async def tools(self) -> list[McpToolSpec]:
        """What the server offers now: it is started for this."""
        specs: list[McpToolSpec] = []
        async with self._opened(_START_SECONDS) as opened:
            client, cursor = opened.client, None
            for _ in range(_PAGES):
                page = await client.list_tools(cursor=cursor)
                specs += [_spec(each) for each in page.tools]
                cursor = page.next_cursor
                if cursor is None or len(specs) > MOST_TOOLS:
                    break
        if len(specs) > MOST_TOOLS:
            raise LimitExceededError(f"{self.name}: more than {MOST_TOOLS} tools")
        return specs

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> McpAnswer:
        """The result of one tool; secrets that the server repeats are taken out of it."""
        if self.url is None:
            # A command is started once for many calls.
            result, hidden = await self._call_in_session(tool, arguments)
        else:
            async with self._opened(self.seconds) as opened:
                result = await opened.client.call_tool(
                    tool, dict(arguments), read_timeout_seconds=self.seconds
                )
            hidden = opened.hidden
        text = _text(result)
        for secret in hidden:
            text = text.replace(secret.reveal(), "[redacted]")
        return McpAnswer(text, bool(result.is_error))

    @asynccontextmanager
    async def _opened(self, seconds: float | None = None) -> AsyncGenerator[OpenClient]:
        """A connected client, closed in time; every error in our words."""
        from mcp import Client  # noqa: PLC0415 - few processes call servers

        hidden: list[Secret] = []
        streams: list[Any] = []
        codec = f"{_CODEC}-{next(_numbers)}"

        def is_gone() -> bool:
            return codec in _over or not streams[0].statistics().open_send_streams

        try:
            async with asyncio.timeout(seconds), Client(self._transport(hidden, streams, codec)) as client:
                yield OpenClient(client, hidden, is_gone)
        except TimeoutError:
            raise UnavailableError(f"{self.name}: timed out after {seconds or 0:g} s") from None
        except Exception as error:  # noqa: BLE001 - every error of the client is mapped
            raise _own(error) or self._failed(error) from None
        finally:
            _over.discard(codec)

    @asynccontextmanager
    async def _transport(self, hidden: list[Secret], opened: list[Any], codec: str) -> AsyncGenerator[Any]:
        """The two streams of a connection; `hidden` gets its secrets, `opened` the streams."""
        if self.url is not None:
            from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - as above

            from weft.providers.http import http_client  # noqa: PLC0415 - as above

            given = Connection(
                endpoint=Endpoint(self.url, private=self.private),
                key_name=f"mcp-{self.name}",
                key_needed=False,
                keys=self.keys,
                limits=ResponseLimits(received=LONGEST_MESSAGE),
                resolver=self.resolver,
            )
            key = given.key()
            async with http_client(given, key, self.seconds) as web:
                if key is not None:
                    hidden.append(key)
                    web.headers["Authorization"] = f"Bearer {key.reveal()}"
                async with streamable_http_client(self.url, http_client=web) as streams:
                    opened.extend(streams)
                    yield streams
            return
        from mcp import StdioServerParameters  # noqa: PLC0415 - as above
        from mcp.client.stdio import stdio_client  # noqa: PLC0415 - as above

        environment = self._environment()
        hidden.extend(environment.values())
        started = StdioServerParameters(
            command=self.command[0],
            args=list(self.command[1:]),
            env={name: each.reveal() for name, each in environment.items()},
            encoding=codec,
        )
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: ASYNC230, PTH123 - nothing is waited for
            async with stdio_client(started, errlog=nowhere) as streams:
                opened.extend(streams)
                yield streams

    async def _call_in_session(
        self, tool: str, arguments: Mapping[str, JsonValue]
    ) -> tuple[Any, list[Secret]]:
        secrets = [each.reveal() for each in self._environment().values()]
        # Another secret needs another process.
        key = hashlib.sha256(json.dumps([self.name, *self.command, "", *secrets]).encode()).hexdigest()
        try:
            return await session_for(key, self.name, self._opened).call(tool, arguments, self.seconds)
        except WeftError:
            raise
        except Exception as error:  # noqa: BLE001 - every error of the client is mapped
            raise _own(error) or self._failed(error) from None

    def _environment(self) -> dict[str, Secret]:
        values: dict[str, Secret] = {}
        for name in self.secrets:
            given = os.environ.get(name)
            value = Secret(given) if given else self.keys.find(f"mcp-{self.name}", name.lower())
            if value is None:
                raise UnavailableError(
                    f"{self.name}: {name} is not set",
                    hint=f"set the variable {name}, or store it: weft tools secret {self.name} {name}",
                )
            values[name] = value
        return values

    def _failed(self, problem: BaseException) -> WeftError:
        error = next(_each(problem))
        if isinstance(error, FileNotFoundError | PermissionError):
            return UnavailableError(f"{self.name}: cannot start {self.command[0]!r}")
        said = redact(str(error), limit=_LONGEST_ERROR)
        return UnavailableError(f"{self.name}: {type(error).__name__}: {said}")


def _each(error: BaseException) -> Iterator[BaseException]:
    """The errors inside of a group, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _each(inner)
    else:
        yield error


def _own(error: BaseException) -> WeftError | None:
    """The first of our own errors among them."""
    return next((mine for each in _each(error) if (mine := find_own(each)) is not None), None)


def _spec(tool: Any) -> McpToolSpec:
    schema = dict(tool.input_schema)
    if len(json.dumps(schema)) > _LARGEST_SCHEMA:
        raise InvalidInputError(
            f"the schema of {str(tool.name)[:60]!r} is larger than {_LARGEST_SCHEMA:,} bytes"
        )
    read_only = tool.annotations is not None and tool.annotations.read_only_hint is True
    description = " ".join((tool.description or tool.title or "").split())
    return McpToolSpec(str(tool.name), description[:_LONGEST_DESCRIPTION], schema, read_only)


def _text(result: Any) -> str:
    """The text of a result; what is not text is named."""
    parts = [_part(each) for each in result.content]
    if not any(parts) and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False, indent=2)
    return "\n\n".join(filter(None, parts)).encode(errors="replace").decode()


def _part(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type} {block.mime_type}, not shown]"
        case "resource" if getattr(block.resource, "text", None) is not None:
            return str(block.resource.text)
        case "resource":
            return f"[resource {block.resource.uri}, not shown]"
        case _:
            return f"[{block.type} {getattr(block, 'uri', '')}, not shown]"


_CODEC = "weft-mcp-lines"
_numbers = itertools.count()
_over: set[str] = set()
"""Codecs of connections whose server wrote an endless line: the client reads on, and tells its calls nothing."""


class _LineDecoder(codecs.IncrementalDecoder):
    """UTF-8 whose lines have an end: the client gathers a line in memory, however long it gets."""

    def __init__(self, codec: str, errors: str = "strict") -> None:
        super().__init__(errors)
        self._codec = codec
        self._inner = codecs.getincrementaldecoder("utf-8")(errors)
        self._line = 0

    def decode(self, input: Any, final: bool = False) -> str:  # noqa: A002, FBT001, FBT002 - as codecs call it
        text = self._inner.decode(input, final)
        end = text.rfind("\n")
        self._line = self._line + len(text) if end < 0 else len(text) - end - 1
        if self._line > LONGEST_MESSAGE:
            _over.add(self._codec)
            raise LimitExceededError(f"a message of the server is longer than {LONGEST_MESSAGE:,} characters")
        return text


def _find_codec(name: str) -> codecs.CodecInfo | None:
    codec = name.replace("_", "-")
    if not codec.startswith(_CODEC):
        return None
    usual = codecs.lookup("utf-8")
    return codecs.CodecInfo(
        encode=usual.encode, decode=usual.decode, incrementaldecoder=partial(_LineDecoder, codec), name=codec
    )


codecs.register(_find_codec)
