"""Random conversations in both shapes, and what must be true of any request made from them."""

from itertools import pairwise

from hypothesis import strategies as st

from weft.context.message_dict import Measurer, carries_result
from weft.context.tokens import DEFAULT

SYSTEM = {"system", "developer"}
ALPHABETS = ("x", "loom ", "日本語", "한국🙂", "né\n")
texts = st.builds(
    lambda letters, size: (letters * size)[:size],
    st.sampled_from(ALPHABETS),
    st.one_of(st.integers(1, 300), st.integers(1, 4_000)),
)


def openai_turn(number, pieces):
    said, answers, results = pieces
    turn = [{"role": "user", "content": said}] if said else []
    if results:
        calls = [
            {"id": f"c{number}-{index}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for index in range(len(results))
        ]
        turn.append({"role": "assistant", "content": None, "tool_calls": calls})
        turn += [
            {"role": "tool", "tool_call_id": f"c{number}-{index}", "content": result}
            for index, result in enumerate(results)
        ]
    return turn + [{"role": "assistant", "content": answer} for answer in answers]


def anthropic_turn(number, pieces):
    said, answers, results = pieces
    turn = [{"role": "user", "content": [{"type": "text", "text": said}]}] if said else []
    if results:
        uses = [
            {"type": "tool_use", "id": f"t{number}-{index}", "name": "look", "input": {"at": index}}
            for index in range(len(results))
        ]
        turn.append({"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, *uses]})
        blocks = [
            {"type": "tool_result", "tool_use_id": f"t{number}-{index}", "content": result}
            for index, result in enumerate(results)
        ]
        turn.append({"role": "user", "content": blocks})
    return turn + [{"role": "assistant", "content": answer} for answer in answers]


@st.composite
def conversations(draw, *, most=12, systems=True):
    shape = draw(st.sampled_from([openai_turn, anthropic_turn]))
    turns = draw(
        st.lists(
            st.tuples(
                st.one_of(texts, texts, st.just("")),
                st.lists(texts, max_size=1),
                st.one_of(st.just([]), st.just([]), st.lists(texts, min_size=1, max_size=3)),
            ),
            min_size=1,
            max_size=most,
        )
    )
    messages = [message for number, turn in enumerate(turns) for message in shape(number, turn)]
    if systems and draw(st.booleans()):
        messages.insert(0, {"role": "system", "content": draw(texts)})
        if draw(st.booleans()):
            place = draw(st.integers(0, len(messages)))
            if place == len(messages) or not carries_result(messages[place]):
                messages.insert(place, {"role": "developer", "content": "Be brief."})
    return messages


def tokens_of(messages, estimator=DEFAULT):
    measurer = Measurer(estimator, 1_600)
    return sum(measurer.shape(message, index).tokens for index, message in enumerate(messages))


def calls_of(message):
    found = [call["id"] for call in message.get("tool_calls") or ()]
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return found + [block["id"] for block in blocks if block.get("type") == "tool_use"]


def results_of(message):
    found = [message["tool_call_id"]] if message["role"] == "tool" else []
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return found + [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]


def pairs_are_whole(messages):
    """Every call is followed at once by all its results, and no result comes without its call."""
    index = 0
    while index < len(messages):
        calls, index = calls_of(messages[index]), index + 1
        if not calls and results_of(messages[index - 1]):
            return False
        answered = []
        while calls and index < len(messages) and results_of(messages[index]):
            answered += results_of(messages[index])
            index += 1
        if sorted(calls) != sorted(answered):
            return False
    return True


def alternates(messages):
    """Users and assistants take turns; results of tools stand between, on nobody's account."""
    sides = [m["role"] for m in messages if m["role"] in {"user", "assistant"}]
    return all(one != other for one, other in pairwise(sides))
