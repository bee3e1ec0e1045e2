"""Messages that the strictest provider accepts: users and assistants in turn, results after their calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from weft.context.items.blocks import attribute
from weft.context.rows import ExtraSource
from weft.context.tokens import JOINT, Estimator
from weft.context.tool_pairs import PairedPart, in_pairs, tools_in
from weft.tree.content import Audio, Block, Content, Image, Text, ToolCall, ToolResult, blocks_of, sent_text
from weft.tree.message import Message
from weft.tree.node import Role

OPENING = "…"
"""A first user message where there is none."""
CLOSING = "Continue."
_OWN_SIDE = frozenset({Role.ASSISTANT, Role.TOOL})


@dataclass(slots=True, eq=False)
class Part:
    """What one node, reference or marker contributes. Contexts share parts: no one changes them."""

    role: Role
    blocks: tuple[Block, ...]
    author: str = ""
    level: int | None = None
    """The level it came from; None for what was added or referred to."""
    heading: str = ""
    """What stands before it in any case."""
    alone: Message | None = None
    """The message that it is by itself, once it was composed."""


class Joined(NamedTuple):
    """How a part went into its message."""

    part: Part
    merged: bool
    joint: bool
    """Whether a blank line stands before it."""
    heading: str


@dataclass(frozen=True, slots=True)
class Composed:
    messages: tuple[Message, ...]
    parts: Sequence[Part]
    """What they are made of, without what was added."""
    names: Mapping[str, str] | None
    opened: bool
    closed: bool

    def places(self) -> dict[int, int]:
        """The message of each level."""
        first = int(self.opened)
        return {
            part.level: first + index
            for index, (start, stop) in enumerate(_sides(self.parts))
            for part in self.parts[start:stop]
            if part.level is not None
        }

    @property
    def joined(self) -> list[Joined]:
        """How every part went into its message."""
        sides = _sides(self.parts)
        return [
            each
            for start, stop in sides
            for each in _joined(_side(self.parts[start]), self.parts[start:stop], self.names)
        ]


def heading_of(author: str, names: Mapping[str, str]) -> str:
    return f"{names.get(author, author)}:\n"


def pair_up(parts: Sequence[Part]) -> list[Part]:
    """Each result right after its call; a call or a result that has no other half is taken out.

    Providers refuse both, and a made-up result would not be the tool's.
    """
    if not any(isinstance(block, ToolCall | ToolResult) for part in parts for block in part.blocks):
        return list(parts)
    traffic = [tools_in(part.blocks) for part in parts]
    in_order: list[Part] = []
    for paired in in_pairs(traffic):
        part = parts[paired.place]
        blocks = tuple(block for block in part.blocks if _stays(block, paired))
        if len(blocks) == len(part.blocks):
            in_order.append(part)
        elif blocks:
            role = Role.USER if part.role is Role.TOOL and not paired.results else part.role
            in_order.append(replace(part, blocks=blocks, role=role, alone=None))
    return in_order


def _stays(block: Block, paired: PairedPart) -> bool:
    if isinstance(block, ToolCall):
        return block.id in paired.calls
    return block.call_id in paired.results if isinstance(block, ToolResult) else paired.words


def compose(parts: Sequence[Part], *, names: Mapping[str, str] | None, prefill: bool) -> Composed:
    """Merge what one side says in a row, and see that a user begins and ends.

    With `names`, parts of one message by several authors are headed by them.
    """
    messages = [
        # Nearly all are one part that was a message before.
        (parts[start].alone if stop - start == 1 else None)
        or _message(_side(parts[start]), parts[start:stop], names)
        for start, stop in _sides(parts)
    ]
    opened = bool(messages) and messages[0].role is not Role.USER
    if opened:
        messages.insert(0, Message(Role.USER, (Text(OPENING),)))
    closed = bool(messages) and messages[-1].role is Role.ASSISTANT and not prefill
    if closed:
        messages.append(Message(Role.USER, (Text(CLOSING),)))
    return Composed(tuple(messages), parts, names, opened, closed)


def _message(role: Role, members: Sequence[Part], names: Mapping[str, str] | None) -> Message:
    if len(members) == 1 and not members[0].heading:
        # Nearly all are.
        (part,) = members
        if part.alone is None:
            part.alone = Message(role, part.blocks)
        return part.alone
    blocks: tuple[Block, ...] = ()
    for part, _, _, heading in _joined(role, members, names):
        blocks = _appended(blocks, part.blocks, heading)
    return Message(role, blocks)


def _joined(role: Role, members: Sequence[Part], names: Mapping[str, str] | None) -> list[Joined]:
    named = names is not None and len({part.author for part in members if part.author}) > 1
    joined: list[Joined] = []
    begun = False
    for part in members:
        # Nothing may stand in a tool's message but its results.
        given = part.heading if role is not Role.TOOL else ""
        heading = given or (heading_of(part.author, names or {}) if named and part.author else "")
        joined.append(Joined(part, len(members) > 1, begun, heading))
        begun = begun or bool(part.blocks or heading)
    return joined


def _side(part: Part) -> Role:
    """On whose side a part is: what is neither a model's nor a tool's is the user's."""
    return part.role if part.role in _OWN_SIDE else Role.USER


def _sides(parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """What stays together, from where to where: runs of users, runs of assistants, and each result by itself."""
    roles = [role if (role := part.role) in _OWN_SIDE else Role.USER for part in parts]
    tool, last = Role.TOOL, None
    starts: list[int] = []
    for index, role in enumerate(roles):
        if role is not last or role is tool:
            starts.append(index)
            last = role
    return pairwise([*starts, len(parts)])


def _appended(message: tuple[Block, ...], blocks: tuple[Block, ...], heading: str) -> tuple[Block, ...]:
    """Texts that meet become one, with a blank line between what different nodes said."""
    if heading:
        blocks = _glued((Text(heading),), blocks, "")
    return _glued(message, blocks, JOINT) if message else blocks


def _glued(before: tuple[Block, ...], after: tuple[Block, ...], between: str) -> tuple[Block, ...]:
    if not after:
        return before
    last, first = before[-1], after[0]
    if isinstance(last, Text) and isinstance(first, Text):
        return (*before[:-1], Text(f"{last.text}{between}{first.text}"), *after[1:])
    return (*before, *after)


_CLOSE = "</reference"
_DISARMED = "<\\reference"
"""As long as what it stands for, so that escaping never costs a token."""


def _frame(source: ExtraSource) -> tuple[str, str]:
    what = "item" if source.item else "node"
    return f'<reference {what}="{attribute(source.local_id)}">\n', "\n</reference>"


def frame_tokens(source: ExtraSource, estimator: Estimator) -> int:
    return sum(estimator.of_text(side) + estimator.seam for side in _frame(source))


def reference_blocks(source: ExtraSource, content: Content) -> tuple[Block, ...]:
    """A source's text, and its images as images; tool traffic is written as JSON, not repeated as such."""
    before, after = _frame(source)
    media = tuple(block for block in blocks_of(content) if isinstance(block, Image | Audio))
    text = sent_text(content).replace(_CLOSE, _DISARMED)
    if not media:
        return (Text(before + text + after),)
    return (Text(before + text), *media, Text(after))
