"""Running the application: a socket, a link to open, and an orderly end."""

import contextlib
import secrets
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from weft.errors import UnavailableError
from weft.grove.grove import Grove
from weft.runtime.operations.access import new_token
from weft.server.app import create_app
from weft.server.settings import LOOPBACK, ServerSettings

PORT = 7370
_ASKED = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 5
"""Seconds that a request under way has to end once the server is asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where a server is, and how its owner gets in."""

    url: str
    link: str
    """Opens it in a browser, once."""
    token: str
    """For programs, as long as the server runs."""


def serve(
    grove: Grove,
    *,
    host: str = LOOPBACK[0],
    port: int = PORT,
    names: Sequence[str] = (),
    settings: ServerSettings | None = None,
    ready: Callable[[ServerAddress], None],
) -> None:
    """Serve a grove until the process is told to stop; `ready` is called when it answers.

    Port 0 takes any that is free.
    """
    token, entrance = new_token(), secrets.token_urlsafe(24)
    given = settings or ServerSettings()
    chosen = replace(given, hosts=(*given.hosts, host, *names), keys=(*given.keys, token), entrance=entrance)

    def tell(url: str) -> None:
        ready(ServerAddress(url=url, link=f"{url}/enter?key={entrance}", token=token))

    run_app(create_app(grove, chosen), host=host, port=port, ready=tell)


def run_app(app: Starlette, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve an application until the process is told to stop; `ready` is told where, when it answers.

    The application's `state.stopping` is set when it is about to end.
    """
    with _listening(host, port) as listening:
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
            lifespan="on",
            ws="none",
        )
        server = _Server(config, app)
        server.when_ready = lambda: ready(f"http://{shown}:{number}")
        server.run(sockets=[listening])


@contextlib.contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise UnavailableError(
                f"cannot listen at {host} port {port}: {error.strerror or error}",
                hint="choose another with --port, or 0 for any that is free",
            ) from None
        listening.listen(128)
        yield listening
    finally:
        listening.close()


class _Server(uvicorn.Server):
    """Says when it answers, and tells open streams that it is about to stop."""

    when_ready: Callable[[], None] | None = None

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop when asked, and go on: whoever opened the grove closes it. Only a process's main thread is asked."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _ASKED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.when_ready is not None:
            self.when_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        # In the loop's own thread, between two of its steps.
        self._app.state.stopping.set()
