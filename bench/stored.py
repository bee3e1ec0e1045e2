"""Contexts from a store: a chat whose every message is committed, a fresh context, and one that only grew."""

import contextlib
import sqlite3
import statistics
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TypeAlias

import psycopg
from tests.statements import statements

import weft
from bench.context import Plain, chat_messages
from bench.plain import changes_of, moved, sqlite_writer
from bench.report import Section, Table, at_most, number
from bench.scene import STORES, Scene, place_of
from bench.timing import seconds_of, seconds_of_a_sync
from weft.context.result import Context
from weft.grove.tree import TreeHandle

__all__ = ["run"]

_LIMIT = 8_000
_TURNS = 2_000
_BLOCK = 50
"""Turns that are measured before the other side has its go."""
_BEFORE = 400
"""Messages of a conversation before its contexts are measured."""
_ROUNDS = 60
_STATEMENTS = 12
_BARS = {"SQLite": 3, "PostgreSQL": 2}
_EXTENDED = 0.3

_PATH = """
WITH RECURSIVE path AS (
  SELECT n.*, 1 AS step FROM nodes n WHERE n.tree = {tree} AND n.key = {key}
  UNION ALL
  SELECT n.*, path.step + 1 FROM path JOIN nodes n ON n.tree = path.tree AND n.key = path.parent
  WHERE path.step < {count}
)
SELECT path.*, t.content FROM path JOIN texts t ON t.tree = path.tree AND t.node = path.key ORDER BY path.step DESC
"""
Read: TypeAlias = Callable[[Mapping[str, int]], list[tuple[object, ...]]]


def run(scene: Scene) -> Section:
    section = Section(
        "Contexts from the store",
        f"A chat in a window of {_LIMIT:,} tokens: every message is committed, and a context is assembled before "
        "each answer. Bare SQL puts the same finished rows into the same file by sqlite3, one commit for each "
        "message, and assembles nothing. A fresh context has empty caches; one that is extended follows another "
        "that ended two messages earlier. Plain SQL is one recursive query by the driver that reads the same rows "
        "with their texts, and makes nothing of them.",
    )
    _chat(scene, section)
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        with scene.address(store) as address:
            rows.append(_contexts(scene, section, store, address))
    header = (
        "ms, median",
        "plain SQL",
        "fresh",
        "fresh ÷ plain SQL",
        "extended",
        "extended ÷ fresh",
        "statements",
    )
    section.tables.append(Table(f"A context of {_LIMIT:,} tokens", header, rows))
    return section


def _context(tree: TreeHandle) -> Context:
    context = tree.context(limit=_LIMIT, strategy="rollingWindow", preferences={"estimator": "chars/4"})
    _ = context.messages
    return context


def _chat(scene: Scene, section: Section) -> None:
    turns = scene.size(_TURNS, 200)
    messages = chat_messages(2 * turns)
    ours, bare = list[float](), list[float]()
    with scene.address("SQLite") as path, weft.open(path) as grove:
        grove.add_agent("bot", model_ref="local:any")
        tree, copy = grove.plant("Chat", "Hello"), grove.plant("Copy", "Hello")
        store = grove.read.store
        keys = place_of(store, tree)[0], place_of(store, copy)[0]
        with sqlite_writer(path) as write:
            for start in range(0, 2 * turns, 2 * _BLOCK):
                part = messages[start : start + 2 * _BLOCK]
                ours.append(seconds_of(partial(_say, tree, part)))
                changes = moved(changes_of(store, keys[0], len(part), start), keys[1])
                bare.append(seconds_of(lambda changes=changes: [write(change) for change in changes]))
        sync = seconds_of_a_sync(scene.folder)
    took = {
        "ours": sum(ours),
        "bare SQL": sum(bare),
        "(floor: the disk's two syncs a turn)": len(messages) * sync,
    }
    rows = [(name, number(1000 * seconds), number(1e6 * seconds / turns)) for name, seconds in took.items()]
    caption = f"A chat of {turns:,} turns through SQLite, every message committed"
    section.tables.append(Table(caption, ("", "ms in all", "µs a turn"), rows))
    section.hold(at_most(f"{caption}: ours ÷ bare SQL", sum(ours) / sum(bare), 3))


def _say(tree: TreeHandle, messages: list[Plain]) -> None:
    for number_, message in enumerate(messages):
        if number_ % 2:
            _context(tree)
        tree.say(message["content"], author="bot" if number_ % 2 else None)


def _contexts(scene: Scene, section: Section, store: str, address: str) -> tuple[str, ...]:
    rounds = scene.size(_ROUNDS, 10)
    messages = chat_messages(_BEFORE + 2 * rounds)
    plain, fresh, extended = list[float](), list[float](), list[float]()
    with weft.open(address) as grove, _reader(store, address) as read:
        grove.add_agent("bot", model_ref="local:any")
        tree = grove.plant("Chat", "Hello")
        executor = grove.caller.executor
        key, _ = place_of(executor.store, tree)
        _say(tree, messages[:_BEFORE])
        for start in range(_BEFORE, len(messages), 2):
            node = tree.say(messages[start]["content"])
            extended.append(seconds_of(partial(_context, tree)))
            executor.contents.clear()
            fresh.append(seconds_of(partial(_context, tree)))
            values = {"tree": key, "key": node.depth + 1, "count": len(_context(tree).messages)}
            plain.append(seconds_of(partial(read, values)))
            tree.say(messages[start + 1]["content"], author="bot")
        executor.contents.clear()
        with statements(executor.store, mine=True) as sent:
            _context(tree)
    middle = [statistics.median(each) for each in (plain, fresh, extended)]
    section.hold(at_most(f"{store}: a fresh context ÷ plain SQL", middle[1] / middle[0], _BARS[store]))
    section.hold(at_most(f"{store}: an extended context ÷ a fresh one", middle[2] / middle[1], _EXTENDED))
    section.hold(at_most(f"{store}: statements of a fresh context", len(sent), _STATEMENTS))
    figures = (
        1000 * middle[0],
        1000 * middle[1],
        middle[1] / middle[0],
        1000 * middle[2],
        middle[2] / middle[1],
    )
    return (store, *map(number, figures), str(len(sent)))


@contextlib.contextmanager
def _reader(store: str, address: str) -> Generator[Read]:
    """Plain SQL for the last messages of a path."""
    if store == "PostgreSQL":
        sql = _PATH.format(tree="%(tree)s", key="%(key)s", count="%(count)s").encode()
        with psycopg.connect(address, autocommit=True, prepare_threshold=0) as connection:
            yield lambda values: connection.execute(sql, values).fetchall()
    else:
        sql = _PATH.format(tree=":tree", key=":key", count=":count")
        with contextlib.closing(sqlite3.connect(address)) as connection:
            yield lambda values: connection.execute(sql, values).fetchall()
