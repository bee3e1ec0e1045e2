"""The command line as tests use it: in the same process with a clock and chance of their own, or for real."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from typer import testing as typer_testing
from typer.main import get_command
from typer.testing import CliRunner

from weft.cli.app import app
from weft.cli.session import Settings
from weft.errors import CODES
from weft.testing import SteppingClock

# The runner builds all commands anew for each it runs, which takes longer than most of them.
setattr(typer_testing, "_get_command", cache(get_command))  # noqa: B010 - not a name it exports


@dataclass(frozen=True)
class Answer:
    out: str
    err: str
    code: int


@dataclass
class Desk:
    """`desk("say", "hello")` runs `weft say hello` and gives back both streams and the exit code."""

    address: str
    clock: SteppingClock = field(default_factory=SteppingClock)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    @property
    def settings(self) -> Settings:
        return Settings(address=self.address, clock=self.clock, entropy=self.chance.randbytes)

    def __call__(
        self,
        *words: str,
        stdin: str | bytes | None = None,
        width: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Answer:
        """Run a command; with a width, as on a terminal so wide (without colour, unless `env` says so)."""
        settings = self.settings
        if width is not None:
            settings = replace(settings, terminal=True, width=width)
            env = {"NO_COLOR": "1"} if env is None else env
        result = CliRunner().invoke(
            app, list(words), input=stdin, env=env, obj=settings, catch_exceptions=False
        )
        # Not `.stdout`, which loses carriage returns.
        return Answer(result.stdout_bytes.decode(), result.stderr_bytes.decode(), result.exit_code)

    def ok(self, *words: str, stdin: str | bytes | None = None) -> str:
        """What a successful command prints, without its last line end."""
        answer = self(*words, stdin=stdin)
        assert answer.code == 0, answer.err
        return answer.out.removesuffix("\n")

    def json(self, *words: str, stdin: str | None = None) -> Any:
        return json.loads(self.ok(*words, "--json", stdin=stdin))

    def fail(self, code: str, *words: str, stdin: str | bytes | None = None) -> str:
        """What a refused command says: nothing on stdout, the code's exit status, the error's shape."""
        answer = self(*words, stdin=stdin)
        assert answer.out == ""
        assert answer.err.startswith(f"✗ {code}: "), answer.err
        assert answer.code == CODES[code].exit
        return answer.err


def run_weft(
    *words: str, grove: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The real program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "weft.cli", *words],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, "WEFT_GROVE": str(grove), **(env or {})},
    )
