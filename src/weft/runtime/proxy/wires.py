"""The interfaces that the proxy speaks: paths, headers and errors as their own clients expect them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from weft.tree.json import JsonObject


class Wire(StrEnum):
    """One interface of a vendor."""

    CHAT = "chat"
    COMPLETIONS = "completions"
    RESPONSES = "responses"
    MESSAGES = "messages"
    COUNT = "count_tokens"

    @property
    def is_anthropic(self) -> bool:
        return self in {Wire.MESSAGES, Wire.COUNT}

    @property
    def path(self) -> str:
        """Below the version's part of the address."""
        return _PATHS[self]

    @property
    def request_id(self) -> str:
        """The response header with the id of the request."""
        return "request-id" if self.is_anthropic else "x-request-id"


_PATHS: Mapping[Wire, str] = {
    Wire.CHAT: "chat/completions",
    Wire.COMPLETIONS: "completions",
    Wire.RESPONSES: "responses",
    Wire.MESSAGES: "messages",
    Wire.COUNT: "messages/count_tokens",
}
_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_OPENAI_ERRORS = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WireError:
    """An error of the proxy's own, before it has the shape of a wire."""

    status: int
    message: str
    code: str
    """Weft's own."""

    def body(self, wire: Wire | None, request_id: str) -> JsonObject:
        """The body of the answer; of an unknown wire OpenAI's, which has the most clients."""
        if wire is not None and wire.is_anthropic:
            kind = _ANTHROPIC_ERRORS.get(
                self.status, "api_error" if self.status >= 500 else "invalid_request_error"
            )
            return {
                "type": "error",
                "error": {"type": kind, "message": self.message},
                "request_id": request_id,
            }
        kind = _OPENAI_ERRORS.get(
            self.status, "server_error" if self.status >= 500 else "invalid_request_error"
        )
        return {"error": {"message": self.message, "type": kind, "code": self.code.lower(), "param": None}}
