"""What each provider is told, in its own dialect."""

import asyncio
import base64
import json
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest
from tests.covers import covers
from tests.providers.asking import chat, gather
from tests.providers.houses import (
    ANTHROPIC,
    CHAT,
    COMPATIBLE,
    COMPLETIONS,
    GOOGLE,
    HOUSES,
    RESPONSES,
    anthropic_end,
    chunk,
    completion,
    connect,
    delta,
    gemini,
    gemini_error,
)
from tests.providers.loopback import Loopback, gone, plain, streamed

from weft.errors import InvalidInputError, NotFoundError, ProviderError, Trouble
from weft.providers.adapter import Seam, as_chat, dry_run
from weft.providers.anthropic import anthropic_profile
from weft.providers.base import ModelPrices, Parameters, Request, SystemPlace
from weft.providers.compatible import PRESETS, Compatible, listed_profile
from weft.providers.events import StopReason, TokenChance
from weft.providers.google import google_profile
from weft.providers.keys import Keys
from weft.providers.openai import openai_profile
from weft.tree.attempt import Usage
from weft.tree.cache_profile import CacheKind
from weft.tree.content import Audio, Image, Text, Thinking, ToolCall, ToolResult
from weft.tree.message import Message
from weft.tree.node import Role

PIXEL = b"\x89PNG not really"
REF = "a" * 64


def told(house, request, *sayings):
    """The bodies that a request makes, as JSON, and the answer."""

    async def scene():
        async with Loopback(list(sayings) or [streamed(*house.text(["x"]))]) as server:
            provider = house.make(connect(server.url + house.base, house.name))
            try:
                answer = await gather(provider, request)
            finally:
                await provider.close()
        return [json.loads(heard.body) for heard in server.heard], answer, server

    return asyncio.run(scene())


def body_of(house, request, *sayings):
    return told(house, request, *sayings)[0][-1]


SYSTEM = chat("Hi", system=("Be brief.", "Be kind."))


def with_model(request, house):
    return Request(**{
        **{name: getattr(request, name) for name in Request.__slots__},
        "model": house.model,
    })  # fmt: skip


@covers("system.in-the-providers-field")
def test_a_provider_with_a_system_field_gets_the_system_context_there():
    body = body_of(ANTHROPIC, with_model(SYSTEM, ANTHROPIC))
    assert body["system"] == [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    assert body_of(RESPONSES, with_model(SYSTEM, RESPONSES))["instructions"] == "Be brief.\n\nBe kind."
    parts = body_of(GOOGLE, with_model(SYSTEM, GOOGLE))["systemInstruction"]["parts"]
    assert parts == [{"text": "Be brief.\n\nBe kind."}]
    for profile in (anthropic_profile("claude-opus-4-5"), google_profile("gemini-2.5-pro")):
        assert profile.system is SystemPlace.FIELD


@covers("system.as-first-message")
@pytest.mark.parametrize("house", [CHAT, COMPATIBLE], ids=lambda house: house.name)
def test_others_get_it_as_their_first_message(house):
    first, second = body_of(house, with_model(SYSTEM, house))["messages"]
    assert first == {"role": "system", "content": "Be brief.\n\nBe kind."}
    assert second == {"role": "user", "content": "Hi"}


@covers("system.as-first-message")
def test_a_model_that_only_completes_gets_a_transcript():
    asked = chat("Hi", "Hello.", "Why?", model=COMPLETIONS.model, system=("Be brief.",))
    body = body_of(COMPLETIONS, asked)
    assert body["prompt"] == "Be brief.\n\nUser: Hi\n\nAssistant: Hello.\n\nUser: Why?\n\nAssistant:"
    assert body["stop"] == ["\n\nUser:"]


@covers("provider.parameters")
def test_parameters_are_said_by_their_names():
    given = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 7,
        "stop": ("END",),
        "seed": 3,
        "custom": {"top_k": 5},
    }
    wanted = {
        "anthropic": {
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 7,
            "stop_sequences": ["END"],
            "top_k": 5,
        },
        "chat": {
            "temperature": 0.5,
            "top_p": 0.9,
            "max_completion_tokens": 7,
            "stop": ["END"],
            "seed": 3,
            "top_k": 5,
        },
        "completions": {
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 7,
            "stop": ["END"],
            "seed": 3,
            "top_k": 5,
        },
        "compatible": {
            "temperature": 0.5,
            "top_p": 0.9,
            "max_tokens": 7,
            "stop": ["END"],
            "seed": 3,
            "top_k": 5,
        },
    }
    for name, fields in wanted.items():
        house = HOUSES[name]
        body = body_of(house, chat("Hi", model=house.model, **given))
        assert {field: body.get(field) for field in fields} == fields, name
    config = body_of(GOOGLE, chat("Hi", model=GOOGLE.model, **{**given, "custom": {}}))["generationConfig"]
    assert config == {
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 7,
        "stopSequences": ["END"],
        "seed": 3,
    }


@covers("provider.parameters")
def test_a_temperature_is_left_out_where_a_model_takes_none():
    body = body_of(ANTHROPIC, chat("Hi", model="claude-opus-4-8", temperature=0.5, top_p=0.5))
    assert not {"temperature", "top_p"} & set(body)
    body = body_of(RESPONSES, chat("Hi", model=RESPONSES.model, temperature=0.5))
    assert "temperature" not in body
    with pytest.raises(ProviderError, match="does not support stop sequences"):
        body_of(RESPONSES, chat("Hi", model=RESPONSES.model, stop=("END",)))


@dataclass
class Mark:
    message: int | None
    block: int
    control: dict


@dataclass
class Controls:
    marks: tuple = ()
    fields: dict = field(default_factory=dict)
    cached_content: dict | None = None


@covers("provider.cache-controls")
def test_cache_marks_stand_where_the_context_engine_put_them():
    short, long = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
    marks = (Mark(None, 1, long), Mark(0, 0, short), Mark(2, 1, short))
    messages = (
        Message(Role.USER, (Text("a"),)),
        Message(Role.ASSISTANT, (Text("b"),)),
        Message(Role.USER, (Text("c"), Text("d"))),
    )
    asked = Request(model=ANTHROPIC.model, messages=messages, system=("One.", "Two."), cache=Controls(marks))
    body = body_of(ANTHROPIC, asked)
    assert body["system"][0] == {"type": "text", "text": "One."}
    assert body["system"][1]["cache_control"] == long
    assert body["messages"][0]["content"] == [{"type": "text", "text": "a", "cache_control": short}]
    assert body["messages"][1]["content"] == "b"
    assert [block.get("cache_control") for block in body["messages"][2]["content"]] == [None, short]


@covers("provider.cache-controls")
def test_the_engines_own_controls_fit_as_they_are():
    from weft.context.cache.controls import CacheControls
    from weft.context.cache.controls import PrefixMark as EngineMark

    made = CacheControls(marks=(EngineMark(message=None, block=0, control={"type": "ephemeral"}),))
    asked = Request(model=ANTHROPIC.model, messages=chat("a").messages, system=("One.",), cache=made)
    assert body_of(ANTHROPIC, asked)["system"][0]["cache_control"] == {"type": "ephemeral"}


@covers("provider.cache-controls")
@pytest.mark.parametrize("house", [CHAT, RESPONSES], ids=["chat", "responses"])
def test_a_cache_key_is_carried(house):
    asked = Request(
        model=house.model, messages=chat("a").messages, cache=Controls(fields={"prompt_cache_key": "weft-1"})
    )
    assert body_of(house, asked)["prompt_cache_key"] == "weft-1"


@covers("provider.cache-controls")
def test_gemini_gets_a_cache_of_its_own_once_and_then_its_name():
    made = plain(200, json.dumps({"name": "cachedContents/c1", "model": "models/gemini-2.5-flash"}).encode())
    said = streamed(*GOOGLE.text(["x"]))
    asked = Request(
        model=GOOGLE.model,
        messages=chat("a", "b", "c").messages,
        system=("Long.",),
        cache=Controls(cached_content={"messages": 2, "ttl": "300s"}),
    )

    async def scene():
        async with Loopback([made, said, said]) as server:
            provider = GOOGLE.make(connect(server.url, "google"))
            first = await gather(provider, asked)
            await gather(provider, asked)
            await provider.close()
        return server, first

    server, first = asyncio.run(scene())
    create, one, two = (json.loads(heard.body) for heard in server.heard)
    assert len(create["contents"]) == 2
    assert create["ttl"] == "300s"
    for body in (one, two):
        assert body["cachedContent"] == "cachedContents/c1"
        assert [content["parts"] for content in body["contents"]] == [[{"text": "c"}]]
        assert "systemInstruction" not in body
    assert len(first.recording.exchanges) == 2
    assert b"cachedContent" in first.recording.last.sent.body


@covers("provider.cache-controls")
def test_without_a_cache_gemini_gets_everything():
    refused = plain(400, GOOGLE.error(400, "too small"))
    asked = Request(
        model=GOOGLE.model,
        messages=chat("a", "b", "c").messages,
        cache=Controls(cached_content={"messages": 2}),
    )
    bodies, answer, _ = told(GOOGLE, asked, refused, streamed(*GOOGLE.text(["x"])))
    assert len(bodies[-1]["contents"]) == 3
    assert answer.choice().text == "x"


RESULTS = (
    Message(Role.USER, (Text("Both?"),)),
    Message(
        Role.ASSISTANT,
        (ToolCall(id="c1", name="sun", arguments={}), ToolCall(id="c2", name="rain", arguments={})),
    ),
    Message(Role.TOOL, (ToolResult(call_id="c1", content="shines"),)),
    Message(Role.USER, (Text("Well?"), ToolResult(call_id="c2", content="falls"))),
    Message(Role.USER, (Text("And now?"),)),
)


def responses_in(content):
    return [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]


@covers("provider.parallel-results")
def test_gemini_gets_the_results_of_one_turns_calls_as_one_content():
    contents = body_of(GOOGLE, Request(model=GOOGLE.model, messages=RESULTS))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "user"]
    assert responses_in(contents[2]) == ["sun", "rain"]
    assert contents[2]["parts"][2] == {"text": "Well?"}
    assert contents[3]["parts"] == [{"text": "And now?"}]


def with_cache(messages, count):
    return Request(
        model=GOOGLE.model,
        messages=messages,
        system=("Long.",),
        cache=Controls(cached_content={"messages": count, "ttl": "300s"}),
    )


CREATED = plain(200, json.dumps({"name": "cachedContents/c1", "model": "models/gemini-2.5-flash"}).encode())


@covers("provider.parallel-results")
@pytest.mark.parametrize("count", [2, 3])
def test_results_have_their_names_where_a_cache_holds_the_calls_and_are_never_parted(count):
    bodies, _, _ = told(GOOGLE, with_cache(RESULTS, count), CREATED, streamed(*GOOGLE.text(["x"])))
    create, asked = bodies
    assert [content["role"] for content in create["contents"]] == ["user", "model"]
    assert [responses_in(content) for content in asked["contents"]] == [["sun", "rain"], []]


@covers("provider.cache-optional")
@pytest.mark.parametrize(
    "failure",
    [
        gone(),
        plain(500, GOOGLE.error(500, "busy")),
        plain(200, b"no json"),
        plain(302, b"", Location="http://127.0.0.1/"),
    ],
    ids=["network", "server", "malformed", "redirect"],
)
def test_a_cache_that_cannot_be_created_does_not_end_the_generation(failure):
    asked = with_cache(chat("a", "b", "c").messages, 2)
    bodies, answer, _ = told(GOOGLE, asked, failure, streamed(*GOOGLE.text(["x"])))
    assert len(bodies) == 2
    assert len(bodies[-1]["contents"]) == 3
    assert "cachedContent" not in bodies[-1]
    assert answer.choice().text == "x"
    (warning,) = answer.warnings
    assert warning.startswith("google: no cache (")
    assert warning.endswith("; the request is sent whole")


@covers("provider.cache-optional")
def test_a_cache_that_is_gone_at_the_server_is_done_without():
    asked = with_cache(chat("a", "b", "c").messages, 2)
    lost = plain(403, GOOGLE.error(403, "CachedContent not found"))
    bodies, answer, _ = told(GOOGLE, asked, CREATED, lost, streamed(*GOOGLE.text(["x"])))
    assert ["cachedContent" in body for body in bodies] == [False, True, False]
    assert answer.choice().text == "x"
    assert len(answer.warnings) == 1


@covers("provider.cache-controls", "request.reassembled")
def test_a_dry_run_shows_the_cache_that_would_be_created_and_the_request_that_was_sent():
    asked = with_cache(chat("a", "b", "c").messages, 2)
    bodies, _, _ = told(GOOGLE, asked, CREATED, streamed(*GOOGLE.text(["x"])))

    def dry(wanted):
        provider = GOOGLE.make(connect("http://127.0.0.1:1", "google", key=None))
        return [json.loads(each.body) for each in asyncio.run(dry_run(provider, wanted))]

    create, request = dry(asked)
    assert create == bodies[0]
    assert request == {**bodies[1], "cachedContent": "cachedContents/not-created"}
    named = replace(asked, cache=Controls(cached_content={"messages": 2, "name": "cachedContents/c1"}))
    assert dry(named) == [bodies[1]]
    (whole,) = dry(replace(asked, cache=Controls()))
    assert len(whole["contents"]) == 3


@covers("provider.temperature-range")
@pytest.mark.parametrize(
    ("name", "highest"),
    [("anthropic", 1), ("chat", 2), ("responses", 2), ("completions", 2), ("google", 2), ("compatible", 10)],
)
@pytest.mark.parametrize("wrong", ["above", -0.1, float("nan"), float("inf")])
def test_a_temperature_out_of_range_is_refused_by_its_name_before_anything_is_sent(name, highest, wrong):
    house = HOUSES[name]
    body_of(house, chat("Hi", model=house.model, temperature=highest))
    value = highest + 0.01 if wrong == "above" else wrong
    with pytest.raises(InvalidInputError, match=f"temperature must be between 0 and {highest}") as refused:
        body_of(house, chat("Hi", model=house.model, temperature=value))
    assert refused.value.path == "temperature"


def seen(house, *blocks):
    message = Message(Role.USER, blocks)
    media = {REF: PIXEL}
    return json.dumps(body_of(house, Request(model=house.model, messages=(message,), media=media)))


@covers("provider.images")
@pytest.mark.parametrize("name", ["anthropic", "chat", "responses", "google", "compatible"])
def test_images_are_sent_with_their_bytes(name):
    image = Image(ref=REF, mime_type="image/png", width=1, height=1)
    body = seen(HOUSES[name], Text("What is this?"), image)
    assert base64.b64encode(PIXEL).decode() in body or base64.urlsafe_b64encode(PIXEL).decode() in body
    assert "image/png" in body
    assert "What is this?" in body


@covers("provider.images")
def test_sounds_are_sent_to_those_who_hear_and_refused_by_others():
    sound = Audio(ref=REF, mime_type="audio/mpeg", duration_ms=9)
    assert "audio/mpeg" in seen(GOOGLE, sound)
    with pytest.raises(ProviderError, match="does not accept audio"):
        seen(ANTHROPIC, sound)


@covers("provider.images")
def test_an_image_without_its_bytes_is_not_sent():
    image = Image(ref="b" * 64, mime_type="image/png", width=1, height=1)
    with pytest.raises(ProviderError, match="bytes of bbbbbbbbbbbb"):
        seen(ANTHROPIC, image)
    with pytest.raises(ProviderError, match="does not accept images"):
        seen(COMPLETIONS, image)


@covers("provider.prefill")
def test_an_answers_first_words_are_sent_where_they_can_be():
    def asked(model):
        return Request(model=model, messages=chat("Hi").messages, prefill="Well, ")

    assert body_of(ANTHROPIC, asked("claude-opus-4-5"))["messages"][-1] == {
        "role": "assistant",
        "content": "Well,",
    }
    assert body_of(GOOGLE, asked(GOOGLE.model))["contents"][-1] == {
        "role": "model",
        "parts": [{"text": "Well, "}],
    }
    body = body_of(COMPATIBLE, asked(COMPATIBLE.model))
    assert body["messages"][-1] == {"role": "assistant", "content": "Well, "}
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    with pytest.raises(ProviderError, match="does not support prefill"):
        body_of(ANTHROPIC, asked("claude-opus-4-6"))


@covers("provider.prefill")
@pytest.mark.parametrize("ends", ["prefill", "message"])
def test_the_blanks_at_an_answers_beginning_are_neither_refused_nor_doubled(ends):
    asked = Request(model=ANTHROPIC.model, messages=chat("Hi").messages, prefill="Well, ")
    if ends == "message":
        asked = chat("Hi", "Well, ", model=ANTHROPIC.model)
    bodies, answer, _ = told(ANTHROPIC, asked, streamed(*ANTHROPIC.text([" ", "then"])))
    assert bodies[0]["messages"][-1] == {"role": "assistant", "content": "Well,"}
    assert answer.choice().text == "then"


@covers("provider.tools-and-thinking")
def test_another_providers_thinking_is_not_sent_and_leaves_no_empty_message():
    thought = Message(Role.ASSISTANT, (Thinking(text="Hm.", opaque={"type": "elsewhere"}),))
    for name, house in HOUSES.items():
        messages = (*chat("Hi").messages, thought, *chat("Well?").messages)
        body = json.dumps(body_of(house, Request(model=house.model, messages=messages)))
        assert "Hm." not in body, name
        assert '"content": []' not in body, name


@covers("buffer.one-string", "buffer.wrapped-for-chat-providers")
def test_a_document_is_one_string_where_that_can_be():
    document = "Once upon a time "
    for house in (COMPLETIONS, COMPATIBLE):
        saying = streamed(completion("there"), completion("", "stop"), b"data: [DONE]\n\n")
        body = body_of(house, Request(model=house.model, prompt=document), saying)
        assert body["prompt"] == document
        assert "messages" not in body


@covers("buffer.wrapped-for-chat-providers")
def test_a_document_is_the_beginning_of_the_answer_where_that_can_be():
    body = body_of(ANTHROPIC, Request(model=ANTHROPIC.model, prompt="Once upon a time \n"))
    assert body["messages"][-1] == {"role": "assistant", "content": "Once upon a time"}
    assert body["messages"][0]["content"] == "<cmd>cat document.txt</cmd>"
    body = body_of(CHAT, Request(model=CHAT.model, prompt="Once upon a time \n"))
    assert body["messages"][-1] == {"role": "user", "content": "Once upon a time \n"}
    assert "continue documents" in body["messages"][0]["content"]


@covers("buffer.references-for-chat-models", "buffer.wrapped-for-chat-providers")
def test_references_are_before_the_document_in_the_users_message():
    reference = Message(Role.USER, (Text("<reference>A map.</reference>"),))

    def asked(model, prompt="Once upon a time \n"):
        return Request(model=model, messages=(reference,), prompt=prompt, system=("Be brief.",))

    body = body_of(ANTHROPIC, asked(ANTHROPIC.model))
    first, last = body["messages"]
    assert first["content"] == "<reference>A map.</reference>\n\n<cmd>cat document.txt</cmd>"
    assert last == {"role": "assistant", "content": "Once upon a time"}
    assert "Reference blocks before the document" in body["system"][1]["text"]
    body = body_of(CHAT, asked(CHAT.model))
    assert body["messages"][-1]["content"] == "<reference>A map.</reference>\n\nOnce upon a time \n"
    assert "Reference blocks before the document" in body["messages"][0]["content"]
    empty = body_of(GOOGLE, asked(GOOGLE.model, ""))["contents"]
    assert [len(content["parts"]) for content in empty] == [1]
    assert empty[0]["parts"][0]["text"].startswith("<reference>A map.</reference>\n\n(The document")
    with pytest.raises(ProviderError, match="takes no messages before it"):
        body_of(COMPLETIONS, asked(COMPLETIONS.model))


@covers("buffer.wrapped-for-chat-providers")
def test_the_blanks_at_a_documents_end_are_not_said_twice():
    _, blanks = as_chat(Request(model="m", prompt="The end.\n\n"), anthropic_profile("claude-opus-4-5"))
    assert blanks == "\n\n"
    for pieces, joined in [
        (["\n", "\nThen"], "Then"),
        (["\n\n\nThen"], "\nThen"),
        (["Then\n\n"], "Then\n\n"),
        (["\nThen"], "Then"),
        ([" ", "Then"], " Then"),
    ]:
        seam = Seam(blanks)
        assert "".join(seam.join(piece) for piece in pieces) == joined


@covers("provider.choices")
def test_several_choices_of_one_request_are_told_apart():
    said = streamed(
        chunk(delta(0, content="a")), chunk(delta(1, content="b"), delta(0, content="A")),
        chunk(delta(1, "length")), chunk(delta(0, "stop")), b"data: [DONE]\n\n",
    )  # fmt: skip
    bodies, answer, _ = told(CHAT, chat("Hi", model=CHAT.model, n=2), said)
    assert bodies[0]["n"] == 2
    assert [(answer.choice(each).text, answer.choice(each).finished.ending) for each in (0, 1)] == [
        ("aA", StopReason.STOP),
        ("b", StopReason.LENGTH),
    ]
    said = streamed(
        gemini({"text": "a"}, index=0), gemini({"text": "b"}, index=1), gemini(reason="STOP", index=1),
        gemini(reason="MAX_TOKENS", index=0),
    )  # fmt: skip
    bodies, answer, _ = told(GOOGLE, chat("Hi", model=GOOGLE.model, n=2), said)
    assert bodies[0]["generationConfig"]["candidateCount"] == 2
    assert [answer.choice(each).text for each in (0, 1)] == ["a", "b"]


@covers("provider.choices", "provider.cut-is-not-complete")
def test_a_choice_that_never_ended_is_missed():
    said = streamed(chunk(delta(0, content="a")), chunk(delta(1, content="b")), chunk(delta(0, "stop")))
    with pytest.raises(ProviderError, match="without a stop reason"):
        told(CHAT, chat("Hi", model=CHAT.model, n=2), said)


@covers("provider.probabilities")
def test_probabilities_are_read_where_they_are_offered():
    wanted = (TokenChance("Hi", -0.1, (("Hi", -0.1), ("Ho", -2.5))),)
    tops = [{"token": "Hi", "logprob": -0.1, "bytes": None}, {"token": "Ho", "logprob": -2.5, "bytes": None}]
    content = {
        "content": [{"token": "Hi", "logprob": -0.1, "bytes": None, "top_logprobs": tops}],
        "refusal": None,
    }
    said = streamed(chunk(delta(content="Hi", logprobs=content)), chunk(delta(reason="stop")))
    bodies, answer, _ = told(CHAT, chat("x", model=CHAT.model, logprobs=2), said)
    assert (bodies[0]["logprobs"], bodies[0]["top_logprobs"]) == (True, 2)
    assert tuple(answer.choice().chances) == wanted

    old = {
        "tokens": ["Hi"],
        "token_logprobs": [-0.1],
        "top_logprobs": [{"Ho": -2.5, "Hi": -0.1}],
        "text_offset": [0],
    }
    said = streamed(completion("Hi", logprobs=old), completion("", "stop"))
    bodies, answer, _ = told(
        COMPLETIONS, Request(model="davinci-002", prompt="x", parameters=Parameters(logprobs=2)), said
    )
    assert bodies[0]["logprobs"] == 2
    assert tuple(answer.choice().chances) == wanted

    result = {
        "chosenCandidates": [{"token": "Hi", "logProbability": -0.1}],
        "topCandidates": [
            {"candidates": [{"token": "Hi", "logProbability": -0.1}, {"token": "Ho", "logProbability": -2.5}]}
        ],
    }
    said = streamed(gemini({"text": "Hi"}, logprobsResult=result), gemini(reason="STOP"))
    bodies, answer, _ = told(GOOGLE, chat("x", model=GOOGLE.model, logprobs=2), said)
    assert bodies[0]["generationConfig"] == {"responseLogprobs": True, "logprobs": 2}
    assert tuple(answer.choice().chances) == wanted


@covers("provider.one-error-set")
def test_a_refusal_is_told_as_one():
    said = streamed(*ANTHROPIC.text(["No."])[:-2], *anthropic_end("refusal"))
    assert (
        told(ANTHROPIC, chat("x", model=ANTHROPIC.model), said)[1].choice().finished.ending
        is StopReason.CONTENT_FILTERED
    )
    said = streamed(gemini({"text": "No"}), gemini(reason="SAFETY"))
    assert (
        told(GOOGLE, chat("x", model=GOOGLE.model), said)[1].choice().finished.ending
        is StopReason.CONTENT_FILTERED
    )
    blocked = b'data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}\r\n\r\n'
    with pytest.raises(ProviderError, match="PROHIBITED_CONTENT") as caught:
        told(GOOGLE, chat("x", model=GOOGLE.model), streamed(blocked))
    assert caught.value.trouble is Trouble.CONTENT_FILTERED


@covers("provider.one-error-set")
@pytest.mark.parametrize(
    ("house", "status", "body", "trouble"),
    [
        (CHAT, 429, {"code": "insufficient_quota", "message": "You exceeded your quota", "type": "insufficient_quota"}, Trouble.INVALID_REQUEST),
        (CHAT, 400, {"code": "context_length_exceeded", "message": "too many", "type": "invalid_request_error"}, Trouble.CONTEXT_TOO_LONG),
        (CHAT, 400, {"code": "content_policy_violation", "message": "no", "type": "invalid_request_error"}, Trouble.CONTENT_FILTERED),
        (COMPATIBLE, 400, {"message": "nope/x is not a valid model ID", "code": 400}, Trouble.MODEL_NOT_FOUND),
        (COMPATIBLE, 402, {"message": "Insufficient credits", "code": 402}, Trouble.INVALID_REQUEST),
        (GOOGLE, 400, {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}, Trouble.AUTHENTICATION),
        (GOOGLE, 403, {"code": 403, "message": "denied", "status": "PERMISSION_DENIED"}, Trouble.AUTHENTICATION),
        (GOOGLE, 504, {"code": 504, "message": "slow", "status": "DEADLINE_EXCEEDED"}, Trouble.SERVER_ERROR),
        (ANTHROPIC, 413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}, Trouble.CONTEXT_TOO_LONG),
        (ANTHROPIC, 403, {"type": "permission_error", "message": "no"}, Trouble.AUTHENTICATION),
    ],
)  # fmt: skip
def test_each_providers_own_words_are_understood(house, status, body, trouble):
    with pytest.raises(ProviderError) as caught:
        told(house, chat("x", model=house.model), plain(status, json.dumps({"error": body}).encode()))
    assert caught.value.trouble is trouble


@covers("provider.retry-after-honoured")
def test_googles_wait_is_in_its_body():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "41s"}]
    body = gemini_error(429, "slow", details=details)
    with pytest.raises(ProviderError) as caught:
        told(GOOGLE, chat("x", model=GOOGLE.model), plain(429, body))
    assert caught.value.retry_after == 41


@covers("provider.presets")
def test_presets_are_there_by_name():
    assert set(PRESETS) == {"hyperbolic", "llama.cpp", "lmstudio", "ollama", "openrouter", "vllm"}
    provider = Compatible(environment={})
    for name in PRESETS:
        assert provider.profile(f"{name}/m").completion
    assert provider.profile("openrouter/anthropic/claude-3.5-haiku").prices is not None
    assert provider.profile("ollama/llama3").local


@covers("provider.compatible")
def test_an_endpoint_of_ones_own_is_set_by_the_environment():
    async def scene():
        async with Loopback([streamed(*CHAT.text(["hello"]))]) as server:
            environment = {"WEFT_COMPATIBLE_LAB": f"{server.url}/v1"}
            keys = Keys(environment={"WEFT_KEY_LAB": "lab-key"}, ring=lambda: None)
            provider = Compatible(environment=environment, keys=keys)
            answer = await gather(provider, chat("Hi", model="lab/some/model:tag"))
            await provider.close()
        return answer, server

    answer, server = asyncio.run(scene())
    assert answer.choice().text == "hello"
    assert json.loads(server.heard[0].body)["model"] == "some/model:tag"
    assert server.heard[0].header("authorization") == "Bearer lab-key"


@covers("provider.compatible")
def test_an_endpoint_that_nobody_set_is_refused():
    provider = Compatible(environment={})
    with pytest.raises(NotFoundError, match="no endpoint 'lab'") as caught:
        asyncio.run(gather(provider, chat("Hi", model="lab/m")))
    assert "WEFT_COMPATIBLE_LAB" in caught.value.hint
    with pytest.raises(InvalidInputError, match="does not name an endpoint"):
        asyncio.run(gather(provider, chat("Hi", model="m")))


@covers("provider.compatible")
def test_what_openais_environment_says_stays_with_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    _, _, server = told(COMPATIBLE, chat("x", model=COMPATIBLE.model))
    assert "secret" not in str(server.heard[0].headers)


@covers("provider.profile")
def test_profiles_know_windows_prices_and_what_models_can_do():
    opus = anthropic_profile("claude-opus-4-5-20251101")
    assert (opus.window, opus.output_limit, opus.cache.kind, opus.images) == (
        200_000,
        64_000,
        CacheKind.MARKS,
        True,
    )
    spent = Usage(prompt=1_000_000, completion=100_000, cached_read=500_000, cached_write=100_000)
    assert float(opus.prices.cost(spent)) == pytest.approx(0.4 * 5 + 0.5 * 0.5 + 0.1 * 6.25 + 0.1 * 25)
    assert openai_profile("gpt-4o").choices > 1
    assert openai_profile("davinci-002").completion
    assert not openai_profile("gpt-5.1").sampling
    pro = google_profile("gemini-2.5-pro")
    below, beyond = Usage(prompt=200_000, completion=0), Usage(prompt=200_001, completion=0)
    assert pro.prices.cost(beyond) > 1.9 * float(pro.prices.cost(below))
    assert anthropic_profile("claude-of-the-future").prefill is False


@covers("cache.anthropic", "cache.gemini", "provider.profile")
@pytest.mark.parametrize(
    ("profile", "model", "minimum"),
    [
        (anthropic_profile, "claude-sonnet-4-5-20250929", 1_024),
        (anthropic_profile, "claude-opus-4-20250514", 1_024),
        (anthropic_profile, "claude-opus-4-1", 1_024),
        (anthropic_profile, "claude-sonnet-4-6", 2_048),
        (anthropic_profile, "claude-3-5-haiku-latest", 2_048),
        (anthropic_profile, "claude-haiku-4-5", 4_096),
        (anthropic_profile, "claude-opus-4-6", 4_096),
        (google_profile, "gemini-2.5-pro", 2_048),
        (google_profile, "gemini-3.1-pro-preview", 4_096),
        (openai_profile, "gpt-5", 1_024),
    ],
)
def test_models_of_one_provider_cache_prefixes_of_different_sizes(profile, model, minimum):
    assert profile(model).cache.minimum == minimum
    assert profile(model).prefix_cache


@covers("provider.catalog")
def test_what_a_servers_list_tells_of_a_model_is_taken_and_nonsense_is_passed_over():
    known = Compatible(environment={}).profile("openrouter/nobody/knows")
    extra = {
        "context_length": 131_072,
        "top_provider": {"max_completion_tokens": 8_192},
        "pricing": {"prompt": "0.0000025", "completion": "0.00001", "input_cache_read": "0.00000125"},
        "architecture": {"input_modalities": ["text", "image"]},
        "supported_parameters": ["tools", "seed", "temperature"],
    }
    found = listed_profile(known, extra)
    assert (found.window, found.output_limit, found.images, found.audio) == (131_072, 8_192, True, False)
    assert (found.tools, found.seed, found.logprobs) == (True, True, 0)
    assert found.prices == ModelPrices(input=Decimal("2.5"), output=Decimal(10), cached_read=Decimal("1.25"))
    nonsense = {
        "context_length": -1,
        "top_provider": 3,
        "pricing": {"prompt": "-1", "completion": "free"},
        "architecture": "big",
        "supported_parameters": "all",
    }
    assert listed_profile(known, nonsense) == known


EXPLICIT = {"mode": "explicit"}
BREAKPOINTS = tuple(Mark(message, block, EXPLICIT) for message, block in [(None, 1), (0, 0), (2, 0), (3, 0)])
WITH_TOOLS = (
    Message(Role.USER, (Text("a"),)),
    Message(Role.ASSISTANT, (ToolCall(id="c1", name="look", arguments={}),)),
    Message(Role.TOOL, (ToolResult(call_id="c1", content="blue"),)),
    Message(Role.USER, (Text("b"),)),
)


@covers("cache.openai-breakpoints")
def test_breakpoints_of_openai_are_on_parts_of_the_system_of_messages_and_of_results():
    asked = Request(
        model="gpt-5.6", messages=WITH_TOOLS, system=("One.", "Two."), cache=Controls(BREAKPOINTS)
    )
    system, first, call, result, last = body_of(replace(RESPONSES, model="gpt-5.6"), asked)["input"]
    part = {"type": "input_text", "prompt_cache_breakpoint": EXPLICIT}
    assert system == {
        "role": "developer",
        "content": [{"type": "input_text", "text": "One.\n\n"}, {**part, "text": "Two."}],
    }
    assert first == {"role": "user", "content": [{**part, "text": "a"}]}
    assert call["type"] == "function_call"
    assert result["output"] == [{**part, "text": "blue"}]
    assert last["content"] == [{**part, "text": "b"}]
    chat_part = {"type": "text", "prompt_cache_breakpoint": EXPLICIT}
    system, first, _, result, last = body_of(CHAT, replace(asked, model="gpt-4o"))["messages"]
    assert system["content"] == [{"type": "text", "text": "One.\n\n"}, {**chat_part, "text": "Two."}]
    assert [message["content"] for message in (first, result, last)] == [
        [{**chat_part, "text": text}] for text in ("a", "blue", "b")
    ]
