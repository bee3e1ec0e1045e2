"""Searching the web: whom, with which key, and what becomes of the answer."""

import asyncio
import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.covers import covers
from tests.providers.loopback import Loopback, plain

from weft.errors import InvalidInputError, ProviderError, Trouble
from weft.providers.keys import Keys
from weft.providers.search_engine import Page, chosen_engine

KEY = "sk-canary-0123456789"


def keys(tmp_path, **environment):
    return Keys(environment=environment, ring=lambda: None, file=lambda: tmp_path / "keys.json")


def search(tmp_path, name, *answers, **asked):
    """What a provider at this machine gave, and what it was asked."""

    async def run():
        async with Loopback(list(answers)) as server:
            found = chosen_engine(
                {"WEFT_WEB_SEARCH": f"{name}:{server.url}"},
                keys(
                    tmp_path,
                    WEFT_KEY_BRAVE=KEY,
                    WEFT_KEY_BRAVE_FOR=server.url,
                    WEFT_KEY_TAVILY=KEY,
                    WEFT_KEY_TAVILY_FOR=server.url,
                ),
            )
            try:
                return await found.search("the lamp & more", **{"limit": 2, **asked}), server.heard
            except ProviderError as error:
                return error, server.heard

    return asyncio.run(run())


@covers("toolcall.web-search-off")
def test_nobody_is_asked_until_somebody_is_chosen(tmp_path):
    assert chosen_engine({}) is None
    assert chosen_engine({"WEFT_WEB_SEARCH": " "}) is None
    assert (
        chosen_engine({"WEFT_WEB_SEARCH": "Brave"}).connection.endpoint.url == "https://api.search.brave.com"
    )
    assert chosen_engine({"WEFT_WEB_SEARCH": "tavily"}).connection.endpoint.url == "https://api.tavily.com"
    for value in (
        "altavista",
        "searxng",
        "searxng:ftp://example.org",
        "searxng:https://me:secret@example.org",
    ):
        with pytest.raises(InvalidInputError) as caught:
            chosen_engine({"WEFT_WEB_SEARCH": value})
        assert "secret" not in str(caught.value)


@covers("toolcall.web-search-providers")
def test_searxng_is_asked_in_its_words(tmp_path):
    results = [
        {
            "title": "Lamp\n one",
            "url": "https://a.example/",
            "content": "It  lights\ud800.",
            "publishedDate": "2026-01-02",
        },
        {"title": 7, "url": "javascript:alert(1)"},
        "nonsense",
        {"url": "https://b.example/"},
        {"url": "https://c.example/"},
    ]
    found, heard = search(
        tmp_path, "searxng", plain(200, json.dumps({"results": results}).encode()), period="week"
    )
    assert found == [
        Page("Lamp one", "https://a.example/", "It lights?.", "2026-01-02"),
        Page("", "https://b.example/", "", None),
    ]
    split = urlsplit(heard[0].target)
    assert (heard[0].method, split.path) == ("GET", "/search")
    assert dict(parse_qsl(split.query)) == {"q": "the lamp & more", "format": "json", "time_range": "week"}
    assert KEY not in heard[0].head.decode()


@covers("toolcall.web-search-providers")
def test_brave_is_asked_in_its_words(tmp_path):
    answer = {
        "web": {
            "results": [{"title": "A", "url": "https://a.example", "description": "It.", "page_age": "2026"}]
        }
    }
    found, heard = search(tmp_path, "brave", plain(200, json.dumps(answer).encode()), period="month")
    assert found == [Page("A", "https://a.example", "It.", "2026")]
    split = urlsplit(heard[0].target)
    assert split.path == "/res/v1/web/search"
    assert dict(parse_qsl(split.query)) == {
        "q": "the lamp & more",
        "count": "2",
        "text_decorations": "false",
        "freshness": "pm",
    }
    assert heard[0].header("X-Subscription-Token") == KEY


@covers("toolcall.web-search-providers")
def test_tavily_is_asked_in_its_words(tmp_path):
    answer = {"results": [{"title": "A", "url": "https://a.example", "content": "It."}]}
    found, heard = search(tmp_path, "tavily", plain(200, json.dumps(answer).encode()))
    assert found == [Page("A", "https://a.example", "It.", None)]
    assert (heard[0].method, heard[0].target) == ("POST", "/search")
    assert json.loads(heard[0].body) == {"query": "the lamp & more", "max_results": 2}
    assert heard[0].header("Authorization") == f"Bearer {KEY}"


@covers("toolcall.web-search-providers", "provider.keys-never-shown")
@pytest.mark.parametrize(
    ("name", "answer", "trouble"),
    [
        ("brave", plain(401, f"bad token {KEY}".encode()), Trouble.AUTHENTICATION),
        ("brave", plain(429, b"slow down"), Trouble.RATE_LIMITED),
        ("tavily", plain(500, b""), Trouble.SERVER_ERROR),
        ("searxng", plain(403, b"<html>"), Trouble.INVALID_REQUEST),
        ("searxng", plain(302, b"", location="https://else.example"), Trouble.INVALID_REQUEST),
        ("searxng", plain(200, b"<html>no json"), Trouble.UNKNOWN),
        ("searxng", plain(200, b"x" * 5_000_000), Trouble.UNKNOWN),
    ],
)
def test_what_goes_wrong_is_said_in_our_words_and_no_key_with_it(tmp_path, name, answer, trouble):
    error, _ = search(tmp_path, name, answer)
    assert isinstance(error, ProviderError)
    assert error.trouble is trouble
    assert KEY not in f"{error!r} {error} {error.hint}"


@covers("toolcall.web-search-providers")
@pytest.mark.parametrize("told", [b"null", b"[]", b'{"results": 3}', b'{"results": "text"}', b'"text"', b"7"])
def test_an_answer_without_pages_has_none(tmp_path, told):
    assert search(tmp_path, "searxng", plain(200, told))[0] == []


@covers("toolcall.web-search-providers")
def test_without_its_key_a_provider_is_not_asked(tmp_path):
    found = chosen_engine({"WEFT_WEB_SEARCH": "brave:http://127.0.0.1:9"}, keys(tmp_path))
    with pytest.raises(ProviderError, match="there is no key for brave") as caught:
        asyncio.run(found.search("lamp", limit=1))
    assert caught.value.trouble is Trouble.AUTHENTICATION
    outside = chosen_engine({"WEFT_WEB_SEARCH": "tavily"}, keys(tmp_path, WEFT_KEY_TAVILY=KEY))
    with pytest.raises(ProviderError, match="WEFT_OFFLINE is set"):
        asyncio.run(outside.search("lamp", limit=1))
