"""Documents to be continued as they are: OpenAI's legacy Completions, which base models still speak."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.providers.base import Profile, Request
from weft.providers.events import Ending, Event, Finished, Introduced, Spent, TextDelta, TokenChance
from weft.providers.openai_chat import ENDINGS, common_fields, usage_of
from weft.tree.json import JsonValue
from weft.tree.node import Role

if TYPE_CHECKING:
    from openai.types import Completion, CompletionChoice

__all__ = ["CompletionReader", "completion_body", "document_of"]

_NAMES = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System", Role.TOOL: "Tool"}


def document_of(request: Request) -> str:
    """The document itself; a conversation becomes one, as a transcript that the assistant continues."""
    if request.prompt is not None:
        head = f"{request.system_text}\n\n" if request.system_text else ""
        return head + request.prompt + request.prefill
    said = [f"{_NAMES[message.role]}: {message.text}" for message in request.messages]
    head = [request.system_text] if request.system_text else []
    opening = f"Assistant: {request.prefill}" if request.prefill else "Assistant:"
    return "\n\n".join([*head, *said, opening])


def completion_body(request: Request, profile: Profile) -> dict[str, JsonValue]:
    asked = request.parameters
    body: dict[str, JsonValue] = {"model": request.model, "prompt": document_of(request)}
    body.update(common_fields(request, profile))
    if request.prompt is None and "stop" not in body:
        # A base model would go on with the other's lines.
        body["stop"] = ["\n\nUser:"]
    if asked.max_tokens is not None:
        body["max_tokens"] = asked.max_tokens
    if asked.logprobs is not None:
        body["logprobs"] = asked.logprobs
    body.update(asked.custom)
    return body


class CompletionReader:
    """Reads a stream of completions into our events."""

    def __init__(self) -> None:
        self._introduced = False

    def read(self, chunk: "Completion", request_id: str | None) -> Iterator[Event]:
        if not self._introduced:
            self._introduced = True
            yield Introduced(chunk.model or "", request_id)
        for choice in chunk.choices or ():
            number = choice.index or 0
            if choice.text:
                yield TextDelta(choice.text, number, _chances(choice))
            if choice.finish_reason:
                reason = str(choice.finish_reason)
                yield Finished(ENDINGS.get(reason, Ending.OTHER), number, reason)
        if chunk.usage is not None:
            yield Spent(usage_of(chunk.usage))


def _chances(choice: "CompletionChoice") -> tuple[TokenChance, ...]:
    told = choice.logprobs
    if told is None or told.tokens is None or told.token_logprobs is None:
        return ()
    nothing: dict[str, float] = {}
    tops = told.top_logprobs or [nothing] * len(told.tokens)
    return tuple(
        TokenChance(token, logprob, tuple(sorted((top or {}).items(), key=lambda each: -each[1])))
        for token, logprob, top in zip(told.tokens, told.token_logprobs, tops, strict=False)
    )
