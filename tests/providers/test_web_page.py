"""Reading a page: which addresses are reached, where redirects may lead, and how much is read."""

import asyncio

import pytest
from tests.covers import covers
from tests.providers.loopback import Loopback
from tests.providers.loopback import plain as answer

from weft.errors import InvalidInputError, ProviderError
from weft.providers.web_page import PageReader


def plain(text, *, kind="text/plain", status=200):
    return answer(status, text.encode(), content_type=kind)


def redirect(to):
    async def say(_heard, writer):
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()

    return say


def read(*answers, url="http://lamp.example:{port}/a?b=c#d", addresses=("127.0.0.1",), **more):
    """What a server on this machine gave under a name of its own, what it heard, and how often it was looked up."""
    looked_up = []

    async def resolver(host, port):
        looked_up.append(host)
        return [addresses[min(len(looked_up), len(addresses)) - 1]]

    async def run():
        async with Loopback(list(answers)) as server:
            reader = PageReader(private=True, resolver=resolver, **more)
            try:
                return await reader.read(url.format(port=server.port)), server.heard, looked_up
            except ProviderError as error:
                return error, server.heard, looked_up

    return asyncio.run(run())


@covers("toolcall.read-url")
def test_a_page_is_read_without_its_fragment_and_without_secrets(monkeypatch):
    page, heard, looked_up = read(plain("<p>Lit.</p>", kind="text/html; charset=latin-1"))
    assert (page.kind, page.text) == ("text/html", "<p>Lit.</p>")
    assert heard[0].target == "/a?b=c"
    assert heard[0].header("Host").startswith("lamp.example:")
    assert heard[0].header("Authorization") is heard[0].header("Cookie") is None
    assert looked_up == ["lamp.example"]


@covers("toolcall.read-url")
def test_redirects_are_followed_on_the_same_host_with_the_same_address():
    page, heard, looked_up = read(redirect("/b"), plain("There."), addresses=("127.0.0.1", "10.0.0.1"))
    assert page.text == "There."
    assert [each.target for each in heard] == ["/a?b=c", "/b"]
    assert looked_up == ["lamp.example"]


@covers("toolcall.read-url")
@pytest.mark.parametrize(
    "to",
    ["http://other.example/", "//other.example/x", "http://127.0.0.1/", "https://lamp.example/", "ftp://a/b"],
)
def test_a_redirect_off_the_host_is_not_followed(to):
    try:
        error, heard, _ = read(redirect(to), plain("No."))
    except InvalidInputError:
        return
    assert "not followed" in error.message
    assert len(heard) == 1


@covers("toolcall.read-url")
def test_a_loop_a_large_page_a_picture_and_an_error_end_in_words():
    assert "more than 5 redirects" in read(redirect("/a"))[0].message
    assert "longer than 4,194,304 bytes" in read(plain("x" * 5_000_000))[0].message
    assert "image/png is not text" in read(plain("x", kind="image/png"))[0].message
    assert "status 404" in read(plain("gone", status=404))[0].message


@covers("toolcall.read-url")
def test_a_page_that_never_comes_times_out():
    async def hang(_heard, _writer):
        await asyncio.Event().wait()

    assert "timed out after 0.05 s" in read(hang, seconds=0.05)[0].message


@covers("toolcall.read-url")
@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://lamp.example/", "127.0.0.1"),
        ("https://lamp.example/", "10.1.2.3"),
        ("https://lamp.example/", "169.254.169.254"),
        ("https://lamp.example/", "::ffff:192.168.0.1"),
        ("https://lamp.example/", "64:ff9b::7f00:1"),
        ("https://lamp.example/", "fd00::1"),
        ("https://127.0.0.1/", None),
        ("https://[::1]/", None),
        ("http://localhost/", "127.0.0.1"),
        ("https://box/", "192.168.0.9"),
        ("https://box.local/", "192.168.0.9"),
    ],
)
def test_private_addresses_are_refused_however_they_are_written(url, address, monkeypatch):
    monkeypatch.delenv("WEFT_OFFLINE", raising=False)

    async def resolver(host, port):
        return [address]

    with pytest.raises(ProviderError, match="nothing was sent"):
        asyncio.run(PageReader(resolver=resolver).read(url))


@covers("toolcall.read-url")
@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "file:///etc/passwd", "https://me:pw@a.example/", "a.example", ""]
)
def test_other_schemes_and_passwords_are_refused(url):
    with pytest.raises(InvalidInputError):
        asyncio.run(PageReader().read(url))
