"""A grove to try operations in, with people and models in it, and what they may say."""

import hashlib
import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import select
from tests.properties.ledger import follow_chain
from tests.properties.model import Person, Thing, Words

import weft
from weft.ids import Entropy
from weft.store import schema
from weft.tree.agent import ALL_PERMISSIONS, Agent
from weft.tree.attempt import RawResponse, Usage
from weft.tree.content import Block, Content, Image, Mixed, Text, Thinking, ToolCall, ToolResult

ALL = frozenset(permission.value for permission in ALL_PERMISSIONS)
PEOPLE = {
    person.name: person
    for person in (
        Person("human", "human", ALL),
        Person("mira", "human", ALL),
        Person("poet", "model", frozenset({"loom_aware", "loom_write"})),
        Person("watcher", "model", frozenset({"loom_aware"})),
        Person("stranger", "model", frozenset()),
    )
}
WRITERS = ("human", "mira", "poet")
_PICTURE = b"a picture, as far as anyone here knows"
_REF = hashlib.sha256(_PICTURE).hexdigest()


@dataclass
class Workshop:
    """One grove for many trees."""

    address: str
    grove: weft.Grove
    groves: dict[str, weft.Grove]
    agents: dict[str, Agent]
    agent_keys: dict[str, int]
    document: str
    grove_id: str
    chained: int = 0
    head: bytes | None = None

    def tree_key(self, tree: str) -> int:
        with self.grove.read.store.read() as session:
            key = select(schema.trees.c.key).where(schema.trees.c.ulid == tree)
            return session.execute(key).scalar_one()

    def keep_picture(self) -> None:
        """The picture goes with the last tree that shows it."""
        assert self.grove.put_blob(_PICTURE) == _REF

    def follow_grove(self) -> int:
        """Recompute the grove's own chain as far as it goes; how many events are new."""
        events = schema.events
        before = self.chained
        with self.grove.read.store.read() as session:
            new = session.execute(
                select(events)
                .where(events.c.tree == 0, events.c.ordinal > self.chained)
                .order_by(events.c.ordinal)
            ).all()
            row = session.execute(select(schema.grove)).one()
        agents = {self.agent_keys[name]: agent.id for name, agent in self.agents.items()}
        self.chained, self.head = follow_chain(new, self.grove_id, agents, self.chained, self.head)
        assert (row.events, row.head) == (self.chained, self.head)
        return self.chained - before


def narrow_entropy(seed: int) -> Entropy:
    """Random bytes whose beginnings often agree, so that local ids collide; none begins with z."""
    source = random.Random(seed)

    def draw(size: int) -> bytes:
        return bytes((source.randrange(0x40), 0x11 * source.randrange(2))) + source.randbytes(size - 2)

    return draw


@contextmanager
def open_workshop(address: str) -> Generator[Workshop]:
    with weft.open(address, entropy=narrow_entropy(7)) as grove:
        for person in PEOPLE.values():
            if person.name != "human":
                grove.add_agent(
                    person.name,
                    type=person.type,
                    model_ref="test:model" if person.type == "model" else None,
                    permissions=sorted(person.may),
                )
        with grove.read.store.read() as session:
            table = schema.agents
            keys = {row.name: row.key for row in session.execute(select(table.c.name, table.c.key))}
            grove_id = session.execute(select(schema.grove.c.ulid)).scalar_one()
        yield Workshop(
            address=address,
            grove=grove,
            groves={name: grove.acting_as(name) for name in PEOPLE},
            agents={agent.name: agent for agent in grove.agents()},
            agent_keys=keys,
            document=grove.write_document("Notes", "# Snow\nIt fell.").id,
            grove_id=grove_id,
        )


def words_of(content: str | Content) -> Words:
    if isinstance(content, str):
        return Words.plain(content)
    if isinstance(content, Text):
        return Words(content, content.text, content.text)
    blocks = content.blocks if isinstance(content, Mixed) else ()
    return Words(content, None, "".join(block.text for block in blocks if isinstance(block, Text)))


TEXTS = st.one_of(
    st.sampled_from(("", "Why does she wait?", "Because it snowed.", "雪は静かに降る。", "one two one")),
    st.text("ab é雪\n'\"\\🌨\u2028", max_size=9),
)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | st.text("k雪", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("kq", max_size=2), inner, max_size=2),
    max_leaves=4,
)
_IDS = st.sampled_from(("call-1", "call-2"))


_BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(ToolCall, id=_IDS, name=st.just("look"), arguments=_JSON),
    st.builds(ToolResult, call_id=_IDS, content=_JSON, is_error=st.booleans()),
    st.builds(Thinking, text=TEXTS, opaque=_JSON),
    st.just(Image(ref=_REF, mime_type="image/png", width=2, height=3, alt_text="snow")),
)
_MIXED = st.lists(_BLOCKS, min_size=1, max_size=3).map(lambda blocks: Mixed(tuple(blocks)))
CONTENTS: st.SearchStrategy[str | Content] = st.one_of(TEXTS, TEXTS, TEXTS, TEXTS, _BLOCKS, _MIXED)
"""Mostly text; sometimes everything else that a node can say."""
THINGS = st.builds(
    Thing,
    id=st.sampled_from(("note:a", "url:b", "note:c")),
    type=st.sampled_from(("note", "url")),
    content=st.sampled_from(("", "Marie was here.", "雪")),
    recoverable=st.booleans(),
)
RESPONSES = st.sampled_from(
    (
        RawResponse(body=b"{}", provider="test", model="model"),
        RawResponse(body=b"{}", provider="test", model="other"),
        RawResponse(body=b"{}", provider="test", model="model", attempt="01M7GTSB9ENNJ2DY2RQ37W8NN9"),
        RawResponse(
            body=b'{"text": "so"}',
            provider="test",
            model="model",
            request_id="req-1",
            status_code=200,
            requested_at=datetime(2026, 1, 1, tzinfo=UTC),
            usage=Usage(prompt=3, completion=1, total=4),
        ),
        RawResponse(body=b'{"text": "so"}', provider="test", model="model-2", request_id="req-2"),
    )
)
