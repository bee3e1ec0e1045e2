"""The log: quiet in a library, on stderr in a program, tracebacks kept, keys removed."""

import logging
import subprocess
import sys

from tests.covers import covers

from weft.log import Log, log_to_stderr
from weft.providers.keys import Secret

KEY = "zz-not-like-any-known-key"


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


@covers("log.no-secrets")
def test_a_known_key_and_what_looks_like_one_are_removed_and_the_traceback_stays(caplog):
    key = Secret(KEY)

    def fail():
        raise RuntimeError(f"sent {KEY} and Bearer abcdefghijklmnop")

    try:
        fail()
    except RuntimeError as error:
        Log("weft.test").failure("it failed", error, sent=key.reveal())
    told = caplog.records[0].getMessage()
    assert told.startswith("it failed sent=[redacted]\nTraceback")
    assert told.endswith("RuntimeError: sent [redacted] and Bearer [redacted]")
    assert KEY not in caplog.text


def test_a_library_shows_nothing_and_a_program_shows_warnings_on_stderr():
    event = "from weft.log import Log, log_to_stderr; {} Log('weft.test').warning('careful', n=1)"
    assert run(event.format("")).stderr == ""
    assert run(event.format("log_to_stderr('weft');")).stderr == "weft: careful n=1\n"


def test_logging_twice_to_stderr_shows_each_event_once(capsys):
    log_to_stderr()
    log_to_stderr("weft mcp")
    try:
        Log("weft.test").warning("careful")
        assert capsys.readouterr().err == "weft mcp: careful\n"
    finally:
        for handler in logging.getLogger("weft").handlers[1:]:
            logging.getLogger("weft").removeHandler(handler)


def test_logging_never_raises_and_loads_structlog_only_when_something_is_logged():
    class Unprintable:
        def __str__(self):
            raise RuntimeError

    Log("weft.test").warning("odd", value=Unprintable())
    script = "import sys, weft.grove.grove, weft.runtime.coordination.jobs; print('structlog' in sys.modules)"
    assert run(script).stdout == "False\n"
