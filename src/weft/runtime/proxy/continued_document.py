"""Documents that a client continues: a prompt that begins with a known document and its continuation."""

from typing import NamedTuple

from weft.runtime.proxy.client_signs import Purpose
from weft.runtime.proxy.wires import Wire
from weft.store.path_queries import walk_up_with_texts
from weft.store.proxy_rows import recent_replies
from weft.store.rows import load_content
from weft.store.session import Session
from weft.tree.content import spoken_text

_DOCUMENTS = 32
"""How many of the last continuations a prompt is compared with."""
_PATH = 10_000


class KnownDocument(NamedTuple):
    """The node that a document is known up to, and the rest of the prompt."""

    tree: int
    node: int
    rest: str


def find_document(session: Session, token: int, prompt: str) -> KnownDocument | None:
    """The longest known document that a prompt begins with."""
    best: KnownDocument | None = None
    for each in recent_replies(session, token, Purpose.TURN, _DOCUMENTS):
        request = each.request
        if request.wire != Wire.COMPLETIONS or request.reply is None:
            continue
        path = walk_up_with_texts(session, request.tree, request.reply, _PATH)
        text = "".join(spoken_text(load_content(row.kind, content)) for row, content in path)
        if text and prompt.startswith(text) and (best is None or len(prompt) - len(text) < len(best.rest)):
            best = KnownDocument(request.tree, request.reply, prompt[len(text) :])
    return best
