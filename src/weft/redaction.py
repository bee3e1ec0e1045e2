"""Remove secrets from texts that are stored, logged or shown."""

import re
import threading
from typing import Protocol
from weakref import WeakSet

_GONE = "[redacted]"
_PATTERNS = (
    # A password in an address.
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://[^\s:/@]{0,200}):[^\s/@]{1,500}@"), rf"\1:{_GONE}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}"), rf"\1 {_GONE}"),
    # name=value and "name": "value", in any spelling of the name.
    (
        re.compile(
            r"(?i)([\"']?\b[\w-]{0,40}(?:api[_-]?key|secret|token|password|passwd|authorization)[\w-]{0,20}"
            r"[\"']?\s*[=:]\s*)(?:[\"'][^\"']{1,2000}[\"']|[^\s\"',;&}]{1,2000})"
        ),
        rf"\1{_GONE}",
    ),
    # Keys with a known prefix.
    (
        re.compile(r"\b(?:sk|pk|rk|xox[abprs]|gh[opsur]|glpat|hf|AKIA|AIza|ya29)[-_.]?[A-Za-z0-9_-]{16,}"),
        _GONE,
    ),
)


_SHORTEST = 8
"""Characters of a key; a shorter one may be a part of ordinary words."""


class _Secret(Protocol):
    def reveal(self) -> str: ...


_secrets: "WeakSet[_Secret]" = WeakSet()
_guard = threading.Lock()


def protect_secret(secret: _Secret) -> None:
    """Remove this key from every redacted text, for as long as the object exists."""
    with _guard:
        _secrets.add(secret)


def redact(text: str, *, limit: int = 2_000) -> str:
    """Return the text without known keys and what looks like a key, token or password; at most `limit` long."""
    shown = text[: 4 * limit]
    with _guard:
        known = [secret.reveal() for secret in _secrets]
    for value in known:
        if len(value) >= _SHORTEST:
            shown = shown.replace(value, _GONE)
    for pattern, instead in _PATTERNS:
        shown = pattern.sub(instead, shown)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
