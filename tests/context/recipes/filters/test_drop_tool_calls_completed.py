"""Only the last of the messages that say that tools are done."""

import pytest
from hypothesis import given
from tests.context.recipes.filters.chats import chats
from tests.covers import covers

from weft.context.recipes import apply_filters

DONE = "Tool calls completed"


def dropped(messages, **options):
    return apply_filters(messages, [{"name": "dropToolCallsCompleted", "options": options}])


def user(content):
    return {"role": "user", "content": content}


@covers("filter.drop-completed")
def test_of_equal_user_messages_the_last_stays_where_it_is():
    messages = [user(DONE), user("a"), {"role": "assistant", "content": DONE}, user(f" {DONE}\n"), user("b")]
    assert dropped(messages) == messages[1:]
    assert dropped(messages, trim=False) == messages
    assert dropped(messages, phrase="a") == messages


@covers("filter.drop-completed")
@pytest.mark.parametrize(
    ("content", "options", "same"),
    [
        ("done", {"phrase": "done"}, True),
        ("DONE", {"phrase": "done"}, False),
        ("DONE", {"phrase": "done", "caseSensitive": False}, True),
        ("ΟΔΟΣ", {"phrase": "Οδος", "caseSensitive": False}, True),
        ("\ufeffdone\u00a0", {"phrase": "done"}, True),
        ("\x1cdone\x85", {"phrase": "done"}, False),
        (" done ", {"phrase": " done "}, False),
        (" done ", {"phrase": " done ", "trim": False}, True),
        ("", {"phrase": ""}, True),
        (["done"], {"phrase": "done"}, False),
    ],
)
def test_contents_are_trimmed_and_compared_as_javascript_does(content, options, same):
    messages = [user(content), user(content)]
    assert len(dropped(messages, **options)) == (1 if same else 2)


@given(chats(strange=True))
def test_nothing_else_is_dropped_than_repetitions_and_what_is_nothing(messages):
    found = dropped(messages)
    assert found == [each for each in found if each in messages]
    assert dropped(found) == found
    assert sum(1 for each in found if each == user(DONE)) <= 1
    there = [each for each in messages if each not in (None, False, 0) and each != user(DONE)]
    assert [each for each in found if each != user(DONE)] == there
