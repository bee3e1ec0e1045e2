"""Heartbeats: a hold is renewed while work goes on, and its holder stops when it is lost."""

import threading

import pytest
from tests.covers import covers

from weft.errors import NotFoundError, UnavailableError
from weft.runtime.coordination.heartbeat import Heartbeat, beating

PATIENCE = 30.0


def failing(error):
    def renew():
        raise error

    return renew


@covers("lease.failed-heartbeat-stops")
@pytest.mark.parametrize(
    ("renew", "hold"),
    [
        (lambda: False, 1_000.0),
        (failing(NotFoundError("the tree is gone")), 1_000.0),
        (failing(UnavailableError("the server is away")), 0.0),
        (failing(RuntimeError("a bug")), 0.0),
    ],
    ids=["another has it", "refused for good", "away until it ran out", "a bug until it ran out"],
)
def test_a_lost_hold_stops_its_holder_once(renew, hold):
    stopped = []
    heartbeat = Heartbeat(renew, hold=hold, on_lost=lambda: stopped.append(1))
    assert not heartbeat.is_lost
    assert [heartbeat.beat(), heartbeat.beat()] == [False, False]
    assert heartbeat.is_lost
    assert stopped == [1]


@covers("lease.failed-heartbeat-stops")
@pytest.mark.parametrize("error", [UnavailableError("the server is away"), RuntimeError("a bug")])
def test_a_beat_that_fails_before_the_hold_runs_out_loses_nothing_and_is_logged(error, caplog):
    heartbeat = Heartbeat(failing(error), hold=1_000.0)
    assert heartbeat.beat()
    assert not heartbeat.is_lost
    assert str(error) in caplog.text


@covers("lease.failed-heartbeat-stops")
def test_a_body_is_told_from_the_thread_that_beats():
    lost = threading.Event()
    with beating(failing(RuntimeError("a bug")), hold=0.03, on_lost=lost.set) as heartbeat:
        assert lost.wait(PATIENCE)
        assert heartbeat.is_lost
