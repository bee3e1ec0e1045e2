"""A Weft with its proxy on a port of this machine, in front of a scripted upstream."""

import contextlib
import socket
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import anthropic
import openai
import uvicorn
from tests.proxy.upstreams import Answer, Upstream, upstream

import weft
from weft.providers.compatible import PRESETS, Preset
from weft.providers.keys import Keys
from weft.runtime.proxy.upstream import Upstreams
from weft.server import ServerSettings, create_app

OWNER_KEY = "weft_the-owners-key"
UPSTREAM_KEY = "sk-of-the-upstream"


@dataclass
class Proxied:
    """A running server and what it talks to."""

    url: str
    grove: weft.Grove
    upstream: Upstream
    app: Any
    owner_key: str = OWNER_KEY
    sent: list[Any] | None = None
    """What the client sent, where the upstream heard something else."""

    def recorded(self) -> None:
        """Wait until everything is recorded; nothing may have failed."""
        self.app.state.proxy.recorder.wait()
        assert list(self.app.state.proxy.recorder.failures) == []

    def openai(self, token: str = OWNER_KEY, **more: Any) -> openai.OpenAI:
        return openai.OpenAI(
            base_url=f"{self.url}/v1", api_key=token, max_retries=more.pop("max_retries", 0), **more
        )

    def anthropic(self, token: str = OWNER_KEY, **more: Any) -> anthropic.Anthropic:
        return anthropic.Anthropic(
            base_url=self.url, api_key=token, max_retries=more.pop("max_retries", 0), **more
        )


def keys_of(url: str) -> Keys:
    host = url.removeprefix("http://")
    variables = {f"WEFT_KEY_{name}": UPSTREAM_KEY for name in ("ANTHROPIC", "OPENAI", "LAB")}
    bound = {f"WEFT_KEY_{name}_FOR": f"http://{host}" for name in ("ANTHROPIC", "OPENAI", "LAB")}
    return Keys(environment={**variables, **bound}, ring=lambda: None)


def presets_of(url: str) -> dict[str, Preset]:
    """The vendors' names and one more, all at the upstream."""
    base = replace(PRESETS["openrouter"], key_needed=True, table=None)
    return {
        "anthropic": replace(base, url=url),
        "openai": replace(base, url=f"{url}/v1"),
        "lab": replace(base, url=f"{url}/v1"),
    }


@contextlib.contextmanager
def proxied(grove: weft.Grove, script: Callable[[Any, int], Answer], **settings: Any) -> Generator[Proxied]:
    with upstream(script) as behind:
        upstreams = Upstreams(endpoints=lambda: presets_of(behind.url), keys=keys_of(behind.url))
        app = create_app(grove, ServerSettings(keys=(OWNER_KEY,), **settings), upstreams)
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app, log_level="warning", lifespan="on", ws="none", timeout_graceful_shutdown=5
        )
        server = uvicorn.Server(config)
        listening.listen(64)
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        try:
            yield Proxied(f"http://127.0.0.1:{listening.getsockname()[1]}", grove, behind, app)
        finally:
            server.should_exit = True
            thread.join()
            listening.close()
