"""What holds for every provider, each against a server on this machine that speaks its real protocol."""

import asyncio
import logging
from contextlib import aclosing

import pytest
from tests.covers import covers
from tests.providers.asking import chat, gather
from tests.providers.houses import CANARY, HOUSES, MARK, House, connect
from tests.providers.loopback import Loopback, gone, plain, silent, streamed

from weft.error_hints import Face, hint_on
from weft.errors import ProviderError, Trouble
from weft.providers.adapter import ResponseLimits, dry_run
from weft.providers.base import Parameters, Request, ToolSpec
from weft.providers.events import ModelAnswer, StopReason, TextDelta, WireBytes
from weft.providers.scripted import Gate
from weft.tree.attempt import Usage
from weft.tree.content import Text, Thinking, ToolCall, ToolResult
from weft.tree.message import Message
from weft.tree.node import Role

WORDS = ["Hel", "lo ", "thére ", "— 🌊"]
WITH_TOOLS = [name for name, house in HOUSES.items() if house.tools]


@pytest.fixture(params=HOUSES)
def house(request) -> House:
    return HOUSES[request.param]


class Scene:
    """What came of one or more calls."""

    def __init__(self) -> None:
        self.answers: list[ModelAnswer] = []
        self.errors: list[ProviderError | None] = []
        self.noise: list[str] = []

    @property
    def answer(self) -> ModelAnswer:
        return self.answers[-1]

    @property
    def error(self) -> ProviderError | None:
        return self.errors[-1]


def play(house: House, *sayings, ask: Request | None = None, calls: int = 1, **settings):
    """Ask a house's server so many times."""

    async def scene():
        found = Scene()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: found.noise.append(str(context)))
        async with Loopback(list(sayings)) as server:
            provider = house.make(connect(server.url + house.base, house.name, **settings))
            for _ in range(calls):
                found.answers.append(ModelAnswer())
                try:
                    await gather(provider, ask or chat("Hi", model=house.model), found.answer)
                    found.errors.append(None)
                except ProviderError as error:
                    found.errors.append(error)
            await provider.close()
        return found, server

    found, server = asyncio.run(scene())
    assert found.noise == []
    return found, server


@covers(
    "provider.anthropic",
    "provider.openai",
    "provider.google",
    "provider.compatible",
    "provider.one-capture-layer",
)
def test_an_answer_is_streamed_and_ends(house):
    scene, server = play(house, streamed(*house.text(WORDS)))
    choice = scene.answer.choice()
    assert choice.text == "".join(WORDS)
    assert choice.finished.ending is StopReason.STOP
    usage = scene.answer.usage
    assert (usage.prompt, usage.completion, usage.total, usage.cached_read) == (18, 7, 25, 5)
    assert scene.answer.model
    assert len(server.heard) == 1


@covers("provider.one-capture-layer", "provider.wire-bytes")
def test_what_is_kept_is_what_went_over_the_wire(house):
    scene, server = play(house, streamed(*house.text(WORDS), x_request_id="r1", Odd_Case="Yes"))
    exchange = scene.answer.recording.last
    assert exchange.sent.body == server.heard[0].body
    assert b"".join(exchange.sent.segments) == exchange.sent.body
    assert exchange.response == server.said[0]
    told = {name.decode().lower(): value.decode() for name, value in exchange.sent.headers}
    heard = {name.lower(): value for name, value in server.heard[0].headers}
    secret = {"authorization", "x-goog-api-key"} & set(heard)
    assert secret
    assert all(told[name] == "[redacted]" and CANARY in heard[name] for name in secret)
    assert {name: value for name, value in told.items() if name not in secret} == {
        name: value for name, value in heard.items() if name not in secret
    }


@covers("request.reassembled")
def test_what_would_be_sent_is_told_to_the_byte_without_a_key_and_without_sending(house):
    ask = chat("Hi", "Ho", "Thére — 🌊", model=house.model, temperature=0.5, max_tokens=99)
    scene, server = play(house, streamed(*house.text(WORDS)), ask=ask)

    async def again():
        async with Loopback([gone()]) as silent_one:
            provider = house.make(connect(silent_one.url + house.base, house.name, key=None))
            (told,) = await dry_run(provider, ask)
            await provider.close()
            return told, silent_one

    told, silent_one = asyncio.run(again())
    assert told.body == server.heard[0].body == scene.answer.recording.last.sent.body
    assert silent_one.heard == []


@covers("provider.one-capture-layer")
def test_words_come_one_by_one_and_bytes_come_before_their_words(house):
    async def scene():
        gate, kinds = Gate(), []
        pieces = house.text(WORDS)
        async with Loopback([streamed(*pieces, gate=gate)]) as server:
            provider = house.make(connect(server.url + house.base, house.name))
            async with aclosing(provider.stream(chat("Hi", model=house.model))) as events:
                gate.let(1)
                sent = 1
                async for event in events:
                    kinds.append(type(event))
                    if isinstance(event, WireBytes) and sent < len(pieces):
                        sent += 1
                        gate.let(1)
            await provider.close()
        return kinds

    kinds = asyncio.run(scene())
    first = kinds.index(TextDelta)
    assert WireBytes in kinds[:first]
    assert sum(kind is TextDelta for kind in kinds) == len(WORDS)
    assert sum(kind is WireBytes for kind in kinds[: len(kinds) - 1]) >= len(WORDS)


@covers("provider.one-capture-layer")
@pytest.mark.long
def test_bytes_cut_anywhere_mean_the_same(house):
    whole = b"".join(house.text(WORDS))
    for size in (1, 7, 64):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        scene, server = play(house, streamed(*pieces))
        assert scene.answer.choice().text == "".join(WORDS)
        assert scene.answer.recording.last.response == server.said[0]


@covers("provider.packed-answers")
def test_a_compressed_answer_is_refused_before_its_body_is_read(house):
    scene, server = play(house, streamed(*house.text([CANARY]), packed=True))
    assert scene.error.trouble is Trouble.UNKNOWN
    assert "unexpected Content-Encoding 'gzip'" in scene.error.message
    assert scene.answer.recording.last.response == server.said[0][: server.said[0].index(b"\r\n\r\n") + 4]


@covers("provider.packed-answers")
def test_an_endless_answer_is_given_up(house):
    scene, _ = play(house, streamed(*house.text(["x" * 1_000] * 50)), limits=ResponseLimits(received=20_000))
    assert "longer than 20,000 bytes" in scene.error.message


@covers("provider.one-error-set")
@pytest.mark.parametrize(
    ("status", "message", "trouble"),
    [
        (400, "temperature: must be at most 1", Trouble.INVALID_REQUEST),
        (400, "prompt is too long: 250000 tokens > 200000 maximum", Trouble.CONTEXT_TOO_LONG),
        (400, "This model's maximum context length is 8192 tokens", Trouble.CONTEXT_TOO_LONG),
        (
            400,
            "The input token count (2000000) exceeds the maximum number of tokens",
            Trouble.CONTEXT_TOO_LONG,
        ),
        (401, "invalid key", Trouble.AUTHENTICATION),
        (404, "no such model", Trouble.MODEL_NOT_FOUND),
        (429, "slow down", Trouble.RATE_LIMITED),
        (500, "internal", Trouble.SERVER_ERROR),
        (529, "overloaded", Trouble.SERVER_ERROR),
    ],
)
def test_errors_are_said_in_one_set_of_words_and_their_bytes_are_kept(house, status, message, trouble):
    body = house.error(status, message)
    scene, server = play(house, plain(status, body))
    assert scene.error.trouble is trouble
    assert scene.error.status == status
    assert message in scene.error.message
    assert scene.error.retryable == (trouble in {Trouble.RATE_LIMITED, Trouble.SERVER_ERROR})
    assert scene.error.retry_after is None
    assert scene.answer.recording.last.response == server.said[0]
    assert scene.answer.recording.last.body == body
    assert len(server.heard) == 1, "the SDK must not try again by itself"


@covers("provider.one-error-set", "provider.retry-after-honoured")
def test_a_rate_limit_says_how_long_to_wait(house):
    scene, _ = play(house, plain(429, house.error(429, "slow"), retry_after="17"))
    assert (scene.error.retry_after, scene.error.retryable) == (17, True)


@covers("provider.one-error-set")
@pytest.mark.parametrize(
    "body", [b"", b"<html>Bad gateway</html>", b"null", b'["what"]', b'{"error": "text"}']
)
def test_an_error_that_is_no_json_of_theirs_is_an_error_all_the_same(house, body):
    scene, _ = play(house, plain(502, body))
    assert scene.error.trouble is Trouble.SERVER_ERROR


@covers("provider.one-error-set")
def test_an_overload_inside_a_good_stream_is_an_error_after_what_was_said(house):
    pieces = house.text(WORDS)
    scene, server = play(house, streamed(*pieces[: len(WORDS)], house.overload))
    assert scene.error.trouble is Trouble.SERVER_ERROR
    assert "Overloaded" in scene.error.message
    assert scene.answer.choice().text
    assert scene.answer.choice().finished is None
    assert scene.answer.recording.last.response == server.said[0]


@covers("provider.cut-is-not-complete")
@pytest.mark.long
def test_an_answer_cut_at_any_piece_is_never_taken_for_complete(house):
    pieces = house.text(WORDS)
    for kept in range(len(pieces) + 1):
        for cut in (True, False):
            scene, server = play(house, streamed(*pieces[:kept], cut=cut))
            said = scene.answer.choice()
            assert (scene.error is None) == (said.finished is not None)
            if scene.error is not None:
                assert scene.error.trouble is Trouble.NETWORK
                assert "".join(WORDS).startswith(said.text)
            assert scene.answer.recording.last.response == server.said[0]


@covers("provider.one-error-set")
def test_a_connection_closed_without_a_word_is_a_network_error(house):
    scene, _ = play(house, gone())
    assert (scene.error.trouble, scene.error.retryable) == (Trouble.NETWORK, True)
    assert scene.answer.recording.last.answered is None


@covers("provider.one-error-set")
def test_a_server_that_is_not_there_is_a_network_error_with_a_way_out(house):
    async def scene():
        async with Loopback([]) as server:
            url = server.url
        provider = house.make(connect(url + house.base, house.name))
        try:
            await gather(provider, chat("Hi", model=house.model))
        finally:
            await provider.close()

    with pytest.raises(ProviderError) as caught:
        asyncio.run(scene())
    assert caught.value.trouble is Trouble.NETWORK
    assert "local:smollm2" in caught.value.hint


@covers("provider.one-error-set")
def test_silence_is_a_timeout(house):
    ask = chat("Hi", model=house.model, timeout=0.05)
    scene, _ = play(house, silent(), ask=ask)
    assert (scene.error.trouble, scene.error.retryable) == (Trouble.TIMEOUT, True)
    name = "vllm" if house.name == "compatible" else house.name
    assert scene.error.message == f"{name}: timed out after 0.05 s"
    scene, _ = play(house, streamed(*house.text(WORDS), gate=Gate(2)), ask=ask)
    assert scene.error.trouble is Trouble.TIMEOUT


@covers("provider.one-error-set")
@pytest.mark.parametrize(
    "junk", [b"data: {not json\n\n", b"data: [1,2]\n\n", b"\xff\xfe\x00", b"data: null\n\n"]
)
def test_nonsense_in_a_stream_is_a_typed_error(house, junk):
    scene, _ = play(house, streamed(*house.text(WORDS)[:2], junk, junk))
    assert isinstance(scene.error, ProviderError)
    assert scene.answer.choice().finished is None


@covers("provider.stoppable")
@pytest.mark.parametrize("how", ["close", "cancel"])
def test_a_call_can_be_stopped_between_words_and_its_connection_is_let_go(house, how):
    async def scene():
        noise, heard, gate = [], ModelAnswer(), Gate()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: noise.append(str(context)))
        async with Loopback([streamed(*house.text(WORDS), gate=gate)]) as server:
            provider = house.make(connect(server.url + house.base, house.name))

            async def listen():
                async with aclosing(provider.stream(chat("Hi", model=house.model))) as events:
                    async for event in events:
                        heard.add(event)
                        if isinstance(event, WireBytes):
                            gate.let(1)
                        if isinstance(event, TextDelta):
                            if how == "close":
                                return
                            asyncio.current_task().cancel()

            gate.let(1)
            task = asyncio.create_task(listen())
            await asyncio.wait([task])
            assert task.cancelled() == (how == "cancel")
            await provider.close()
        return heard, noise

    heard, noise = asyncio.run(scene())
    assert noise == []
    assert "".join(WORDS).startswith(heard.choice().text)
    assert heard.choice().finished is None


@covers("provider.one-capture-layer")
def test_several_calls_at_once_do_not_mix(house):
    async def scene():
        texts = [[f"{number}-", "abc ", f"{number}"] for number in range(8)]
        answers = [streamed(*house.text(words)) for words in texts]
        async with Loopback(answers) as server:
            provider = house.make(connect(server.url + house.base, house.name))
            asked = [gather(provider, chat(f"q{number}", model=house.model)) for number in range(8)]
            found = await asyncio.gather(*asked)
            await provider.close()
        return found, server

    found, server = asyncio.run(scene())
    said = {bytes(each) for each in server.said}
    assert {answer.recording.last.response for answer in found} == said
    assert len({answer.choice().text for answer in found}) == 8
    for number, answer in enumerate(found):
        assert f"q{number}".encode() in answer.recording.last.sent.body
        start, _, end = answer.choice().text.partition("-abc ")
        assert start == end


@covers("provider.tools-and-thinking")
@pytest.mark.parametrize("name", WITH_TOOLS)
def test_tool_calls_and_thinking_are_kept_and_given_back(name):
    house = HOUSES[name]
    look = ToolSpec(name="look", description="Look at something", schema={"type": "object", "properties": {}})
    first = chat("Look!", model=house.model)
    first = Request(model=first.model, messages=first.messages, tools=(look,))
    scene, server = play(house, streamed(*house.tools), ask=first)
    choice = scene.answer.choice()
    assert choice.finished.ending is StopReason.TOOL_CALLS
    blocks = choice.blocks
    assert Thinking(text="I should look.", opaque=None).text in {
        block.text for block in blocks if isinstance(block, Thinking)
    }
    assert choice.text == "Looking."
    (call,) = (block for block in blocks if isinstance(block, ToolCall))
    assert (call.name, call.arguments) == ("look", {"at": "sea"})
    assert b"Look at something" in server.heard[0].body

    result = Message(Role.USER, (ToolResult(call_id=call.id, content="waves"), Text("And?")))
    again = Request(
        model=house.model, messages=(*first.messages, Message(Role.ASSISTANT, blocks), result), tools=(look,)
    )
    _, server = play(house, streamed(*house.text(WORDS)), ask=again)
    body = server.heard[0].body
    assert b"waves" in body
    if name in {"anthropic", "responses", "google"}:
        assert b"c2ln" in body, "what they signed goes back to them"


@covers("provider.keys-never-shown")
def test_a_key_is_in_no_event_error_log_or_repr(house, caplog):
    caplog.set_level(logging.DEBUG)
    told = f"your key {CANARY} is bad"
    answers = [
        streamed(*house.text(WORDS)),
        plain(401, house.error(401, told)),
        plain(500, told.encode()),
        streamed(*house.text(WORDS)[:-1], cut=True),
        gone(),
    ]
    scene, server = play(house, *answers, calls=5)
    assert all(CANARY in str(heard.headers) for heard in server.heard)
    seen = [caplog.text, repr(scene.answers)]
    for error in scene.errors:
        chained = error
        while chained is not None:
            seen += [repr(chained), str(chained), repr(vars(chained))]
            chained = chained.__cause__ or chained.__context__
    for answer in scene.answers:
        for exchange in answer.recording.exchanges:
            seen += [repr(exchange), exchange.response.decode("latin-1"), exchange.sent.url]
            seen += [repr(exchange.sent.headers), exchange.sent.body.decode()]
    assert CANARY not in "".join(seen)
    assert MARK in scene.answers[1].recording.last.response.decode()


@covers("provider.keys-never-shown")
def test_a_key_that_is_spread_over_stream_events_is_replaced_in_text_and_bytes(house):
    words = ["Your key ", CANARY[:1], CANARY[1:20], CANARY[20:], " is bad"]
    scene, server = play(house, streamed(*house.text(words)))
    assert scene.answer.choice().text == f"Your key {MARK} is bad"
    kept = scene.answer.recording.last.response
    assert len(kept) == len(server.said[0])
    assert not any(part.encode() in kept for part in (CANARY[1:20], CANARY[20:]))


@covers("provider.keys-never-shown")
@pytest.mark.parametrize("house", WITH_TOOLS, indirect=True)
def test_a_key_in_the_arguments_of_a_tool_call_is_replaced_also_over_two_events(house):
    key, events = CANARY.encode(), []
    for event in house.tools:
        if rb"{\"at\": " not in event and rb"\"sea\"}" in event:
            # Arguments that are streamed in pieces.
            events += [event.replace(rb"sea\"}", key[:9]), event.replace(rb"\"sea", key[9:])]
        else:
            events.append(event.replace(b"sea", key))
    scene, server = play(house, streamed(*events), ask=chat("Hi", model=house.model))
    (call,) = [block for block in scene.answer.choice().blocks if isinstance(block, ToolCall)]
    assert call.arguments == {"at": MARK}
    kept = scene.answer.recording.last.response
    assert len(kept) == len(server.said[0])
    assert not any(part in kept for part in (key, key[9:]))


@covers("provider.keys-never-shown")
def test_a_key_in_a_reason_phrase_is_replaced(house, caplog):
    caplog.set_level(logging.DEBUG)
    scene, _ = play(house, plain(401, b"{}", reason=f"Bad key {CANARY}"))
    assert CANARY not in f"{scene.error} {scene.error.hint} {caplog.text}"
    assert bytes(scene.answer.recording.last.answered).startswith(f"HTTP/1.1 401 Bad key {MARK}".encode())


@covers("provider.keys-never-shown")
def test_a_key_that_comes_back_in_pieces_is_replaced(house):
    body = f"your key {CANARY} is bad".encode()
    cuts = [body[:12], body[12:20], body[20:30], body[30:]]
    scene, _ = play(house, streamed(*house.text(["x"])[:1], *cuts, x_echo=CANARY))
    assert MARK.encode() in bytes(scene.answer.recording.last.answered)
    kept = scene.answer.recording.last.body
    assert CANARY.encode() not in kept
    assert f"your key {MARK} is bad".encode() in kept


@covers("provider.keys-never-shown")
@pytest.mark.parametrize(
    "house", [name for name, each in HOUSES.items() if each.name != "compatible"], indirect=True
)
def test_without_a_key_nothing_is_sent_and_the_way_out_is_named(house):
    """Servers on the own machine want none."""
    scene, server = play(house, streamed(*house.text(WORDS)), key=None)
    assert scene.error.trouble is Trouble.AUTHENTICATION
    assert f"weft keys set {house.name}" in hint_on(Face.CLI, scene.error.hint)
    assert server.heard == []


@covers("provider.catalog")
def test_the_list_of_models_is_read(house):
    async def scene():
        async with Loopback([plain(200, house.listed)]) as server:
            provider = house.make(connect(server.url + house.base, house.name))
            found = [each for each in await provider.models() if "localhost" not in str(each)]
            await provider.close()
        return found, server

    found, server = asyncio.run(scene())
    assert [str(info.name) for info in found if house.name in info.name.provider]
    assert all(info.title for info in found)
    assert server.heard[0].method == "GET"
    if house.name != "openai":
        assert all(info.profile.window for info in found)


@covers("provider.client-mapping-profile", "provider.profile")
def test_what_a_model_cannot_do_is_refused_before_anything_is_sent(house):
    provider = house.make(connect("http://127.0.0.1:1" + house.base, house.name))
    profile = provider.profile(house.model)
    bad = {"n": profile.choices + 1, "logprobs": profile.logprobs + 1}
    for name, value in bad.items():
        with pytest.raises(ProviderError) as caught:
            asyncio.run(gather(provider, chat("Hi", model=house.model, **{name: value})))
        assert caught.value.trouble is Trouble.INVALID_REQUEST
    if not profile.prefill:
        asked = Request(model=house.model, messages=chat("Hi").messages, prefill="Well,")
        with pytest.raises(ProviderError, match="does not support prefill"):
            asyncio.run(gather(provider, asked))


@covers("buffer.wrapped-for-chat-providers")
def test_a_document_is_continued_in_the_best_form_there_is(house):
    ask = Request(model=house.model, prompt="Once upon a time\n\n", parameters=Parameters(max_tokens=5))
    answer = streamed(*house.text(["\n\n", "there was"]))
    if house.name == "compatible":
        from tests.providers.houses import completion_text

        answer = streamed(*completion_text(["there was"]))
    scene, server = play(house, answer, ask=ask)
    body = server.heard[0].body
    assert b"Once upon a time" in body
    expected = {"anthropic": "there was", "google": "there was", "compatible": "there was"}
    assert scene.answer.choice().text == expected.get(house.name, "\n\nthere was")
    assert scene.answer.usage != Usage()


@covers("buffer.empty-document-allowed")
def test_an_empty_document_can_be_continued(house):
    ask = Request(model=house.model, prompt="")
    answer = house.text(["Once"])
    if house.name == "compatible":
        from tests.providers.houses import completion_text

        answer = completion_text(["Once"])
    scene, _ = play(house, streamed(*answer), ask=ask)
    assert scene.answer.choice().text == "Once"
