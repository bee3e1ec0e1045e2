"""Who wrote which characters."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.tree.authorship import authorship, common_runs

texts = st.text(alphabet="ab \n", max_size=60)


def written(versions):
    text = versions[-1][1]
    return [(span.author_id, text[span.start : span.end]) for span in authorship(versions)]


@covers("authorship.unchanged-characters-stay-the-models", "authorship.changed-characters-are-the-editors")
def test_only_what_was_changed_becomes_the_editors():
    versions = [("model", "The cat sat on the mat."), ("Ada", "The black cat sat on the mat!")]
    assert written(versions) == [
        ("model", "The "),
        ("Ada", "black "),
        ("model", "cat sat on the mat"),
        ("Ada", "!"),
    ]


@covers("authorship.unchanged-characters-stay-the-models")
def test_authors_survive_several_edits():
    versions = [("model", "one two"), ("Ada", "one and two"), ("Bo", "one and two!")]
    assert written(versions) == [("model", "one "), ("Ada", "and "), ("model", "two"), ("Bo", "!")]


@given(texts, texts)
def test_common_runs_are_common_and_in_order(old, new):
    end_old = end_new = 0
    for a, b, size in common_runs(old, new):
        assert old[a : a + size] == new[b : b + size]
        assert a >= end_old
        assert b >= end_new
        assert size > 0
        end_old, end_new = a + size, b + size


@given(st.lists(texts, min_size=1, max_size=5))
def test_spans_cover_the_text_without_gaps(drafts):
    versions = [(str(number), text) for number, text in enumerate(drafts)]
    spans = authorship(versions)
    assert [span.start for span in spans] == [0, *(span.end for span in spans)][: len(spans)]
    assert (spans[-1].end if spans else 0) == len(drafts[-1])
    assert all(a.author_id != b.author_id for a, b in itertools.pairwise(spans))


@given(texts)
def test_an_edit_that_changes_nothing_owns_nothing(text):
    assert {span.author_id for span in authorship([("model", text), ("Ada", text)])} <= {"model"}


def test_a_rewritten_book_is_compared_in_bounded_time():
    old = "".join(f"line {number} of the book\n" for number in range(30_000))
    new = "".join(f"row {number} of a story\n" for number in range(30_000))
    assert authorship([("model", old), ("Ada", new)])[-1].end == len(new)
