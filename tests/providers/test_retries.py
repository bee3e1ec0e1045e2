"""Trying again: how often, how long after, and when not."""

import asyncio
from contextlib import aclosing

import pytest
from tests.covers import covers
from tests.providers.asking import chat

from weft.errors import ProviderError, Trouble
from weft.providers.adapter import Policy, stream_retrying
from weft.providers.errors import retry_after_of
from weft.providers.events import ModelAnswer, Retried
from weft.providers.scripted import Reply, Scripted


def play(*script, policy=None, jitter=1.0):
    """What came of a script: the answer, the waits between tries, the error at the end."""
    waits, answer, failed = [], ModelAnswer(), None

    async def sleep(seconds):
        waits.append(seconds)

    async def listen():
        model = Scripted(script)
        stream = stream_retrying(model, chat("x"), policy=policy, sleep=sleep, jitter=lambda: jitter)
        async with aclosing(stream) as events:
            async for event in events:
                answer.add(event)
                if isinstance(event, Retried):
                    assert event.wait == pytest.approx(([*waits, event.wait])[event.tries - 1])

    try:
        asyncio.run(listen())
    except ProviderError as error:
        failed = error
    return answer, waits, failed


def error(trouble, **fields):
    return ProviderError(trouble, trouble.value, **fields)


@covers("provider.backoff")
@pytest.mark.parametrize("trouble", [Trouble.SERVER_ERROR, Trouble.NETWORK, Trouble.RATE_LIMITED])
def test_what_may_pass_is_tried_three_times_with_growing_waits(trouble):
    answer, waits, failed = play(error(trouble), error(trouble), "At last.")
    assert (answer.choice().text, waits, failed) == ("At last.", [0.5, 1.0], None)
    assert [each.status for each in answer.recording.exchanges] == [500, 500, 200]
    _, waits, failed = play(*[error(trouble)] * 9)
    assert len(waits) == 2
    assert failed.trouble is trouble


@covers("provider.backoff")
def test_waits_are_jittered_and_bounded():
    assert play(error(Trouble.NETWORK), "x", jitter=0.0)[1] == [0.25]
    long = Policy(tries=20, longest_wait=4)
    assert max(play(*[error(Trouble.NETWORK)] * 19, "x", policy=long)[1]) == 4


@covers("provider.retry-after-honoured")
def test_a_rate_limit_waits_as_long_as_it_was_asked_to():
    limited = error(Trouble.RATE_LIMITED, retry_after=17.5)
    assert play(limited, "x")[1] == [17.5]


@covers("provider.retry-after-honoured")
def test_nobody_waits_for_longer_than_their_patience():
    answer, waits, failed = play(error(Trouble.RATE_LIMITED, retry_after=86_400.0), "x")
    assert (waits, failed.retry_after, answer.choices) == ([], 86_400, {})


@covers("provider.timeout-once")
def test_a_timeout_is_tried_again_once():
    silent = error(Trouble.TIMEOUT)
    assert play(silent, "x")[2] is None
    _, waits, failed = play(silent, silent, "x")
    assert len(waits) == 1
    assert failed.trouble is Trouble.TIMEOUT


@covers("provider.no-retry-after-text")
@pytest.mark.parametrize("trouble", list(Trouble))
def test_nothing_is_tried_again_once_text_was_shown(trouble):
    answer, waits, failed = play(Reply(text="Some words", error=error(trouble)), "Other words")
    assert (answer.choice().text, waits, failed.trouble) == ("Some words", [], trouble)


@covers("provider.backoff")
@pytest.mark.parametrize(
    "trouble",
    [
        Trouble.AUTHENTICATION,
        Trouble.CONTEXT_TOO_LONG,
        Trouble.MODEL_NOT_FOUND,
        Trouble.INVALID_REQUEST,
        Trouble.CONTENT_FILTERED,
        Trouble.UNKNOWN,
    ],
)
def test_what_will_not_pass_is_not_tried_again(trouble):
    _, waits, failed = play(error(trouble), "x")
    assert (waits, failed.trouble) == ([], trouble)


@covers("provider.retry-after-honoured")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 16 Nov 2026 10:00:30 GMT"}, 30),
        ({"retry-after": "Mon, 16 Nov 2026 09:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers, seconds):
    assert retry_after_of(headers, now=1_794_823_200.0) == seconds


@covers("provider.retry-after-honoured")
def test_googles_own_field_is_read_too():
    assert retry_after_of({}, [{"@type": "x"}, {"retryDelay": "12.5s"}]) == 12.5
