"""Every operation on trees, in any order, by anyone."""

from collections.abc import Sequence
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from tests.properties.model import BUFFER, CONTEXT, INSTRUCTION, PRIMARY, Thing, Words
from tests.properties.past import Paper
from tests.properties.stage import Pick, Stage
from tests.properties.workshop import CONTENTS, PEOPLE, RESPONSES, TEXTS, THINGS, WRITERS, words_of

from weft.runtime.operations.attachments import Attach, Detach
from weft.runtime.operations.collapsed_ranges import Collapse, Expand, Uncollapse
from weft.runtime.operations.cursors import CommitBuffer, Direction, Switch, TypeText
from weft.runtime.operations.edits import Edit, Erase, Join, Split
from weft.runtime.operations.metadata import Bookmark, Exclude, Include, Prune, Restore, Unbookmark
from weft.runtime.operations.nodes import Annotate, Append, AppendHistory, Merge
from weft.runtime.operations.references import LinkTogether, TagTarget, Unlink, Untag
from weft.runtime.operations.trees import Archive, Describe, Unarchive
from weft.runtime.undo.undo import Redo, Undo
from weft.tree.attempt import RawResponse
from weft.tree.content import Content
from weft.tree.edge import Source, SourceRole
from weft.tree.item import Item
from weft.tree.node import Role, Status

_MISTAKES = {"pruned": 1, "unknown": 1, "nonsense": 1, "foreign": 1}


def picks(**kinds: int) -> st.SearchStrategy[Pick]:
    """A node of one of these kinds, by weight."""
    listed = [kind.replace("_", " ") for kind, weight in kinds.items() for _ in range(weight)]
    return st.builds(Pick, st.sampled_from(listed), st.integers(0, 30), st.integers(0, 3))


PICKS = picks(living=10, stood_at=5, of_versions=5, note=3, any=2, **_MISTAKES)
"""Mostly a node where something can happen; now and then one that is pruned, elsewhere or nowhere."""
TO_PRUNE = picks(living=4, stood_at=8, of_versions=8, note=1, **_MISTAKES)
TO_RESTORE = picks(pruned=10, any=1, unknown=1)
ANYONE = st.sampled_from(("human",) * 10 + ("mira",) * 6 + ("poet",) * 3 + ("watcher", "stranger"))
WORDS = st.one_of(*[CONTENTS] * 11, st.just("no\x00thing"))
EXTRAS = st.lists(
    st.tuples(PICKS, st.sampled_from((CONTEXT, CONTEXT, INSTRUCTION, INSTRUCTION, PRIMARY))), max_size=2
)
GROWTH = st.lists(
    st.tuples(
        st.sampled_from(("append",) * 6 + ("edit", "edit", "note", "type", "type")),
        st.sampled_from(WRITERS),
        st.builds(Pick, st.just("living"), st.sampled_from((0, 0, 0, 0, 1, 2, 3, 5, 8)), st.just(0)),
        TEXTS,
    ),
    min_size=5,
    max_size=16,
)
RANGES = st.sampled_from(("opening", "snow"))
LABELS = st.sampled_from(("snow", "Snow", "keep this"))
ENDS = st.tuples(st.sampled_from(("node", "node", "tree", "elsewhere", "document")), PICKS)
TAGGED = st.tuples(st.sampled_from(("node", "node", "tree")), PICKS)


def _sources(extra: Sequence[tuple[tuple[object, str], str]]) -> list[Source]:
    return [Source(name, SourceRole(role)) for (_, role), name in extra]


def _item(thing: Thing) -> Item:
    return Item(id=thing.id, type=thing.type, content=thing.content, recoverable=thing.recoverable)


class Operations(Stage):
    """What each rule draws, as an operation and as a move on paper."""

    @initialize(who=st.sampled_from(WRITERS), content=CONTENTS, growth=GROWTH)
    def plant(self, who: str, content: str | Content, growth: list[tuple[str, str, Pick, str]]) -> None:
        """A tree that has grown a little, so that there is something to work on."""
        self.set_up(who, words_of(content))
        for how, author, pick, text in growth:
            ref, name = self.choose(pick)
            match how:
                case "edit" if ref or self.paper.mode == BUFFER:
                    operation = Edit(tree=self.tree, node=name, content=text)
                    move = partial(Paper.edit, ref=ref, words=Words.plain(text))
                case "note":
                    operation = Annotate(tree=self.tree, node=name, content=text)
                    move = partial(Paper.annotate, ref=ref, words=Words.plain(text))
                case "type" if self.paper.mode == BUFFER:
                    operation = TypeText(tree=self.tree, text=text)
                    move = partial(Paper.type_text, text=text)
                case _:
                    operation = Append(tree=self.tree, parent=name, content=text)
                    move = partial(Paper.append, parent=ref, words=Words.plain(text))
            self.perform(author, operation, move)

    @rule(who=ANYONE, content=WORDS)
    def append_at_cursor(self, who: str, content: str | Content) -> None:
        self.perform(
            who,
            Append(tree=self.tree, content=content),
            lambda paper, me: paper.append(me, words_of(content)),
        )

    @rule(
        who=ANYONE,
        content=WORDS,
        parent=PICKS,
        extra=EXTRAS,
        things=st.lists(THINGS, max_size=2),
    )
    def append_under(
        self,
        who: str,
        content: str | Content,
        parent: Pick,
        extra: list[tuple[Pick, str]],
        things: list[Thing],
    ) -> None:
        under, name = self.choose(parent)
        chosen = self.choose_extra(extra)
        self.perform(
            who,
            Append(
                tree=self.tree,
                content=content,
                parent=name,
                sources=_sources(chosen),
                attachments=[_item(thing) for thing in things],
            ),
            lambda paper, me: paper.append(
                me,
                words_of(content),
                parent=under,
                extra=[source for source, _ in chosen],
                things=tuple(things),
            ),
        )

    @rule(
        who=ANYONE,
        content=WORDS,
        parent=PICKS,
        role=st.sampled_from(Role),
        status=st.sampled_from(Status),
        how=st.sampled_from((Append, AppendHistory, AppendHistory)),
    )
    def append_as(
        self, who: str, content: str | Content, parent: Pick, role: Role, status: Status, how: type[Append]
    ) -> None:
        under, name = self.choose(parent)
        self.perform(
            who,
            how(tree=self.tree, content=content, parent=name, role=role, status=status),
            lambda paper, me: paper.append(
                me,
                words_of(content),
                parent=under,
                role=role.value,
                status=status.value,
                history=how is AppendHistory,
            ),
        )

    @rule(
        who=ANYONE,
        author=st.sampled_from(("poet", "poet", "poet", "watcher", "mira")),
        content=WORDS,
        parent=st.none() | PICKS,
        response=st.none() | RESPONSES,
    )
    def append_for_a_model(
        self, who: str, author: str, content: str | Content, parent: Pick | None, response: RawResponse | None
    ) -> None:
        under, name = (None, None) if parent is None else self.choose(parent)
        self.perform(
            who,
            Append(tree=self.tree, content=content, parent=name, author=author, response=response),
            lambda paper, me: paper.append(
                me, words_of(content), parent=under, author=PEOPLE[author], response=response
            ),
        )

    @rule(who=ANYONE, node=PICKS, content=WORDS)
    def note(self, who: str, node: Pick, content: str | Content) -> None:
        ref, name = self.choose(node)
        self.perform(
            who,
            Annotate(tree=self.tree, node=name, content=content),
            lambda paper, me: paper.annotate(me, ref, words_of(content)),
        )

    @rule(who=ANYONE, node=PICKS, content=WORDS)
    def edit(self, who: str, node: Pick, content: str | Content) -> None:
        ref, name = self.choose(node)
        self.perform(
            who,
            Edit(tree=self.tree, node=name, content=content),
            lambda paper, me: paper.edit(me, ref, words_of(content)),
        )

    @rule(who=ANYONE, node=PICKS, content=WORDS, extra=EXTRAS)
    def edit_with_other_sources(
        self, who: str, node: Pick, content: str | Content, extra: list[tuple[Pick, str]]
    ) -> None:
        ref, name = self.choose(node)
        chosen = self.choose_extra(extra)
        self.perform(
            who,
            Edit(tree=self.tree, node=name, content=content, sources=_sources(chosen)),
            lambda paper, me: paper.edit(me, ref, words_of(content), [source for source, _ in chosen]),
        )

    @precondition(lambda self: self.paper.mode == BUFFER or self.steps % 5 == 0)
    @rule(who=ANYONE, start=st.integers(0, 20), length=st.integers(0, 12))
    def erase(self, who: str, start: int, length: int) -> None:
        if self.paper.standing(who).pruned is not None and not self.paper.typed.get(who):
            # Weft erases below what is pruned, and so makes living versions there. Remove these
            # lines once it refuses, as the paper does.
            return
        end = start + length
        self.perform(
            who, Erase(tree=self.tree, start=start, end=end), lambda paper, me: paper.erase(me, start, end)
        )

    @rule(who=ANYONE, nodes=st.lists(PICKS, min_size=1, max_size=3), content=WORDS, extra=EXTRAS)
    def merge(
        self, who: str, nodes: list[Pick], content: str | Content, extra: list[tuple[Pick, str]]
    ) -> None:
        merged = [self.choose(node) for node in nodes]
        chosen = self.choose_extra(extra)
        self.perform(
            who,
            Merge(
                tree=self.tree,
                nodes=[name for _, name in merged],
                content=content,
                sources=_sources(chosen),
            ),
            lambda paper, me: paper.merge(
                me, [ref for ref, _ in merged], words_of(content), [source for source, _ in chosen]
            ),
        )

    @rule(who=ANYONE, node=PICKS, at=st.integers(1, 4) | st.sampled_from((0, 99, "it", "one", "雪")))
    def split(self, who: str, node: Pick, at: int | str) -> None:
        ref, name = self.choose(node)
        self.perform(who, Split(tree=self.tree, node=name, at=at), lambda paper, me: paper.split(me, ref, at))

    @rule(who=ANYONE, node=PICKS, following=st.none() | PICKS)
    def join(self, who: str, node: Pick, following: Pick | None) -> None:
        ref, name = self.choose(node)
        after, after_name = (None, None) if following is None else self.choose(following)
        self.perform(
            who,
            Join(tree=self.tree, node=name, following=after_name),
            lambda paper, me: paper.join(me, ref, after),
        )

    @rule(who=ANYONE, node=PICKS, how=st.sampled_from((Exclude, Include)))
    def exclude_or_include(self, who: str, node: Pick, how: type[Exclude | Include]) -> None:
        ref, name = self.choose(node)
        self.perform(
            who,
            how(tree=self.tree, node=name),
            lambda paper, me: paper.exclude(me, ref, on=how is Exclude),
        )

    @rule(who=ANYONE, node=PICKS, label=st.none() | LABELS)
    def bookmark(self, who: str, node: Pick, label: str | None) -> None:
        ref, name = self.choose(node)
        self.perform(
            who,
            Bookmark(tree=self.tree, node=name, label=label),
            lambda paper, me: paper.bookmark(me, ref, label, on=True),
        )

    @rule(who=ANYONE, node=PICKS)
    def unbookmark(self, who: str, node: Pick) -> None:
        ref, name = self.choose(node)
        self.perform(
            who,
            Unbookmark(tree=self.tree, node=name),
            lambda paper, me: paper.bookmark(me, ref, None, on=False),
        )

    @rule(who=ANYONE, node=TO_PRUNE)
    def prune(self, who: str, node: Pick) -> None:
        ref, name = self.choose(node)
        self.perform(who, Prune(tree=self.tree, node=name), lambda paper, me: paper.prune(me, ref))

    @rule(who=ANYONE, node=TO_RESTORE)
    def restore(self, who: str, node: Pick) -> None:
        ref, name = self.choose(node)
        self.perform(who, Restore(tree=self.tree, node=name), lambda paper, me: paper.restore(me, ref))

    @rule(who=ANYONE, node=PICKS, thing=THINGS)
    def attach(self, who: str, node: Pick, thing: Thing) -> None:
        ref, name = self.choose(node)
        self.perform(
            who,
            Attach(tree=self.tree, node=name, item=_item(thing)),
            lambda paper, me: paper.attach(me, ref, thing),
        )

    @rule(who=ANYONE, node=PICKS, thing=THINGS)
    def detach(self, who: str, node: Pick, thing: Thing) -> None:
        carrying = [p for p in self.paper.pieces if p.things]
        ref, name = self.choose(node)
        if carrying and node.index % 4:
            piece = carrying[node.index % len(carrying)]
            ref, name = piece.number, self.ledger.ids[piece.number]
        self.perform(
            who,
            Detach(tree=self.tree, node=name, item_id=thing.id),
            lambda paper, me: paper.detach(me, ref, thing.id),
        )

    @rule(who=ANYONE, node=PICKS)
    def switch(self, who: str, node: Pick) -> None:
        ref, name = self.choose(node)
        self.perform(
            who, Switch(tree=self.tree, to=name), lambda paper, me: paper.switch(me, ref, step=False)
        )

    @rule(who=ANYONE, direction=st.sampled_from(Direction))
    def step(self, who: str, direction: Direction) -> None:
        self.perform(
            who,
            Switch(tree=self.tree, to=direction),
            lambda paper, me: paper.switch(me, direction.value, step=True),
        )

    @precondition(lambda self: self.paper.mode == BUFFER or self.steps % 5 == 0)
    @rule(who=ANYONE, text=st.one_of(TEXTS, TEXTS, TEXTS, st.just("no\x00thing")))
    def type_text(self, who: str, text: str) -> None:
        self.perform(who, TypeText(tree=self.tree, text=text), lambda paper, me: paper.type_text(me, text))

    @precondition(lambda self: self.paper.mode == BUFFER or self.steps % 5 == 0)
    @rule(who=ANYONE, times=st.integers(1, 2))
    def commit(self, who: str, times: int) -> None:
        for _ in range(times):
            self.perform(who, CommitBuffer(tree=self.tree), Paper.commit)

    @rule(who=ANYONE, first=PICKS, last=PICKS, name=RANGES, description=TEXTS)
    def collapse(self, who: str, first: Pick, last: Pick, name: str, description: str) -> None:
        end, end_name = self.choose(last)
        top, top_name = self.choose(first)
        if isinstance(end, int) and first.index % 4:
            above = self.paper.path(who, self.paper.pieces[end])
            top = above[first.index % len(above)].number
            top_name = self.ledger.ids[top]
        self.perform(
            who,
            Collapse(tree=self.tree, first=top_name, last=end_name, name=name, description=description),
            lambda paper, me: paper.collapse(me, top, end, name, description),
        )

    @rule(who=ANYONE, name=RANGES, how=st.sampled_from((Expand, Uncollapse)))
    def expand_or_forget(self, who: str, name: str, how: type[Expand | Uncollapse]) -> None:
        move = Paper.expand if how is Expand else Paper.uncollapse
        self.perform(who, how(tree=self.tree, name=name), lambda paper, me: move(paper, me, name))

    @rule(who=ANYONE, thing=TAGGED, label=LABELS)
    def tag(self, who: str, thing: tuple[str, Pick], label: str) -> None:
        end, ref = self.choose_end(thing)
        self.perform(who, TagTarget(target=ref, label=label), lambda paper, me: paper.tag(me, end, label))

    @rule(who=ANYONE, thing=TAGGED, label=LABELS)
    def untag(self, who: str, thing: tuple[str, Pick], label: str) -> None:
        end, ref = self.choose_end(thing)
        self.perform(who, Untag(target=ref, label=label), lambda paper, me: paper.untag(me, end, label))

    @rule(who=ANYONE, one=TAGGED, other=ENDS, note=LABELS)
    def link(self, who: str, one: tuple[str, Pick], other: tuple[str, Pick], note: str) -> None:
        (end, ref), (end2, ref2) = self.choose_end(one), self.choose_end(other)
        self.perform(
            who,
            LinkTogether(one=ref, other=ref2, note=note),
            lambda paper, me: paper.link(me, end, end2, note),
        )

    @rule(who=ANYONE, one=TAGGED, other=ENDS, index=st.integers(0, 5))
    def unlink(self, who: str, one: tuple[str, Pick], other: tuple[str, Pick], index: int) -> None:
        (end, ref), (end2, ref2) = self.choose_end(one), self.choose_end(other)
        linked = [sorted(pair) for pair in self.paper.links]
        if linked and index:
            end, end2 = linked[index % len(linked)]
            ref, ref2 = self.views.target(end), self.views.target(end2)
        self.perform(who, Unlink(one=ref, other=ref2), lambda paper, me: paper.unlink(me, end, end2))

    @rule(who=ANYONE, title=st.sampled_from((None, "Marie", "")), description=st.none() | TEXTS)
    def describe(self, who: str, title: str | None, description: str | None) -> None:
        given = {"title": title, "description": description}
        fields = {name: value for name, value in given.items() if value is not None}
        self.perform(
            who,
            Describe(tree=self.tree, title=title, description=description),
            lambda paper, me: paper.describe(me, **fields),
        )

    @rule(who=ANYONE)
    def undo(self, who: str) -> None:
        self.perform(who, Undo(tree=self.tree), Paper.undo)

    @rule(who=ANYONE, times=st.integers(1, 3))
    def undo_and_redo(self, who: str, times: int) -> None:
        """Back and forth again: each step as on paper."""
        for _ in range(times):
            self.perform(who, Undo(tree=self.tree), Paper.undo)
        for _ in range(times):
            self.perform(who, Redo(tree=self.tree), Paper.redo)

    @rule(who=ANYONE)
    def redo(self, who: str) -> None:
        self.perform(who, Redo(tree=self.tree), Paper.redo)

    @rule(who=ANYONE, how=st.sampled_from((Archive, Unarchive)))
    def put_away_or_take_out(self, who: str, how: type[Archive | Unarchive]) -> None:
        self.perform(who, how(tree=self.tree), lambda paper, me: paper.archive(me, away=how is Archive))


_MAKING = {"append_at_cursor", "append_under", "note", "edit", "undo", "redo"}
FOCI = {
    "everything": None,
    "typing": _MAKING | {"type_text", "commit", "erase", "switch", "step", "prune", "put_away_or_take_out"},
    "versions": _MAKING | {"edit_with_other_sources", "split", "join", "switch", "step", "prune", "restore"},
    "undoing": {
        "append_under",
        "edit",
        "type_text",
        "switch",
        "prune",
        "restore",
        "exclude_or_include",
        "collapse",
    }
    | {"expand_or_forget", "link", "unlink", "tag", "attach", "detach", "undo", "redo", "undo_and_redo"},
    "items": _MAKING | {"append_for_a_model", "attach", "detach", "merge", "prune", "restore"},
}
"""Rules that have to do with each other: what goes wrong between them is seldom met among all."""


def focused(focus: str) -> type[Operations]:
    """The machine with the rules of one focus only."""
    kept = FOCI[focus]
    rules = [name for name in vars(Operations) if not name.startswith("_") and name != "plant"]
    left_out = {name: None for name in rules if kept is not None and name not in kept}
    return type(f"Operations_{focus}", (Operations,), left_out)
