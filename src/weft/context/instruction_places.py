"""Instructions as system messages in mid-conversation, where a provider takes them: they cost no prefix."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.context.items.blocks import clean
from weft.context.manifest_entries import EntryKind, Outcome, Run
from weft.context.plan import Plan
from weft.context.request import Layout
from weft.context.settings import Instructions
from weft.context.system import Instruction, standing_layer
from weft.context.tokens import JOINT
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role

_REASON = "instruction: a system message at its place, the prefix stays"


def place_instructions(plan: Plan, layout: Layout) -> tuple[Layout, tuple[Message, ...]]:
    """The layout without the instructions that stand at their places, and the messages with them.

    An instruction stands after the user's message that its edge leads to, or that the edge's answer
    answers. One whose message is cut stays in L1: it holds all the same.
    """
    request, messages = plan.request, plan.written.messages
    wanted = request.preferences.instructions
    if not request.profile.system_anywhere or wanted is Instructions.LAST or not request.parts.instructions:
        return layout, messages
    places = _places(plan, messages)
    if not places:
        return layout, messages
    placed = [each for several in places.values() for each in several]
    rest = tuple(each for each in request.parts.instructions if each not in placed)
    parts = replace(request.parts, instructions=rest)
    standing = standing_layer(parts, request.standing, wanted, request.estimator)
    pieces = [
        Run.one(
            EntryKind.SOURCE,
            each.local_id,
            Outcome.KEPT,
            _REASON,
            size=request.estimator.of_text(clean(each.text).strip()) + request.estimator.joint,
        )
        for each in placed
    ]
    standing = replace(standing, pieces=(*standing.pieces, *pieces))
    system = replace(layout.system, standing=standing)
    return replace(layout, system=system), tuple(_with_places(messages, places))


def _places(plan: Plan, messages: Sequence[Message]) -> dict[int, list[Instruction]]:
    """Instructions by the message that they follow."""
    composed = plan.written.composed
    if composed is None:
        return {}
    at = composed.places()
    levels = {plan.rows.at(level).id: level for level in plan.sent}
    places: dict[int, list[Instruction]] = {}
    for each in plan.request.parts.instructions:
        if each.own or each.left_out is not None or not each.text.strip():
            continue
        index = len(messages) - 1 if not each.edge else at.get(levels.get(each.edge, -1))
        if index is not None and messages[index].role is Role.ASSISTANT:
            index -= 1
        if index is not None and index >= 0 and messages[index].role is Role.USER:
            places.setdefault(index, []).append(each)
    return places


def _with_places(messages: Sequence[Message], places: Mapping[int, Sequence[Instruction]]) -> "list[Message]":
    placed: list[Message] = []
    for index, message in enumerate(messages):
        placed.append(message)
        if index in places:
            text = JOINT.join(clean(each.text).strip() for each in places[index])
            placed.append(Message(Role.SYSTEM, (Text(text),)))
    return placed
