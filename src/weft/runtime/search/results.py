"""What a search found, as values that every face can draw."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, overload

from weft.tree.node import Metadata
from weft.tree.reference import Target
from weft.tree.snippet import Snippet


class HitKind(StrEnum):
    """What can be found, by the words of its content, its title or its label."""

    NODE = "node"
    TREE = "tree"
    DOCUMENT = "document"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hit:
    """One thing that was found."""

    kind: HitKind
    id: str
    """Of the node, tree or document; of a tag, what it is on."""
    local_id: str | None = None
    """Of a node, or of the node that a tag is on."""
    tree_id: str | None = None
    title: str
    """The tree's or the document's."""
    snippet: Snippet
    rank: float
    """More is better; only to be compared within one answer."""
    created_at: datetime
    author_id: str | None = None
    author: str | None = None
    """The author's name."""
    target: Target
    """What to open."""
    metadata: Metadata | None = None

    def __repr__(self) -> str:
        name = f" [{self.local_id}]" if self.local_id is not None else ""
        return f"<Hit {self.kind}{name} in {self.title!r} {self.snippet.text!r}>"

    def _repr_html_(self) -> str:
        return f'<div style="{_SHELL}">{_hit_html(self)}</div>'


H = TypeVar("H", bound=Hit)


@dataclass(frozen=True, slots=True, repr=False)
class Hits(Sequence[H]):
    """An answer: hits, the best first."""

    query: str
    hits: tuple[H, ...] = ()
    offset: int = 0
    more: bool = False
    """Whether there are more after these."""
    complete: bool = field(default=True, kw_only=True)
    """False where the index could not be brought up to date: something new may be missing."""
    trouble: str | None = field(default=None, kw_only=True)
    """Why that was so, in a person's words; None: there was only not enough time."""

    @property
    def next_offset(self) -> int | None:
        """What to pass as `offset` for the next page."""
        return self.offset + len(self.hits) if self.more else None

    @overload
    def __getitem__(self, index: int) -> H: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[H, ...]: ...
    def __getitem__(self, index: int | slice) -> H | tuple[H, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[H]:
        return iter(self.hits)

    def __repr__(self) -> str:
        count = f"{len(self.hits):,} {'hit' if len(self.hits) == 1 else 'hits'}"
        more = ", and more" if self.more else ""
        lines = "".join(f"\n  {hit!r}" for hit in self.hits)
        return f"<{count} for {self.query!r}{more}{lines}>"

    def _repr_html_(self) -> str:
        if not self.hits:
            return f'<div style="{_SHELL}"><em>nothing found</em></div>'
        more = f'<div style="{_FAINT}">… and more</div>' if self.more else ""
        return f'<div style="{_SHELL}">{"".join(_hit_html(hit) for hit in self.hits)}{more}</div>'


_SHELL = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"
_FAINT = "opacity:.65"


def _hit_html(hit: Hit) -> str:
    name = f"[{hit.local_id}] " if hit.local_id is not None else ""
    facts = " · ".join(
        html.escape(fact)
        for fact in (hit.kind, hit.author or "", hit.created_at.strftime("%Y-%m-%d %H:%M"))
        if fact
    )
    words = "".join(
        f"<mark>{html.escape(text)}</mark>" if marked else html.escape(text)
        for text, marked in hit.snippet.pieces()
    )
    return (
        f'<div style="margin:.4em 0"><strong>{html.escape(name)}<bdi>{html.escape(hit.title)}</bdi></strong> '
        f'<span style="{_FAINT}">{facts}</span><div><bdi>{words}</bdi></div></div>'
    )
