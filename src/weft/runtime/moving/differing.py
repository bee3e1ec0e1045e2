"""Which of the things a hash stands for is not what was hashed."""

from collections.abc import Iterable, Iterator

from weft.provenance.chain import NodeFacts, content_hash
from weft.store.rows import EDGE_TYPES, ROLES, STATUSES

__all__ = ["differing_input"]


def differing_input(facts: NodeFacts, digest: bytes, authors: Iterable[str]) -> str:
    """The input that was changed, if putting another value in its place gives the hash again."""
    for name, other in _alternatives(facts, authors):
        if content_hash(other) == digest:
            return name
    return "content or createdAt"


def _alternatives(facts: NodeFacts, authors: Iterable[str]) -> Iterator[tuple[str, NodeFacts]]:
    for role in ROLES:
        yield "role", facts._replace(role=role)
    for status in STATUSES:
        yield "status", facts._replace(status=status)
    if facts.edge_type is not None:
        for edge_type in EDGE_TYPES:
            yield "edgeType", facts._replace(edge_type=edge_type)
    for author in authors:
        yield "authorId", facts._replace(author_id=author)
    if facts.edited_from is not None:
        yield "editedFrom", facts._replace(edited_from=None)
    if facts.response_sha256 is not None:
        yield "response", facts._replace(response_sha256=None)
    if facts.attachments:
        yield "attachments", facts._replace(attachments=())
    if len(facts.sources) > 1:
        yield "sources", facts._replace(sources=facts.sources[:1])
