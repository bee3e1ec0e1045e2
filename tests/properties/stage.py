"""Where an operation is done twice, in Weft and on paper, and both must come to the same."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import pytest
from hypothesis.stateful import RuleBasedStateMachine
from tests.properties.ledger import Dump, Ledger, count_events, dump, rows_left, without_chains
from tests.properties.model import ANNOTATION, End, Person, Piece, RefusedError, Thing, Words
from tests.properties.moves import Answer, EndRef, Ref
from tests.properties.past import Paper
from tests.properties.views import Elsewhere, Views
from tests.properties.workshop import PEOPLE, Workshop

import weft
from weft.errors import InvalidInputError, WeftError
from weft.runtime.operations.executor import Operation
from weft.runtime.operations.references import TargetRef
from weft.runtime.operations.trees import DeleteTree, Plant, Unarchive
from weft.runtime.undo.undo import Redo, Undo
from weft.tree.item import Item
from weft.tree.node import Metadata, Node
from weft.tree.tree import Mode

R = TypeVar("R")

_PATIENCE = 3
"""How many refusals an archived tree answers with before somebody takes it out again."""


@dataclass(frozen=True)
class Pick:
    """A node to be chosen from those there will be, and how it is spelled."""

    kind: str
    index: int
    spelling: int


class Stage(RuleBasedStateMachine):
    """A new tree in a grove that lives longer, and another beside it that nobody may touch."""

    paper: Paper
    ledger: Ledger
    rows: Dump

    def __init__(self, workshop: Workshop, mode: Mode) -> None:
        super().__init__()
        self.workshop = workshop
        self.mode = mode
        self.steps = 0
        self.refusals = 0
        self.sound = False
        """Whether every step so far came to the same; only then is the end worth checking."""

    def set_up(self, who: str, words: Words) -> None:
        shop = self.workshop
        shop.follow_grove()
        shop.keep_picture()
        side = shop.grove.plant("Beside", "Not here.")
        self.elsewhere = Elsewhere(side.id, side.say("Nor here.").id, shop.document)
        tree = shop.groves[who].perform(Plant(mode=self.mode, content=words.content))
        assert shop.follow_grove() == 2, "each planting is one event of the grove"
        self.paper = Paper(self.mode.value)
        self.paper.plant(PEOPLE[who], words)
        self.paper.about = {"title": tree.title, "description": "", "system_context": ""}
        self.trees = shop.tree_key(side.id), shop.tree_key(tree.id)
        self.ledger = Ledger(self.trees[1], tree.id, shop.agents, shop.agent_keys)
        self.beside = [row for row in self._dump()["nodes"] if row.tree == self.trees[0]]
        self._look()
        assert self.ledger.chained == 1, "planting is one event of the tree"
        self.sound = True

    @property
    def tree(self) -> str:
        return self.ledger.tree_id

    @property
    def views(self) -> Views:
        return Views(self.paper, self.ledger, self.elsewhere)

    def perform(self, who: str, operation: Operation[R], move: Callable[[Paper, Person], Answer]) -> None:
        """Do it in both. Refused: by both, and nothing has changed. Done: the same in both, and one event."""
        if self.paper.archived and self.refusals >= _PATIENCE:
            self.refusals = 0
            self.perform("human", Unarchive(tree=self.tree), lambda paper, me: paper.archive(me, away=False))
        self.sound = False
        grove = self.workshop.groves[who]
        paper = copy.deepcopy(self.paper)
        try:
            answer = move(paper, PEOPLE[who])
        except RefusedError as refusal:
            self._expect_refusal(grove, operation, refusal.code)
        else:
            before = self.rows
            result = grove.perform(operation)
            old, self.paper = self.paper, paper
            self._look()
            self._expect_one_event(who, before)
            self._remember(who, operation, old, before)
            self._agree(result, answer)
            self._glance(who)
        self.steps += 1
        self.sound = True

    def _expect_refusal(self, grove: weft.Grove, operation: Operation[Any], code: str) -> None:
        with pytest.raises(WeftError) as caught:
            grove.perform(operation)
        assert caught.value.code == code, caught.value
        assert self._dump() == self.rows, "a refusal changes nothing"
        self.refusals += bool(self.paper.archived)

    def _dump(self) -> Dump:
        return dump(self.workshop.grove.read.store, *self.trees)

    def _look(self) -> None:
        """See what the store holds now, and compare all of it with the paper."""
        self.rows = self._dump()
        self.ledger.adopt(self.paper, self.rows)
        self.ledger.check(self.paper, self.rows)
        beside = [row for row in self.rows["nodes"] if row.tree == self.trees[0]]
        assert beside == self.beside, "nobody touches the other tree"

    def _expect_one_event(self, who: str, before: Dump) -> None:
        new = count_events(self.rows) - count_events(before)
        if without_chains(self.rows) != without_chains(before):
            assert new == 1, "what changes something is one event"
        assert new <= 1
        known = {(row.tree, row.ordinal) for row in before["events"]}
        for row in self.rows["events"]:
            if (row.tree, row.ordinal) not in known:
                assert row.agent == self.workshop.agent_keys[who]

    def _remember(self, who: str, operation: Operation[Any], old: Paper, before: Dump) -> None:
        """What has become an event of this tree can be undone."""
        known = {row.ordinal for row in before["events"] if row.tree == self.ledger.tree}
        new = [
            row for row in self.rows["events"] if row.tree == self.ledger.tree and row.ordinal not in known
        ]
        if new and not isinstance(operation, Undo | Redo):
            self.paper.remember(who, operation.verb, old)

    def _agree(self, result: object, answer: Answer) -> None:
        """What the operation returned is what the paper said."""
        match answer:
            case None:
                pass
            case int():
                assert result == answer
            case Piece():
                self._agree_on_piece(result, answer)
            case _:
                for each, said in zip(cast("Sequence[Node | Item]", result), answer, strict=True):
                    if isinstance(said, Piece):
                        self._agree_on_piece(each, said)
                    else:
                        assert isinstance(each, Item)
                        assert Thing(each.id, each.type, each.content, each.recoverable) == said

    def _agree_on_piece(self, result: object, piece: Piece) -> None:
        match result:
            case Node():
                self.views.check_value(result, piece)
            case Metadata():
                marks = piece.excluded, piece.bookmarked, piece.label, piece.pruned is not None
                assert (result.excluded, result.bookmarked, result.bookmark_label, result.pruned) == marks
            case _:
                assert result == self.ledger.ids[piece.number]

    def _glance(self, who: str) -> None:
        """One look at the tree with the eyes of who acted; the end looks at everything."""
        shown = self.paper.shown
        piece = shown[-1 - self.steps % len(shown)]
        self.views.glance(self.workshop.groves[who], who, piece, self.steps)

    def _pieces(self, kind: str) -> list[Piece]:
        """The pieces of a kind; where there is none, those that live."""
        paper = self.paper
        living = [piece for piece in paper.shown if piece.pruned is None]
        match kind:
            case "any":
                found = paper.pieces
            case "pruned":
                found = [piece for piece in paper.pieces if piece.pruned is not None]
            case "stood at":
                places = {paper.pieces[number].place for number in paper.stands.values()}
                found = [piece for piece in living if piece.place in places]
            case "of versions":
                found = [piece for piece in living if len(paper.versions(piece.place)) > 1]
            case "note":
                found = [piece for piece in living if piece.edge == ANNOTATION]
            case _:
                found = living
        return found or living

    def choose(self, pick: Pick) -> tuple[Ref, str]:
        """The picked node for the paper, and as somebody would write it."""
        match pick.kind:
            case "unknown":
                return "unknown", ("zzzz", "01ARZ3NDEKTSV4RRFFQ69G5FAV")[pick.index % 2]
            case "nonsense":
                return "nonsense", ("", "ab", "not an id", "a7x2;")[pick.index % 4]
            case "foreign":
                return "foreign", self.elsewhere.node
            case kind:
                pieces = self._pieces(kind)
        piece = pieces[-1 - pick.index % len(pieces)]
        node, local = self.ledger.ids[piece.number], self.paper.names[piece.number]
        return piece.number, (node, local, node.lower(), f"[{local.upper()}]")[pick.spelling]

    def choose_end(self, end: tuple[str, Pick]) -> tuple[EndRef, TargetRef]:
        """What a link or tag is to be on."""
        kind, pick = end
        if kind != "node":
            there: End = {"tree": ("tree", 0), "elsewhere": ("tree", 1)}.get(kind, ("document", 0))
            return there, self.views.target(there)
        ref, name = self.choose(pick)
        return ("node", ref), self.views.target_of_node(name)

    def choose_extra(self, extra: Sequence[tuple[Pick, str]]) -> list[tuple[tuple[Ref, str], str]]:
        """Further sources: (for the paper, as written)."""
        return [((ref, role), name) for pick, role in extra for ref, name in [self.choose(pick)]]

    def teardown(self) -> None:
        if not self.sound:
            return
        shop = self.workshop
        with weft.open(shop.address) as again:
            self._look()
            everyone = [name for name, person in PEOPLE.items() if "loom_aware" in person.may]
            for number, name in enumerate(everyone):
                grove = again.acting_as(name)
                if number == self.steps % len(everyone):
                    self.views.check_all(grove, name)
                else:
                    self.views.check_own(grove, name)
            found = again.evidence.verify_tree(self.tree).findings
            assert not found, [str(finding) for finding in found]
        self._delete()

    def _delete(self) -> None:
        shop = self.workshop
        with pytest.raises(InvalidInputError):
            shop.grove.perform(DeleteTree(tree=self.tree, confirm=self.elsewhere.tree))
        assert self._dump() == self.rows
        gone = shop.grove.perform(DeleteTree(tree=self.tree, confirm=self.tree))
        assert gone == len(self.paper.pieces)
        assert not rows_left(shop.grove.read.store, self.ledger.tree), "a delete leaves nothing"
        shop.grove.perform(DeleteTree(tree=self.elsewhere.tree, confirm=self.elsewhere.tree))
        assert shop.follow_grove() == 2, "each deletion is one event of the grove"
