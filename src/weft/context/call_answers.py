"""Which result answers which tool call: one rule, for paths and for plain lists."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class CallAnswer(NamedTuple):
    """A call and its result, by the places of their messages."""

    made: int
    call: str
    answered: int


def call_answers(
    traffic: Iterable[tuple[int, Sequence[str], Sequence[str]]], made: dict[str, int]
) -> Iterator[CallAnswer]:
    """The pairs among messages, each given as its place, the ids it calls and the ids it answers.

    A result answers the last call of its id before it. `made` has the places of the calls so far, and grows.
    """
    for place, calls, results in traffic:
        for call in results:
            if call in made:
                yield CallAnswer(made[call], call, place)
        for call in calls:
            made[call] = place
