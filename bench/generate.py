"""What generating adds to a model: time to the first word, and time for each word."""

import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import aclosing
from typing import NamedTuple

from openai import OpenAI
from openai.types.chat import ChatCompletionUserMessageParam
from tests.providers.houses import HOUSES, connect
from tests.providers.loopback import serving, streamed

import weft
from bench.report import Section, Table, at_most, number
from bench.scene import STORES, Scene
from bench.timing import percentile
from weft.grove.node import NodeHandle
from weft.providers.base import ProviderRegistry, Request
from weft.providers.events import TextDelta
from weft.providers.scripted import Reply, Scripted
from weft.runtime.coordination.background import model_loop
from weft.runtime.generation.stream import TextChunk
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role

__all__ = ["run"]

_WORDS = 1_000
_ROUNDS = 40
_AT_ONCE = 50


class Heard(NamedTuple):
    """Seconds until the first word, and until the last."""

    first: float
    whole: float


def run(scene: Scene) -> Section:
    rounds, words = (6, 200) if scene.quick else (_ROUNDS, _WORDS)
    section = Section(
        "Generating",
        "A scripted model answers at once, so that what is measured is what Weft adds: permission, lease, "
        "context, the calls written down before anybody is asked (durably), then for each word an event and, a "
        "few times a second, what was said written down; at the end node, response and request in one "
        f"transaction. The floor is the same model read directly. Over HTTP a server in a thread of this "
        f"process answers in the dialect of OpenAI's chat completions, and both sides keep their connection. "
        f"An answer has {words:,} words; "
        f"{_AT_ONCE} at once are threads that each continue a node of their own.",
    )
    rows: list[Sequence[str]] = []
    floor = _floor(words, rounds)
    rows.append(_row("the model alone", floor, words))
    for store in STORES:
        with scene.address(store) as address:
            alone = _alone(address, words, rounds)
            crowd = _at_once(address, words // 5)
        rows.append(_row(store, alone, words))
        rows.append(_row(f"{store}, {_AT_ONCE} at once, {words // 5} words", crowd, words // 5))
        if store == "SQLite":
            first = statistics.median(each.first for each in alone) - statistics.median(
                each.first for each in floor
            )
            section.hold(at_most("time to the first word added, SQLite, median", 1_000 * first, 50, " ms"))
            each = _each(alone, words) - _each(floor, words)
            section.hold(at_most("time added for each word, SQLite, median", 1_000_000 * each, 200, " µs"))
    section.tables.append(_over_http(scene, section, rounds))
    section.tables.append(
        Table(
            "Until the first word, and for each after it",
            ("", "first, median", "first, p95", "each word", "whole, median"),
            rows,
        )
    )
    return section


def _over_http(scene: Scene, section: Section, rounds: int) -> Table:
    """The same through a provider: its SDK alone, and a generation, both asking one server on this machine."""
    house = HOUSES["compatible"]
    said = house.text([f"word{index} " for index in range(20)])
    rows: list[tuple[str, ...]] = []
    with (
        serving(streamed(*said)) as server,
        OpenAI(base_url=server.url + house.base, api_key="none") as client,
    ):
        _ask(client, house.model, 0)
        for store in STORES:
            with scene.address(store) as address:
                alone, ours = _side_by_side(client, server.url, address, rounds)
            rows.append((store, *(number(1_000 * each) for each in (alone, ours, ours - alone))))
            what = f"the first word over HTTP after the SDK alone has it, {store}, median"
            section.hold(at_most(what, 1_000 * (ours - alone), 8, " ms"))
    header = ("first word, ms, median", "the SDK alone", "a generation", "added")
    return Table("Over HTTP, from a server on this machine", header, rows)


def _side_by_side(client: OpenAI, url: str, address: str, rounds: int) -> tuple[float, float]:
    house = HOUSES["compatible"]
    provider = house.make(connect(url + house.base, house.name))
    alone, ours = list[float](), list[float]()
    with weft.open(address, providers=ProviderRegistry({house.name: provider})) as grove:
        grove.add_agent("Echo", model_ref=f"{house.name}:{house.model}")
        tree = grove.plant("Over HTTP")
        nodes = [tree.root.say(f"Go on, {index}.") for index in range(rounds + 1)]
        _listen(nodes.pop())
        for index, node in enumerate(nodes):
            alone.append(_ask(client, house.model, index))
            ours.append(_listen(node).first)
    model_loop().submit(provider.close()).result()
    return statistics.median(alone), statistics.median(ours)


def _ask(client: OpenAI, model: str, index: int) -> float:
    """Seconds until the SDK gives the first word."""
    began = time.perf_counter()
    first = 0.0
    asked: ChatCompletionUserMessageParam = {"role": "user", "content": f"Go on, {index}."}
    for chunk in client.chat.completions.create(model=model, messages=[asked], stream=True):
        if not first and chunk.choices and chunk.choices[0].delta.content:
            first = time.perf_counter() - began
    return first


def _row(name: str, heard: Sequence[Heard], words: int) -> Sequence[str]:
    firsts = [each.first for each in heard]
    return (
        name,
        f"{number(1_000 * statistics.median(firsts))} ms",
        f"{number(1_000 * percentile(firsts, 95))} ms",
        f"{number(1_000_000 * _each(heard, words))} µs",
        f"{number(1_000 * statistics.median(each.whole for each in heard))} ms",
    )


def _each(heard: Sequence[Heard], words: int) -> float:
    return statistics.median((each.whole - each.first) / words for each in heard)


def _model(words: int) -> Scripted:
    chunks = tuple(f"word{index} " for index in range(words))
    return Scripted(lambda _request, _choice: Reply(chunks=chunks))


def _floor(words: int, rounds: int) -> list[Heard]:
    model = _model(words)
    request = Request(model="echo", messages=(Message(Role.USER, (Text("Go on."),)),))

    async def listen() -> Heard:
        began = time.perf_counter()
        first = 0.0
        async with aclosing(model.stream(request)) as events:
            async for event in events:
                if not first and isinstance(event, TextDelta):
                    first = time.perf_counter() - began
        return Heard(first, time.perf_counter() - began)

    return [model_loop().submit(listen()).result() for _ in range(rounds)]


def _alone(address: str, words: int, rounds: int) -> list[Heard]:
    with weft.open(address, providers=ProviderRegistry({"scripted": _model(words)})) as grove:
        grove.add_agent("Echo", model_ref="scripted:echo")
        tree = grove.plant("Alone")
        nodes = [tree.root.say(f"Go on, {index}.") for index in range(rounds + 1)]
        _listen(nodes.pop())
        return [_listen(node) for node in nodes]


def _listen(node: NodeHandle) -> Heard:
    began = time.perf_counter()
    first = 0.0
    with node.stream(agent="Echo") as stream:
        for event in stream:
            if not first and isinstance(event, TextChunk):
                first = time.perf_counter() - began
    return Heard(first, time.perf_counter() - began)


def _at_once(address: str, words: int) -> list[Heard]:
    heard: list[Heard] = []
    with weft.open(address, providers=ProviderRegistry({"scripted": _model(words)})) as grove:
        tree = grove.plant("Crowd")
        nodes = [tree.root.say(f"Go on, {index}.") for index in range(_AT_ONCE)]
        threads = [threading.Thread(target=_listen_into, args=(heard, node)) for node in nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return heard


def _listen_into(heard: list[Heard], node: NodeHandle) -> None:
    heard.append(_listen(node))
