"""A web page as text: headings, paragraphs, lists and links' words; no scripts, no markup."""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple

_TAG = re.compile(r"<(/?)([a-zA-Z!?][a-zA-Z0-9-]*)[^<>]*>")
_HEADING = re.compile(r"h([1-6])\Z")
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "head", "title"})
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure"),
        *("footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table"),
        *("td", "th", "tr", "ul", "body"),
    }
)
_BLANK = re.compile(r"[ \t\r\f\v\xa0]+")


class PageText(NamedTuple):
    """A page's title and its text."""

    title: str
    text: str


def page_text(source: str) -> PageText:
    """The text of an HTML page, in linear time; broken markup is read as far as it goes."""
    source = "".join(_without_comments(source))
    begin = source.lower().find("<title")
    title = ""
    if begin >= 0:
        inner = source.find(">", begin) + 1
        end = source.lower().find("</title", inner)
        title = " ".join(html.unescape(source[inner : end if end >= 0 else inner]).split())[:300]
    lines = (_BLANK.sub(" ", line).strip() for line in "".join(_texts(source)).split("\n"))
    return PageText(title, re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())


def _without_comments(source: str) -> Iterator[str]:
    start = 0
    while (begin := source.find("<!--", start)) >= 0:
        yield source[start:begin]
        end = source.find("-->", begin + 4)
        if end < 0:
            return
        start = end + 3
    yield source[start:]


def _texts(source: str) -> Iterator[str]:
    lower, at, position = source.lower(), 0, 0
    while (tag := _TAG.search(source, position)) is not None:
        yield html.unescape(source[at : tag.start()].replace("\n", " "))
        closes, name = bool(tag[1]), tag[2].lower()
        at = position = tag.end()
        if name in _SKIPPED and not closes:
            end = lower.find(f"</{name}", position)
            at = position = len(source) if end < 0 else end
        elif (heading := _HEADING.match(name)) is not None:
            yield "\n\n" if closes else f"\n\n{'#' * int(heading[1])} "
        elif name == "li" and not closes:
            yield "\n- "
        elif name in _BLOCKS:
            yield "\n\n" if name == "p" else "\n"
    yield html.unescape(source[at:].replace("\n", " "))
