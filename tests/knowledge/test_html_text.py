"""Web pages as text."""

import time

import pytest
from tests.covers import covers

from weft.knowledge.html_text import page_text


@covers("toolcall.html-text")
def test_a_page_is_its_title_and_its_words():
    page = page_text(
        "<!doctype html><html><head><title>The &amp;  Lamp</title><style>p {}</style></head><body>"
        "<h1>Tower</h1><!-- <p>hidden</p> --><p>It is <b>lit</b>\nby day.</p><script>if (a < b) x('</p>')</script>"
        "<ul><li>one</li><li>two &lt;b&gt;</li></ul><pre>a</pre></body></html>"
    )
    assert page.title == "The & Lamp"
    assert page.text == "# Tower\n\nIt is lit by day.\n\n- one\n\n- two <b>\n\na"


@covers("toolcall.html-text")
@pytest.mark.parametrize(
    "text", ["", "<", "<p", "<title>", "plain & simple", "<script>never closed", "<!-- open"]
)
def test_broken_markup_is_read_as_far_as_it_goes(text):
    assert "<script" not in page_text(text).text


@covers("toolcall.html-text")
@pytest.mark.parametrize("piece", ["<", "<!--", "<a ", "<script>", "<p>x", "&", "<title"])
def test_a_megabyte_of_anything_is_read_in_linear_time(piece):
    begun = time.perf_counter()
    page_text(piece * (1_000_000 // len(piece)))
    assert time.perf_counter() - begun < 4
