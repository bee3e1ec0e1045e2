"""Ask a provider something, and put its answer together."""

import asyncio

from weft.providers.base import Parameters, Provider, Request
from weft.providers.events import ModelAnswer
from weft.tree.content import Text
from weft.tree.message import Message
from weft.tree.node import Role


def chat(*texts: str, model: str = "m", system: tuple[str, ...] = (), **parameters) -> Request:
    """User and assistant in turn."""
    roles = [Role.USER, Role.ASSISTANT]
    messages = tuple(Message(roles[i % 2], (Text(text),)) for i, text in enumerate(texts))
    return Request(model=model, messages=messages, system=system, parameters=Parameters(**parameters))


async def gather(provider: Provider, request: Request, answer: ModelAnswer | None = None) -> ModelAnswer:
    answer = ModelAnswer() if answer is None else answer
    async for event in provider.stream(request):
        answer.add(event)
    return answer


def ask(provider: Provider, request: Request, answer: ModelAnswer | None = None) -> ModelAnswer:
    return asyncio.run(gather(provider, request, answer))
