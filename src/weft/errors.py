"""Every error Weft raises, and what each face makes of it.

WeftError
├── NotFoundError            NOT_FOUND
├── PermissionDeniedError    PERMISSION_DENIED
├── InvalidSyntaxError       INVALID_SYNTAX
├── LimitExceededError       LIMIT_EXCEEDED
├── CrossTreeError           CROSS_TREE
├── ConflictError            CONFLICT
├── ModelError               MODEL_ERROR
│   └── ProviderError        MODEL_ERROR, with what went wrong as a `Trouble`
├── InvalidInputError        INVALID_INPUT
├── UnauthenticatedError     UNAUTHENTICATED
├── ContextLimitError        CONTEXT_LIMIT
├── RateLimitedError         RATE_LIMITED
├── RequestTimeoutError      TIMEOUT
├── StorageError             STORAGE
└── UnavailableError         UNAVAILABLE
"""

import math
from enum import StrEnum
from typing import ClassVar, NamedTuple

__all__ = [
    "CODES",
    "CodeRow",
    "ConflictError",
    "ContextLimitError",
    "CrossTreeError",
    "InvalidInputError",
    "InvalidSyntaxError",
    "LimitExceededError",
    "ModelError",
    "NotFoundError",
    "PermissionDeniedError",
    "ProviderError",
    "RateLimitedError",
    "RequestTimeoutError",
    "StorageError",
    "Trouble",
    "UnauthenticatedError",
    "UnavailableError",
    "WeftError",
]


class CodeRow(NamedTuple):
    """What one code means to each face."""

    retry: str
    """`no`, or how to try again: the word models are shown."""
    http: int
    exit: int
    mcp: int


CODES: dict[str, CodeRow] = {
    "NOT_FOUND": CodeRow("no", 404, 3, -32602),
    "PERMISSION_DENIED": CodeRow("no", 403, 4, -32003),
    "INVALID_SYNTAX": CodeRow("rephrase", 400, 2, -32602),
    "LIMIT_EXCEEDED": CodeRow("reduce", 413, 5, -32602),
    "CROSS_TREE": CodeRow("with flag", 400, 5, -32602),
    "CONFLICT": CodeRow("retry", 409, 6, -32009),
    "MODEL_ERROR": CodeRow("maybe", 502, 7, -32010),
    "INVALID_INPUT": CodeRow("no", 400, 2, -32602),
    "UNAUTHENTICATED": CodeRow("no", 401, 4, -32004),
    "CONTEXT_LIMIT": CodeRow("reduce", 422, 5, -32602),
    "STORAGE": CodeRow("retry", 507, 8, -32011),
    "UNAVAILABLE": CodeRow("retry", 503, 9, -32012),
    "RATE_LIMITED": CodeRow("retry", 429, 9, -32013),
    "TIMEOUT": CodeRow("retry", 408, 9, -32014),
}
"""One table: retryability, HTTP status, exit code, MCP (JSON-RPC) code.

Of JSON-RPC's codes, -32001 and -32002 mean other things to MCP clients: they are not used.
"""


class WeftError(Exception):
    """Something Weft refuses or cannot do, in a person's words, with a way out."""

    code: ClassVar[str]

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def row(self) -> CodeRow:
        return CODES[self.code]

    @property
    def retryable(self) -> bool:
        return self.row.retry != "no"

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} (hint: {self.hint})"


class NotFoundError(WeftError):
    """A node, tree, document, agent or stash that does not exist."""

    code = "NOT_FOUND"


class PermissionDeniedError(WeftError):
    """The acting agent, or who acts through it, may not do this."""

    code = "PERMISSION_DENIED"


class InvalidSyntaxError(WeftError):
    """A command that could not be read."""

    code = "INVALID_SYNTAX"


class LimitExceededError(WeftError):
    """More than Weft takes at once."""

    code = "LIMIT_EXCEEDED"


class CrossTreeError(WeftError):
    """An operation that would leave its tree."""

    code = "CROSS_TREE"


class ConflictError(WeftError):
    """The operation conflicts with another change, or with the present state."""

    code = "CONFLICT"


class ModelError(WeftError):
    """A model failed to answer."""

    code = "MODEL_ERROR"


class Trouble(StrEnum):
    """What can go wrong with a provider: the same set for all of them."""

    AUTHENTICATION = "authentication"
    RATE_LIMITED = "rate_limited"
    CONTEXT_TOO_LONG = "context_too_long"
    MODEL_NOT_FOUND = "model_not_found"
    INVALID_REQUEST = "invalid_request"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    TIMEOUT = "timeout"
    CONTENT_FILTERED = "content_filtered"
    UNKNOWN = "unknown"


_PASSING = frozenset({Trouble.RATE_LIMITED, Trouble.SERVER_ERROR, Trouble.NETWORK, Trouble.TIMEOUT})


class ProviderError(ModelError):
    """A provider refused, failed or timed out."""

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        hint: str | None = None,
        retry_after: float | None = None,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.trouble = trouble
        self.retry_after = retry_after
        """Seconds the provider asked us to wait."""
        self.status = status
        self.request_id = request_id

    @property
    def retryable(self) -> bool:
        """Whether the same request may well be answered later."""
        return self.trouble in _PASSING


class InvalidInputError(WeftError):
    """Input that has no meaning here; `path` is the field that is wrong, where there are fields."""

    code = "INVALID_INPUT"

    def __init__(self, message: str, *, hint: str | None = None, path: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class UnauthenticatedError(WeftError):
    """Authentication is required."""

    code = "UNAUTHENTICATED"


class ContextLimitError(WeftError):
    """The part of a context that may not be cut is larger than the budget."""

    code = "CONTEXT_LIMIT"


class StorageError(WeftError):
    """The database cannot keep or give back what it was asked to."""

    code = "STORAGE"


class UnavailableError(WeftError):
    """Something needed is not there just now."""

    code = "UNAVAILABLE"


class RateLimitedError(WeftError):
    """More requests in a short time than a server accepts from one client."""

    code = "RATE_LIMITED"

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message, hint=f"try again in {math.ceil(retry_after)} s")
        self.retry_after = retry_after
        """Seconds until the next request is accepted."""


class RequestTimeoutError(WeftError):
    """A client took too long to send its request."""

    code = "TIMEOUT"
