"""Secrets taken out of texts that are kept or shown."""

import re

__all__ = ["redact"]

_GONE = "[redacted]"
_PATTERNS = (
    # A password in an address.
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}://[^\s:/@]{0,200}):[^\s/@]{1,500}@"), rf"\1:{_GONE}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}"), rf"\1 {_GONE}"),
    # name=value and "name": "value", whatever the name's exact spelling.
    (
        re.compile(
            r"(?i)([\"']?\b[\w-]{0,40}(?:api[_-]?key|secret|token|password|passwd|authorization)[\w-]{0,20}"
            r"[\"']?\s*[=:]\s*)(?:[\"'][^\"']{1,2000}[\"']|[^\s\"',;&}]{1,2000})"
        ),
        rf"\1{_GONE}",
    ),
    # Keys that can be told by how they begin.
    (
        re.compile(r"\b(?:sk|pk|rk|xox[abprs]|gh[opsur]|glpat|hf|AKIA|AIza|ya29)[-_.]?[A-Za-z0-9_-]{16,}"),
        _GONE,
    ),
)


def redact(text: str, *, limit: int = 2_000) -> str:
    """The text without what looks like a key, a token or a password, and not longer than `limit`."""
    shown = text[: 4 * limit]
    for pattern, instead in _PATTERNS:
        shown = pattern.sub(instead, shown)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
