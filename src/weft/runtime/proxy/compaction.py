"""A client's own compaction: the request for a summary whose history came as one text."""

from collections.abc import Sequence

from weft.runtime.proxy.history import HistoryPart, Side
from weft.runtime.proxy.parent_search import Link, Place, squashed
from weft.store.path_queries import walk_up_with_texts
from weft.store.proxy_rows import SessionRow, recent_sessions, segments_in
from weft.store.rows import ROLES, load_content
from weft.store.session import Session
from weft.tree.content import spoken_text
from weft.tree.node import Role

_SESSIONS = 8
"""How many sessions a transcript is compared with."""
_PATH = 2_000
_SHORTEST = 4
_TOGETHER = 16
"""Characters of a question and its answer that make a text a transcript of them."""


def find_transcript(
    session: Session,
    token: int,
    parts: Sequence[HistoryPart],
    known: SessionRow | None,
    start: bytes,
    *,
    has_tools: bool,
) -> Place | None:
    """The turn that a request for a summary follows, where its only message has a known history as text.

    The first question of that history and its answer are both in it, or the last ones.
    """
    said = [part for part in parts if part.key]
    if has_tools or not said or any(part.side is Side.MODEL for part in said):
        return None
    text = squashed(" ".join(part.text for part in said))
    sessions = [known] if known is not None and known.head is not None else []
    sessions += [row for row in recent_sessions(session, token, _SESSIONS) if row not in sessions]
    for row in sessions:
        if row.head is not None and _is_transcript(text, _exchanges(session, row.tree, row.head)):
            return Place(link=Link.TRANSCRIPT, tree=row.tree, node=row.head, chain=start)
    return None


def _exchanges(session: Session, tree: int, head: int) -> list[tuple[Role, str]]:
    """What was said on a path with words, since the last compaction."""
    path = walk_up_with_texts(session, tree, head, _PATH)
    begins = {row.node for row in segments_in(session, tree)}
    first = max((at for at, (row, _) in enumerate(path) if row.key in begins), default=0)
    spoken = (
        (ROLES[row.role], squashed(spoken_text(load_content(row.kind, content))))
        for row, content in path[first:]
    )
    return [(role, words) for role, words in spoken if len(words) >= _SHORTEST]


def _is_transcript(text: str, spoken: Sequence[tuple[Role, str]]) -> bool:
    for listed in (spoken, spoken[::-1]):
        asked = next((words for role, words in listed if role is Role.USER), "")
        answered = next((words for role, words in listed if role is Role.ASSISTANT), "")
        long_enough = len(asked) + len(answered) >= _TOGETHER and asked and answered
        if long_enough and asked in text and answered in text and len(text) > len(asked) + len(answered):
            return True
    return False
