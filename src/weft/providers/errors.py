"""Map providers' errors to one set."""

import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import cast

from weft.error_hints import Hint, HintKind
from weft.errors import ProviderError, Trouble, WeftError
from weft.providers.keys import Secret, own_host
from weft.providers.redaction import redact_key
from weft.tree.json import JsonValue

_MESSAGE_LIMIT = 500
_TOO_LONG = re.compile(
    r"prompt is too long|context.{0,20}(length|window|limit|size)|maximum context"
    r"|too many (input )?tokens|exceeds? the (maximum|available|model).{0,40}(token|context)"
    r"|input token count|reduce the length",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"api.?key (not|is not|was not) (valid|found)|invalid api.?key", re.IGNORECASE)
_UNKNOWN_MODEL = re.compile(
    r"model.{0,80}(not found|does not exist|not a valid model)|not a valid model", re.IGNORECASE
)
_NO_CREDIT = re.compile(r"credit balance|insufficient (quota|credits|funds)|billing", re.IGNORECASE)
_WORDS: dict[str, Trouble] = {
    # Anthropic
    "authentication_error": Trouble.AUTHENTICATION,
    "permission_error": Trouble.AUTHENTICATION,
    "rate_limit_error": Trouble.RATE_LIMITED,
    "overloaded_error": Trouble.SERVER_ERROR,
    "api_error": Trouble.SERVER_ERROR,
    "timeout_error": Trouble.SERVER_ERROR,
    "not_found_error": Trouble.MODEL_NOT_FOUND,
    "request_too_large": Trouble.CONTEXT_TOO_LONG,
    "billing_error": Trouble.INVALID_REQUEST,
    # OpenAI and compatible servers
    "context_length_exceeded": Trouble.CONTEXT_TOO_LONG,
    "invalid_api_key": Trouble.AUTHENTICATION,
    "model_not_found": Trouble.MODEL_NOT_FOUND,
    "rate_limit_exceeded": Trouble.RATE_LIMITED,
    "insufficient_quota": Trouble.INVALID_REQUEST,
    "content_policy_violation": Trouble.CONTENT_FILTERED,
    "content_filter": Trouble.CONTENT_FILTERED,
    "exceed_context_size_error": Trouble.CONTEXT_TOO_LONG,
    "server_error": Trouble.SERVER_ERROR,
    "vector_store_timeout": Trouble.SERVER_ERROR,
    # Google
    "unauthenticated": Trouble.AUTHENTICATION,
    "permission_denied": Trouble.AUTHENTICATION,
    "resource_exhausted": Trouble.RATE_LIMITED,
    "unavailable": Trouble.SERVER_ERROR,
    "internal": Trouble.SERVER_ERROR,
    "deadline_exceeded": Trouble.SERVER_ERROR,
    "not_found": Trouble.MODEL_NOT_FOUND,
}
_STATUSES: dict[int, Trouble] = {
    401: Trouble.AUTHENTICATION,
    402: Trouble.INVALID_REQUEST,
    403: Trouble.AUTHENTICATION,
    404: Trouble.MODEL_NOT_FOUND,
    408: Trouble.TIMEOUT,
    413: Trouble.CONTEXT_TOO_LONG,
    429: Trouble.RATE_LIMITED,
}
_HINTS: dict[Trouble, str | HintKind] = {
    Trouble.AUTHENTICATION: HintKind.KEY_REFUSED,
    Trouble.MODEL_NOT_FOUND: HintKind.LIST_MODELS,
    Trouble.CONTEXT_TOO_LONG: "lower the context limit, or choose a model with a larger window",
    Trouble.RATE_LIMITED: "wait a little, or generate fewer at once",
}
_OFFLINE = "check the network; local:smollm2 works without one"


def describe_status(
    provider: str,
    status: int,
    *,
    words: tuple[str | None, ...] = (),
    message: str = "",
    headers: Mapping[str, str] | None = None,
    details: JsonValue = None,
    key: Secret | None = None,
) -> ProviderError:
    """The error of a response: by status, and by the provider's own words where a streamed 200 fails."""
    given = headers or {}
    text = redact_key(" ".join(message.split()), "" if key is None else key.reveal())[:_MESSAGE_LIMIT]
    trouble = _trouble(status, [word.lower() for word in words if word], text)
    hint = _HINTS.get(trouble)
    if _NO_CREDIT.search(text) or "insufficient_quota" in words:
        hint = "the account needs credit"
    summary = f"{provider}: HTTP {status}" if status >= 400 else f"{provider}: error during the stream"
    return ProviderError(
        trouble,
        f"{summary}: {text}" if text else summary,
        hint=Hint(hint, provider=provider) if isinstance(hint, HintKind) else hint,
        retry_after=retry_after_of(given, details),
        status=status,
        request_id=given.get("request-id") or given.get("x-request-id"),
    )


def _trouble(status: int, words: list[str], message: str) -> Trouble:
    named = [_WORDS[word] for word in words if word in _WORDS]
    client_fault = 400 <= status < 500 or "invalid_request_error" in words or "invalid_argument" in words
    if client_fault and status not in {401, 403, 429} and _TOO_LONG.search(message):
        return Trouble.CONTEXT_TOO_LONG
    if client_fault and _BAD_KEY.search(message):
        return Trouble.AUTHENTICATION
    if status == 400 and _UNKNOWN_MODEL.search(message):
        return Trouble.MODEL_NOT_FOUND
    if named:
        return named[0]
    if status in _STATUSES:
        return _STATUSES[status]
    if status >= 500:
        return Trouble.SERVER_ERROR
    return Trouble.INVALID_REQUEST if client_fault else Trouble.UNKNOWN


def retry_after_of(
    headers: Mapping[str, str], details: JsonValue = None, *, now: float | None = None
) -> float | None:
    """Seconds to wait before a retry, as the provider asks: a number, a date, or Google's field."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and (wait := _number(milliseconds)) is not None:
        return wait / 1_000
    asked = headers.get("retry-after")
    if asked is not None:
        return _number(asked) if _number(asked) is not None else _until(asked, now)
    return _retry_delay(details)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _until(date: str, now: float | None) -> float | None:
    try:
        moment = parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def _retry_delay(details: JsonValue) -> float | None:
    if isinstance(details, list | tuple):
        for each in cast("list[JsonValue]", details):
            delay = each.get("retryDelay") if isinstance(each, Mapping) else None
            if isinstance(delay, str):
                return _number(delay.removesuffix("s"))
    return None


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes."""
    seen: set[int] = set()
    pending: BaseException | None = error
    while pending is not None and id(pending) not in seen:
        seen.add(id(pending))
        yield pending
        pending = pending.__cause__ or pending.__context__


def find_own(error: BaseException) -> WeftError | None:
    """Our own error among the causes of an SDK's error."""
    return next((each for each in causes(error) if isinstance(each, WeftError)), None)


def from_connection(
    provider: str, error: BaseException, *, key: Secret | None = None, read_timeout: float | None = None
) -> ProviderError:
    """The error of a connection that failed or timed out."""
    names = {cause.__name__ for each in causes(error) for cause in type(each).__mro__}
    if names & {"TimeoutException", "APITimeoutError"}:
        after = "" if read_timeout is None else f" after {read_timeout:g} s"
        when = " while connecting" if "ConnectTimeout" in names else after
        return ProviderError(Trouble.TIMEOUT, f"{provider}: timed out{when}", hint=_OFFLINE)
    if names & {"TransportError", "APIConnectionError", "ConnectionError", "StreamError"}:
        texts = [
            str(each) for each in causes(error) if str(each) and type(each).__module__.startswith("httpx2")
        ]
        text = redact_key((texts or [type(error).__name__])[0], "" if key is None else key.reveal())
        return ProviderError(
            Trouble.NETWORK, f"{provider}: connection failed: {text[:_MESSAGE_LIMIT]}", hint=_OFFLINE
        )
    text = redact_key(f"{type(error).__name__}: {error}", "" if key is None else key.reveal())
    return ProviderError(Trouble.UNKNOWN, f"{provider}: malformed response: {text[:_MESSAGE_LIMIT]}")


def missing_key(provider: str, variables: tuple[str, ...], host: str, others: list[str]) -> ProviderError:
    """The error of a missing key, with the ways to set one."""
    if host == own_host(provider):
        return ProviderError(
            Trouble.AUTHENTICATION,
            f"there is no key for {provider}",
            hint=Hint(HintKind.KEY_MISSING, provider=provider, variable=variables[0]),
        )
    bound = f" (the stored key is for {', '.join(others)})" if others else ""
    return ProviderError(
        Trouble.AUTHENTICATION,
        f"there is no key for {provider} at {host}{bound}: nothing was sent",
        hint=Hint(HintKind.KEY_FOR_HOST, provider=provider, variable=variables[-1], host=host),
    )
