"""The web app as somebody opens it: a real server on loopback with a scripted model, and pages of a browser."""

import contextlib
import json
import re
import threading
from collections.abc import Generator, Sequence
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import weft
from weft.grove.tree import TreeHandle
from weft.providers.base import ProviderRegistry
from weft.server import ServerSettings, create_app
from weft.testing import Gate, Scripted

KEY = "the-owners-key"
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE = 15_000


class Site:
    """A server of a grove, and the pages that are open on it."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.gate = Gate()
        self.gate.open()
        self.model = Scripted(gate=self.gate)
        self.path = folder / "grove.db"
        self.grove = weft.open(
            self.path, background=True, providers=ProviderRegistry({"scripted": self.model})
        )
        self.grove.add_agent("Echo", model_ref="scripted:echo", max_tokens=200)
        self.grove.generations.choose_default("Echo")
        self.port = 0
        self.contexts: list[BrowserContext] = []
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.start()

    def start(self) -> None:
        """Serve, at the same port as before."""
        app = create_app(self.grove, ServerSettings(keys=(KEY,)))
        config = uvicorn.Config(
            app, host="127.0.0.1", port=self.port, log_level="error", ws="none", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        while not self.server.started:
            self.thread.join(0.01)
            assert self.thread.is_alive()
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(30)

    def close(self) -> None:
        self.gate.open()
        for context in self.contexts:
            context.close()
        self.stop()
        self.grove.close()

    def plant(self, title: str, *turns: str, **more) -> TreeHandle:
        tree = self.grove.plant(title, turns[0] if turns else "", **more)
        for turn in turns[1:]:
            tree.say(turn)
        return tree

    def open(self, path: str, *, width: int = 1440, height: int = 900, key: str = KEY, **more) -> "Screen":
        context = self.browser.new_context(viewport={"width": width, "height": height}, **more)
        context.set_default_timeout(PATIENCE)
        context.add_cookies([{"name": "weft", "value": key, "url": self.url}])
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._heard)
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(self.url + path)
        return Screen(page)

    def _heard(self, message) -> None:
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            self.problems.append(message.text)


class Screen:
    """One open page, in the words of the interface."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def here(self) -> Locator:
        """The node where the reader is."""
        return self.page.locator("article[aria-current=true]")

    @property
    def composer(self) -> Locator:
        return self.page.get_by_label("Your turn")

    @property
    def texts(self) -> list[str]:
        return [
            re.sub(r"\s+", " ", text).strip()
            for text in self.page.locator("article .markdown").all_inner_texts()
        ]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def ready(self) -> "Screen":
        expect(self.here).to_be_visible()
        expect(self.page.get_by_label("What will be sent")).to_be_visible()
        return self

    def leave_fields(self) -> None:
        self.page.locator("[data-path]").focus()

    def scroll_place(self) -> float:
        return self.page.locator("[data-path]").evaluate("element => element.scrollTop")

    def violations(self) -> Sequence[str]:
        """What axe finds, all rules."""
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{each['id']}: {json.dumps([node['html'][:160] for node in each['nodes'][:3]])}"
            for each in found["violations"]
        ]


@contextlib.contextmanager
def opened(browser: Browser, folder: Path) -> Generator[Site]:
    site = Site(browser, folder)
    try:
        yield site
    finally:
        site.close()
