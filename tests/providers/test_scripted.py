"""The scripted model: the same every time, stopped where a test wants it."""

import asyncio

import pytest
from tests.covers import covers
from tests.providers.asking import ask, chat, gather

from weft import testing
from weft.errors import InvalidInputError, NotFoundError, ProviderError, Trouble
from weft.providers.base import ModelName, Parameters, ProviderRegistry, Request, installed_providers
from weft.providers.events import ModelAnswer, StopReason, TextDelta
from weft.providers.scripted import Scripted
from weft.testing import Gate, Reply
from weft.tree.attempt import Usage
from weft.tree.content import Mixed, Text, Thinking, ToolCall


@covers("provider.scripted")
def test_replies_come_in_order_and_word_by_word():
    model = testing.Scripted(["One two.", "Three."])
    first, second = ask(model, chat("a")), ask(model, chat("b"))
    assert (first.choice().text, second.choice().text) == ("One two.", "Three.")
    assert first.choice().finished.ending is StopReason.STOP
    assert [request.messages[0].text for request in model.requests] == ["a", "b"]
    with pytest.raises(ProviderError, match="no more replies"):
        ask(model, chat("c"))


@covers("provider.scripted")
def test_several_choices_of_one_call_are_streamed_in_turn():
    async def play():
        events = [each async for each in Scripted(["a b", "c d"]).stream(chat("x", n=2))]
        return [(each.choice, each.text) for each in events if isinstance(each, TextDelta)]

    assert asyncio.run(play()) == [(0, "a"), (1, "c"), (0, " b"), (1, " d")]


@covers("provider.scripted")
def test_a_function_may_answer():
    model = Scripted(lambda request, choice: f"{request.messages[0].text}{choice}")
    answer = ask(model, chat("x", n=3))
    assert [answer.choice(each).text for each in range(3)] == ["x0", "x1", "x2"]


@covers("provider.scripted")
def test_a_stream_stands_still_between_tokens_until_it_is_let_on():
    async def play():
        gate, heard = Gate(2), ModelAnswer()
        task = asyncio.create_task(gather(Scripted(["a b c d"], gate=gate), chat("x"), heard))
        await gate.reached()
        assert heard.choice().text == "a b"
        gate.let()
        await gate.reached()
        assert heard.choice().text == "a b c"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.open()
        assert gate.passed == 3

    asyncio.run(play())


@covers("provider.scripted")
def test_errors_and_cuts_come_where_the_script_has_them():
    busy = ProviderError(Trouble.RATE_LIMITED, "slow down", retry_after=2, status=429)
    model = Scripted([busy, Reply(text="some words", ending=None), Reply(text="more", error=busy)])
    answer = ModelAnswer()
    with pytest.raises(ProviderError, match="slow down") as caught:
        ask(model, chat("x"), answer)
    assert (caught.value.retryable, caught.value.retry_after) == (True, 2)
    assert answer.recording.last.status == 429
    for text, trouble in [("some words", Trouble.NETWORK), ("more", Trouble.RATE_LIMITED)]:
        answer = ModelAnswer()
        with pytest.raises(ProviderError) as caught:
            ask(model, chat("x"), answer)
        assert caught.value.trouble is trouble
        assert answer.choice().text == text
        assert answer.choice().finished is None


@covers("provider.scripted")
def test_thinking_tools_usage_and_probabilities_are_told():
    call = ToolCall(id="1", name="look", arguments={"at": "sea"})
    thought = Thinking(text="Hm.", opaque={"signature": "s"})
    spent = Usage(prompt=9, completion=3, total=12, cached_read=5)
    model = Scripted([Reply(text="Well then", thinking=thought, calls=(call,), usage=spent)])
    answer = ask(model, chat("x", logprobs=2))
    assert answer.choice().content == Mixed((thought, Text("Well then"), call))
    assert answer.choice().finished.ending is StopReason.TOOL_CALLS
    assert answer.usage == spent
    assert [each.token for each in answer.choice().chances] == ["Well", " then"]
    assert all(len(each.top) == 2 for each in answer.choice().chances)


@covers("provider.scripted")
def test_an_answer_is_cut_at_its_most_tokens():
    answer = ask(Scripted(["a b c"]), chat("x", max_tokens=2))
    assert (answer.choice().text, answer.choice().finished.ending) == ("a b", StopReason.LENGTH)


@covers("provider.scripted")
def test_without_a_script_the_last_words_come_back():
    model = installed_providers().provider("scripted:echo")
    assert ask(model, chat("Why?")).choice().text == "You said: Why?"
    asked = Request(model="echo", prompt="Once upon a time", parameters=Parameters(n=2))
    assert ask(model, asked).choice(1).text == " Once upon a time (2)"


@covers("provider.scripted")
def test_the_same_call_has_the_same_bytes():
    first, again = (ask(Scripted(["Hello there"]), chat("Hi")) for _ in range(2))
    assert first.recording.last.response == again.recording.last.response
    assert first.recording.last.response.startswith(b"HTTP/1.1 200 OK\r\nrequest-id: scripted-1\r\n\r\n{")
    sent = first.recording.last.sent
    assert b"".join(sent.segments) == sent.body


@covers("provider.named")
def test_a_model_is_named_by_its_provider_and_its_own_name():
    assert ModelName.parse("Compatible:ollama/llama3:8b") == ModelName("compatible", "ollama/llama3:8b")
    assert str(ModelName.parse(" local:smollm2 ")) == "local:smollm2"
    for bad in ["", "local", "local:", ":x", " : "]:
        with pytest.raises(InvalidInputError, match="does not name a model"):
            ModelName.parse(bad)


@covers("provider.named")
def test_providers_are_found_by_name_and_ones_given_hide_installed_ones():
    mine = Scripted(["mine"])
    registry = installed_providers().with_provider("anthropic", mine)
    assert registry.model("anthropic:claude") == (mine, "claude")
    assert {"anthropic", "compatible", "google", "local", "openai", "scripted"} <= set(registry.names)
    with pytest.raises(NotFoundError, match="no provider 'nobody'"):
        registry.provider("nobody")
    with pytest.raises(NotFoundError):
        ProviderRegistry().model("scripted:x")


def test_more_choices_than_a_request_may_have_are_refused():
    with pytest.raises(ProviderError, match="at most 1,000"):
        asyncio.run(gather(Scripted(), chat("x", n=10**9)))
