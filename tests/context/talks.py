"""Conversations with attachments, asked turn by turn."""

from dataclasses import replace

from hypothesis import strategies as st

from weft.context.conversation import (
    Conversation,
    ConversationTurn,
    PromptContextRequest,
    assemble_turn,
)
from weft.context.items.item_types import LayerId, note, selection, url
from weft.context.request import Profile
from weft.context.rows import Reason
from weft.context.settings import resolve_layer_settings, resolve_preferences
from weft.context.system import SystemParts

ROOMY = 100_000


class Talk:
    """A conversation that grows by its turns, with the envelope of each."""

    def __init__(self, *, settings=None, preferences=None, budget=ROOMY, window=None, **options):
        self.conversation = Conversation(
            id="talk",
            system=options.pop("system", SystemParts(agent="You are a careful assistant.")),
            settings=resolve_layer_settings(settings or {}),
            preferences=resolve_preferences(preferences or {}),
            profile=Profile(prefix_cache=True),
            window=window,
            **options,
        )
        self.budget = budget
        self.envelopes = []

    def ask(self, text, *items, answer="Yes.", tools=(), fresh=None, left_out=None, pinned=()):
        """The envelope of the next turn; then it is a turn like the others."""
        envelope = self.look(text, *items, tools=tools, fresh=fresh)
        number = len(self.conversation.turns) + 1
        turn = ConversationTurn(
            id=f"m{number}",
            text=text,
            items=tuple(items),
            answer=answer,
            left_out=left_out,
            pinned=frozenset(pinned),
        )
        self.conversation = replace(self.conversation, turns=(*self.conversation.turns, turn))
        self.envelopes.append(envelope)
        return envelope

    def take(self, text, answer, *items):
        """A turn that nobody looked at."""
        turn = ConversationTurn(
            id=f"m{len(self.conversation.turns) + 1}", text=text, items=tuple(items), answer=answer
        )
        self.conversation = replace(self.conversation, turns=(*self.conversation.turns, turn))

    def look(self, text, *items, tools=(), fresh=None):
        """The envelope of a turn that is not taken."""
        request = PromptContextRequest(
            current_message_id=f"m{len(self.conversation.turns) + 1}",
            user_text=text,
            attachments=tuple(items),
            tool_outputs=tuple(tools),
            budget=self.budget,
        )
        return assemble_turn(self.conversation, request, fresh=fresh)

    def at(self, number):
        """The same conversation after so many turns: another branch can grow from there."""
        other = Talk(budget=self.budget)
        other.conversation = replace(self.conversation, turns=self.conversation.turns[:number])
        return other

    def change(self, number, **changes):
        turns = list(self.conversation.turns)
        turns[number] = replace(turns[number], **changes)
        self.conversation = replace(self.conversation, turns=tuple(turns))


def library(envelope):
    return [segment.id for segment in envelope.layer(LayerId.LIBRARY).segments]


def referenced(envelope):
    return [
        segment.id
        for segment in envelope.layer(LayerId.TURN).segments
        if segment.metadata["outcome"] == "referenced"
    ]


def in_full(envelope):
    return [
        segment.id
        for segment in envelope.layer(LayerId.TURN).segments
        if segment.metadata["outcome"] != "referenced"
    ]


def text_of(envelope):
    """The whole request as one text."""
    return "\n".join(
        [envelope.system, envelope.memory_block, *(f"{m.role}: {m.text}" for m in envelope.messages)]
    )


def outcomes(envelope, kind="item"):
    return {entry.id: entry.outcome.value for entry in envelope.manifest if entry.kind == kind}


def reasons(envelope, kind="item"):
    return {entry.id: entry.reason for entry in envelope.manifest if entry.kind == kind}


names = st.sampled_from(["a.md", "b.md", "c/d.md", "e.md", "f.md"])
words = st.text(st.sampled_from("abc de\n#</>&"), max_size=200)


@st.composite
def attachments(draw):
    kind = draw(st.integers(0, 9))
    content = draw(st.sampled_from(["", "short", "x" * 900, "# A\ntext\n## B\nmore " + "y " * 300])) + draw(
        words
    )
    if kind == 0:
        return url(f"https://example.org/?a=1&b={draw(st.integers(0, 2))}", content or "A page.")
    if kind == 1:
        return selection(draw(names), 1, 3, content)
    return note(draw(names), content)


@st.composite
def scripts(draw, *, most=7):
    """Turns: text, items, answer, and whether it is excluded later. The last one is answered."""
    count = draw(st.integers(1, most))
    found = [
        (
            draw(st.sampled_from(["", "What?", "Tell me more. " * 12])) + draw(words),
            draw(st.lists(attachments(), max_size=3)),
            draw(st.sampled_from(["Yes.", "Because. " * 40, None])),
            draw(st.sampled_from([None, None, None, None, Reason.EXCLUDED])),
        )
        for _ in range(count)
    ]
    text, items, answer, left_out = found[-1]
    return [*found[:-1], (text, items, answer or "So.", left_out)]
