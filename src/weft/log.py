"""The log: failures in the background, with their tracebacks and without secrets.

Events go to the standard loggers below `weft`, rendered and redacted, so that any handler can show
them. A library shows nothing by itself; programs call `log_to_stderr`.
"""

import contextlib
import logging
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.redaction import redact

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger
    from structlog.typing import EventDict

_LONGEST = 50_000
"""Characters of one entry: a traceback is kept whole."""
_root = logging.getLogger("weft")
_root.addHandler(logging.NullHandler())


class Log:
    """A named logger. structlog is loaded with the first event: most programs never log one.

    Logging never raises: it is called where something else has already failed.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **fields: object) -> None:
        with contextlib.suppress(Exception):
            self._logger.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        with contextlib.suppress(Exception):
            self._logger.warning(event, **fields)

    def failure(self, event: str, error: BaseException, **fields: object) -> None:
        """Log an error with its traceback."""
        with contextlib.suppress(Exception):
            self._logger.error(event, exc_info=error, **fields)

    @cached_property
    def _logger(self) -> "BoundLogger":
        import structlog  # noqa: PLC0415 - takes longer to import than many commands take to run

        return structlog.wrap_logger(
            logging.getLogger(self._name),
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.processors.format_exc_info,
                _render,
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
            context_class=dict,
            cache_logger_on_first_use=True,
        )


def _render(_logger: object, _method: str, event: "EventDict") -> str:
    """`event name=value …`, then the traceback; redacted as a whole."""
    message, traceback = event.pop("event"), event.pop("exception", None)
    fields: dict[str, Any] = dict(event)
    line = " ".join([str(message), *(f"{name}={value}" for name, value in fields.items())])
    return redact(line if traceback is None else f"{line}\n{traceback}", limit=_LONGEST)


class _Stderr(logging.Handler):
    """Writes to what `sys.stderr` is now: programs and tests replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")


PAYLOAD_LOG = "weft.payload"
"""The logger of the payload recorder: it logs only what was asked for, so it is always shown."""
_stderr = _Stderr()
_stderr.addFilter(lambda record: record.levelno >= logging.WARNING or record.name == PAYLOAD_LOG)


def log_to_stderr(program: str = "weft") -> None:
    """Show warnings, errors and recorded payloads on stderr, for programs: the CLI and the servers."""
    _stderr.setFormatter(logging.Formatter(f"{program}: %(message)s"))
    _root.addHandler(_stderr)
