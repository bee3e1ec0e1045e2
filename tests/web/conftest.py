"""A browser for all tests of a process, and a site for each."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.web.browser import launch
from tests.web.site import Site, opened

from weft.server.routes.web_app import STATIC


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not (STATIC / "index.html").is_file():
        pytest.fail("the web app is not built: run make web")
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def site(browser, tmp_path) -> Iterator[Site]:
    with opened(browser, tmp_path) as site:
        yield site
        assert site.problems == []
        assert [url for url in site.requests if not url.startswith(site.url)] == [], (
            "requests off the machine"
        )
