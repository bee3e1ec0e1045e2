"""Headers of every answer: what a browser may do with it."""

from collections.abc import Sequence

API_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Of a page without scripts."""
ANSWER_HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"content-security-policy", API_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
CORS_HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, x-user-id, last-event-id, idempotency-key, if-none-match, if-match",
    ),
    (b"access-control-max-age", b"600"),
)
"""Of the answer to a browser that asks before it calls from another origin."""
