"""Find the node that a request continues: by its history, by a summary, by the last reply that it contains.

All look-ups go by the token and by hashes of this request: they take as long with one tree as with many.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlalchemy import and_, select

from weft.runtime.proxy.client_signs import Purpose
from weft.runtime.proxy.history import HistoryPart, Side, chain_of, digest_of
from weft.store import schema
from weft.store.proxy_rows import KeyRow, RecentReply, RequestRow, live_keys, recent_replies
from weft.store.rows import load_content
from weft.store.session import Session, in_batches
from weft.tree.content import spoken_text

_SUMMARIES = 16
"""How many of the last replies may be the summary that a history begins with."""
_SHORTEST_SUMMARY = 24
_TAG = re.compile(r"</?[A-Za-z][\w-]{0,40}>")
_ASKS = re.compile(r"\b(?:summar|compact|condens)", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")


class Link(StrEnum):
    """How a request was joined to its tree."""

    PREFIX = "prefix"
    """Its history begins with one that is known."""
    RESPONSE = "response id"
    """It names the answer that it continues."""
    REPLY = "last reply"
    """It contains a recorded reply; what comes before differs."""
    SUMMARY = "summary"
    """It begins with a summary of a known history."""
    TRANSCRIPT = "transcript"
    """It asks for a summary, with a known history as text."""
    WINDOW = "window"
    """The client says that its window follows a known one."""
    SESSION = "session"
    """A new history in a known session."""
    ROOT = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A node of a tree, and how much of a history it stands for."""

    link: Link
    tree: int
    node: int
    known: int = 0
    """How many parts of the history are up to this node."""
    chain: bytes
    """The hash of the history up to there."""
    summary: RequestRow | None = None
    """The request whose reply replaced the history before."""
    kept: int | None = None
    """The node of the old path from which on the client kept turns."""


def reply_key(part: HistoryPart) -> bytes:
    """What a reply is known by: the id of a call, else its text."""
    return digest_of("reply", part.key)


def before_key(parts: Sequence[HistoryPart], index: int) -> bytes:
    """What came before a part, loosely: clients rewrite the end of what a person said, not its first line."""
    for part in reversed(parts[:index]):
        if part.side is Side.CLIENT and part.key:
            first = part.result or next(iter(part.text.splitlines()), "")
            return digest_of("before", first.strip())
    return digest_of("before", "")


def partial_key(chain: bytes) -> bytes:
    """An interrupted reply is known by what it answers."""
    return digest_of("partial", chain)


def response_key(name: str) -> bytes:
    return digest_of("response", name)


def item_key(name: str) -> bytes:
    return digest_of("item", name)


def resolve_references(session: Session, token: int, parts: Sequence[HistoryPart]) -> list[HistoryPart]:
    """Parts with the keys of the items that they refer to."""
    wanted = {item_key(part.item): part for part in parts if part.is_reference}
    if not wanted:
        return list(parts)
    known = {row.digest: row.more for row in live_keys(session, token, wanted)}
    return [_resolved(part, known) for part in parts]


def _resolved(part: HistoryPart, known: dict[bytes, bytes | None]) -> HistoryPart:
    more = known.get(item_key(part.item)) if part.is_reference else None
    return part if more is None else replace(part, key=more)


@dataclass(frozen=True, slots=True)
class ParentSearch:
    """One look for the parent of a request."""

    session: Session
    token: int
    parts: Sequence[HistoryPart]
    start: bytes
    """What the chain of the history begins with."""
    tree: int | None = None
    """The tree of the client's own session: among equals, it is preferred."""

    head: int | None = None
    """The last node of the client's session, where it says that its window is a new one."""
    is_named: bool = False
    """Whether the client names its session: then a question alone, without an answer, is not another session's."""

    def find(self) -> Place | None:
        """The place that the history continues; None: it is a new one."""
        prefix = self._partial(self._prefix())
        known = 0 if prefix is None else prefix.known
        if prefix is not None and not self._replies_after(known) and not self._drops_replies(known):
            return prefix
        replies = self._known_replies(known)
        summary = self._summary(known, replies)
        if summary is not None:
            return summary
        if self.head is not None and self.tree is not None:
            return Place(link=Link.WINDOW, tree=self.tree, node=self.head, chain=self.start)
        if replies and not self._is_edited(known, replies):
            index, row = replies[-1]
            chain = chain_of(self.parts[: index + 1], self.start)[-1]
            return Place(link=Link.REPLY, tree=row.tree, node=row.node, known=index + 1, chain=chain)
        return prefix

    def _partial(self, prefix: Place | None) -> Place | None:
        """After an interruption: the client kept the beginning of a reply of which more was recorded."""
        if prefix is None or prefix.known >= len(self.parts):
            return prefix
        said = self.parts[prefix.known]
        if said.side is not Side.MODEL or not said.text:
            return prefix
        for row in reversed(live_keys(self.session, self.token, [partial_key(prefix.chain)])):
            if node_text(self.session, row.tree, row.node).strip().startswith(said.text):
                known = prefix.known + 1
                chain = chain_of(self.parts[:known], self.start)[-1]
                return Place(link=Link.PREFIX, tree=row.tree, node=row.node, known=known, chain=chain)
        return prefix

    def _prefix(self) -> Place | None:
        """The longest beginning of the history that is known."""
        links = chain_of(self.parts, self.start)
        places = [index for index, part in enumerate(self.parts) if part.key]
        answered = next(
            (at for at, part in enumerate(self.parts) if part.side is Side.MODEL and part.key), None
        )
        unanswered = set(links[:answered]) if self.is_named else set[bytes]()
        for batch in in_batches(reversed(places), 256):
            found = live_keys(self.session, self.token, [links[index] for index in batch])
            rows = [row for row in found if row.tree == self.tree or row.digest not in unanswered]
            if rows:
                best = {row.digest: row for row in rows if row.tree != self.tree}
                best |= {row.digest: row for row in rows if row.tree == self.tree}
                index = next(index for index in batch if links[index] in best)
                row = best[links[index]]
                return Place(
                    link=Link.PREFIX, tree=row.tree, node=row.node, known=index + 1, chain=links[index]
                )
        return None

    def _replies_after(self, known: int) -> bool:
        return any(part.side is Side.MODEL and part.key for part in self.parts[known:])

    def _drops_replies(self, known: int) -> bool:
        """Whether the known beginning ends with the client's words, and other words of its own follow at once.

        So begins a history of which only the questions were kept, with a summary after them.
        """
        return (
            known < len(self.parts)
            and self.parts[known - 1].side is Side.CLIENT
            and (self.head is not None or self._summary(known, ()) is not None)
        )

    def _known_replies(self, known: int) -> list[tuple[int, KeyRow]]:
        """The replies after the known beginning that were recorded, in order, by call id or by text."""
        wanted = {
            reply_key(part): index
            for index, part in enumerate(self.parts)
            if index >= known and part.side is Side.MODEL and part.key
        }
        rows: dict[bytes, list[KeyRow]] = {}
        for row in live_keys(self.session, self.token, wanted):
            rows.setdefault(row.digest, []).append(row)
        replies: list[tuple[int, KeyRow]] = []
        for digest, index in sorted(wanted.items(), key=lambda each: each[1]):
            of_reply = rows.get(digest, [])
            before = before_key(self.parts, index)
            same = [row for row in of_reply if row.more == before]
            # A call's id is its own; a short text may have been said many times.
            chosen = same or (of_reply if self.parts[index].call or self.parts[index].is_compaction else [])
            if chosen:
                own = [row for row in chosen if row.tree == self.tree]
                replies.append((index, (own or chosen)[-1]))
        return replies

    def _is_edited(self, known: int, replies: Sequence[tuple[int, KeyRow]]) -> bool:
        """Whether what stands before a recorded reply is not what it answered: an edit, so a branch of its own."""
        if not known:
            return False
        return any(row.more != before_key(self.parts, index) for index, row in replies) or self._misses_reply(
            known
        )

    def _misses_reply(self, known: int) -> bool:
        """Whether a recorded text after the known beginning now follows other words."""
        texts = {
            reply_key(part): index
            for index, part in enumerate(self.parts)
            if index >= known and part.side is Side.MODEL and part.text and not part.call
        }
        moved: set[int] = set()
        fitting: set[int] = set()
        for row in live_keys(self.session, self.token, texts):
            index = texts[row.digest]
            (fitting if row.more == before_key(self.parts, index) else moved).add(index)
        return bool(moved - fitting)

    def _summary(self, known: int, replies: Sequence[tuple[int, KeyRow]]) -> Place | None:
        """The reply that the history begins with, in the words of the client or as a sealed item."""
        sealed = next((row for index, row in replies if self.parts[index].is_compaction), None)
        told = [squashed(part.text) for part in self.parts[known:] if part.side is Side.CLIENT and part.text]
        said = {squashed(part.text) for part in self.parts[known:] if part.side is Side.MODEL and part.text}
        for each in self._candidates():
            request, words = each.request, squashed(_words(each.reply_kind, each.reply))
            kept = next((row.node for _, row in replies if row.tree == request.tree), None)
            is_summary = request.purpose == Purpose.COMPACTION or asks_for_summary(
                _words(each.question_kind, each.question)
            )
            is_sealed = sealed is not None and (request.tree, request.reply) == (sealed.tree, sealed.node)
            is_told = len(words) >= _SHORTEST_SUMMARY and any(words in text for text in told)
            # Programs pass one answer on to another question all the time: that alone is no compaction.
            if is_sealed or (is_told and (is_summary or kept is not None)) or (is_summary and words in said):
                return Place(
                    link=Link.SUMMARY,
                    tree=request.tree,
                    node=request.reply or 0,
                    chain=self.start,
                    summary=request,
                    kept=kept,
                )
        return None

    def _candidates(self) -> list[RecentReply]:
        summaries = recent_replies(self.session, self.token, Purpose.COMPACTION, _SUMMARIES)
        return [*summaries, *recent_replies(self.session, self.token, Purpose.TURN, _SUMMARIES)]


def _words(kind: int, content: str) -> str:
    return spoken_text(load_content(kind, content))


def node_text(session: Session, tree: int, node: int) -> str:
    """The words of a node."""
    nodes, texts = schema.nodes, schema.texts
    there = (
        select(nodes.c.kind, texts.c.content)
        .join(texts, and_(texts.c.tree == nodes.c.tree, texts.c.node == nodes.c.key))
        .where(nodes.c.tree == tree, nodes.c.key == node)
    )
    row = session.execute(there).one()
    return _words(row.kind, row.content)


def asks_for_summary(text: str) -> bool:
    """Whether a request's last words ask for a summary of what was said."""
    return bool(_ASKS.search(text))


def squashed(text: str) -> str:
    """Words alone: clients rewrite tags and white space around a summary."""
    return _BLANKS.sub(" ", _TAG.sub(" ", text)).strip()
