"""Run the application: its socket, its one-time link, its orderly end."""

import contextlib
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from weft.error_hints import Hint, HintKind
from weft.errors import UnavailableError
from weft.grove.grove import Grove
from weft.runtime.operations.access import new_token
from weft.runtime.search.vault_indexer import watch_vaults
from weft.runtime.transfer.import_jobs import start_imports
from weft.server.app import create_app
from weft.server.auth import LOOPBACK, ServerSettings
from weft.server.connection import GuardedConnection

PORT = 7370
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_IDLE = 30
"""Seconds without a request before a connection is closed."""
_MOST_CONNECTIONS = 2_000
_SWITCH = 0.001
"""Seconds after which a thread lets another one run."""
_GRACE = 5
"""Seconds for running requests to end after a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """The address of a server, and its owner's access."""

    url: str
    link: str
    """Opens it in a browser, once."""
    token: str
    """For programs, valid as long as the server runs."""


def serve(
    grove: Grove,
    *,
    host: str = LOOPBACK[0],
    port: int = PORT,
    names: Sequence[str] = (),
    proxies: Sequence[str] = (),
    settings: ServerSettings | None = None,
    ready: Callable[[ServerAddress], None],
    open_browser: Callable[[str], None] | None = None,
) -> None:
    """Serve a grove until the process gets a signal; `ready` is called when the server answers.

    Port 0 is any free port. `open_browser` gets a one-time link of its own.
    """
    token, entrance, own = new_token(), secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    entrances = (entrance,) if open_browser is None else (entrance, own)
    given = settings or ServerSettings()
    chosen = replace(
        given, hosts=(*given.hosts, host, *names), keys=(*given.keys, token), entrances=entrances
    )

    def started(url: str) -> None:
        ready(ServerAddress(url=url, link=f"{url}/enter?key={entrance}", token=token))
        if open_browser is not None:
            open_browser(f"{url}/enter?key={own}")

    # Work in threads, such as recording, lets the event loop answer others sooner.
    sys.setswitchinterval(_SWITCH)
    store = grove.caller.store
    if store.background and grove.vaults.all():
        watch_vaults(store).start()
    # What an earlier server was importing when it ended.
    start_imports(grove.caller.executor)
    run_app(create_app(grove, chosen), host=host, port=port, ready=started, proxies=proxies)


def run_app(
    app: Starlette, *, host: str, port: int, ready: Callable[[str], None], proxies: Sequence[str] = ()
) -> None:
    """Serve an application until the process gets a signal; `ready` gets its address when it answers.

    The application's `state.stopping` is set before it ends. `proxies` are the addresses of reverse
    proxies that say in X-Forwarded-For and X-Forwarded-Proto where a request came from.
    """
    with listening_at(host, port) as listening:
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        server = AppServer(app, proxies)
        server.when_ready = lambda: ready(f"http://{shown}:{number}")
        server.run(sockets=[listening])


@contextlib.contextmanager
def listening_at(host: str, port: int) -> Generator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends what is written at once; without it, small writes wait for 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise UnavailableError(
                f"cannot listen at {host} port {port}: {error.strerror or error}",
                hint=Hint(HintKind.CHOOSE_PORT),
            ) from None
        listening.listen(128)
        yield listening
    finally:
        listening.close()


class AppServer(uvicorn.Server):
    """Calls `when_ready` when it answers, and ends open streams before it stops."""

    when_ready: Callable[[], None] | None = None

    def __init__(self, app: Starlette, proxies: Sequence[str] = ()) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            lifespan="on",
            ws="none",
            http=GuardedConnection,
            timeout_keep_alive=_IDLE,
            limit_concurrency=_MOST_CONNECTIONS,
            # A header can say anything; only the addresses of proxies that were named are believed.
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
        )
        super().__init__(config)
        self._app = app

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop at a signal without ending the process: the caller closes the grove. Signals need the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
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
        # Signal handlers run in the event loop's thread.
        self._app.state.stopping.set()
