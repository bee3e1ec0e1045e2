"""A server at a real socket in this process, and a client that follows its stream."""

import contextlib
import http.client
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Self

import uvicorn

from weft.grove.grove import Grove
from weft.server import ServerSettings, create_app

KEY = "the-owners-key"


class LiveClient:
    """Asks a server at a port."""

    port: int

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method: str, path: str, body: object = None, *, token: str = KEY, **headers: str):
        """The status and the JSON of an answer."""
        with contextlib.closing(self.connect()) as connection:
            given = {
                "Authorization": f"Bearer {token}",
                **{k.replace("_", "-"): v for k, v in headers.items()},
            }
            connection.request(method, path, None if body is None else json.dumps(body), given)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def follow(self, query: str = "after=now", *, token: str = KEY) -> "Followed":
        return Followed(self.connect(), f"/api/events?{query}", token)


class ServerProcess(LiveClient):
    """`tests.server.streaming` in a process of its own."""

    def __init__(self, address: str, chunks: int) -> None:
        command = [sys.executable, "-m", "tests.server.streaming", address, str(chunks)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


class LiveServer(LiveClient):
    """Serves a grove until it is closed."""

    def __init__(self, grove: Grove) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(128)
        self.port = self._socket.getsockname()[1]
        app = create_app(grove, ServerSettings(keys=(KEY,)))
        config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=2)
        self._server = uvicorn.Server(config)
        self._app = app
        self._thread = threading.Thread(target=lambda: self._server.run(sockets=[self._socket]), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._app.state.stopping.set()
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()


class Followed:
    """An open stream of server-sent events."""

    def __init__(self, connection: http.client.HTTPConnection, path: str, token: str) -> None:
        self._connection = connection
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        self.answer = connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        # Its first line says that it follows.
        assert self.answer.readline().startswith(b": following")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.answer.close()
        self._connection.close()

    def events(self) -> Iterator[tuple[str, str | None, dict]]:
        """Name, id and data of each event, as they come."""
        name, number = "", None
        while line := self.answer.readline().decode():
            field, _, value = line.rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "id":
                number = value
            elif field == "data":
                yield name, number, json.loads(value)
                name, number = "", None

    def until(self, name: str, **fields: object) -> list[tuple[str, dict]]:
        """All events up to the first of this name with these fields, that one included."""
        taken = []
        for each, _, data in self.events():
            taken.append((each, data))
            if each == name and all(data.get(field) == value for field, value in fields.items()):
                return taken
        raise AssertionError(f"the stream ended before {name} {fields}: {taken}")
