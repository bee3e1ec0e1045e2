"""A long conversation of an agent with tools: what its histories are, turn by turn, whatever the wire."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.proxy.upstreams import Answer

WORDS = [f"word{number}" for number in range(400)]


def prose(source: random.Random, count: int) -> str:
    return " ".join(source.choice(WORDS) for _ in range(count))


@dataclass
class Agent:
    """Talks to a model with tools: each turn is a question, some calls, and an answer."""

    seed: int = 7
    turns: int = 200
    source: random.Random = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        self.source = random.Random(self.seed)

    def script(self, body: Any, number: int) -> Answer:
        """The model: calls a tool after a question, answers after its result; sums up when asked."""
        source = random.Random(f"{self.seed}:{number}")
        last = (body.get("messages") or body.get("input"))[-1]
        if "Summarise" in str(last.get("content")):
            return Answer(text=f"Summary {number}: {prose(source, 60)}")
        content = last.get("content")
        is_result = last.get("role") == "tool" or (
            isinstance(content, list) and any(block.get("type") == "tool_result" for block in content)
        )
        if is_result:
            return Answer(text=f"Step {number} is done. {prose(source, 30)}")
        return Answer(
            text=f"Looking {number}.", calls=[(f"call_{number}", "read", {"path": f"src/file{number}.py"})]
        )

    def questions(self) -> Iterator[str]:
        self.source = random.Random(self.seed)
        for turn in range(self.turns):
            yield f"Question {turn}: {prose(self.source, 20)}"

    def result(self, call: str) -> str:
        source = random.Random(f"{self.seed}:{call}")
        return f"{call} says: {prose(source, source.choice([30, 60, 200]))}"


class OpenAIHands:
    """How an agent holds its history for OpenAI's chat completions."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sent: list[Any] = []

    def user(self, words: str) -> dict[str, Any]:
        return {"role": "user", "content": words}

    def ask(self, history: list[Any]) -> tuple[list[Any], list[str], str]:
        """The messages to add, the calls to answer, and the words."""
        tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
        messages = [{"role": "system", "content": SYSTEM}, *history]
        self.sent.append({"messages": messages})
        said = self.client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool])
        message = said.choices[0].message
        calls = [call.id for call in message.tool_calls or ()]
        return [message.model_dump()], calls, message.content or ""

    def results(self, answers: dict[str, str]) -> list[Any]:
        return [{"role": "tool", "tool_call_id": call, "content": words} for call, words in answers.items()]


class AnthropicHands:
    """How an agent holds its history for Anthropic's messages."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sent: list[Any] = []

    def user(self, words: str) -> dict[str, Any]:
        return {"role": "user", "content": words}

    def ask(self, history: list[Any]) -> tuple[list[Any], list[str], str]:
        tool = {"name": "read", "input_schema": {"type": "object"}}
        self.sent.append({"messages": list(history)})
        with self.client.messages.stream(
            model="claude-x", max_tokens=500, system=SYSTEM, messages=history, tools=[tool]
        ) as stream:
            said = stream.get_final_message()
        blocks = [block.model_dump(exclude_none=True) for block in said.content]
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        words = "".join(block["text"] for block in blocks if block["type"] == "text")
        return [{"role": "assistant", "content": blocks}], calls, words

    def results(self, answers: dict[str, str]) -> list[Any]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call, "content": words} for call, words in answers.items()
        ]
        return [{"role": "user", "content": blocks}]


SYSTEM = "You are a careful engineer. " * 60


def converse(agent: Agent, hands: OpenAIHands | AnthropicHands, *, edits: bool = True) -> None:
    """The whole conversation: questions and tools, edited questions, and one compaction in the middle."""
    history: list[Any] = []
    for turn, question in enumerate(agent.questions()):
        if turn == agent.turns // 2:
            history = _compact(hands, history)
        before = list(history)
        history = _turn(agent, hands, [*history, hands.user(question)])
        if edits and turn % 23 == 11:
            history = _turn(agent, hands, [*before, hands.user(f"{question} (edited)")])


def _turn(agent: Agent, hands: OpenAIHands | AnthropicHands, history: list[Any]) -> list[Any]:
    while True:
        said, calls, _ = hands.ask(history)
        history = [*history, *said]
        if not calls:
            return history
        history += hands.results({call: agent.result(call) for call in calls})


def _compact(hands: OpenAIHands | AnthropicHands, history: list[Any]) -> list[Any]:
    """Ask for a summary, and go on with it and the latest turn."""
    kept = max(at for at, each in enumerate(history) if str(each.get("content", "")).startswith("Question"))
    _, _, summary = hands.ask([*history, hands.user("Summarise the conversation so far, in detail.")])
    return [
        hands.user(f"What came before:\n{summary}"),
        {"role": "assistant", "content": "Noted."},
        *history[kept:],
    ]
