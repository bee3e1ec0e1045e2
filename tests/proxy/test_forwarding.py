"""Official clients against the proxy: what they get is what the upstream said."""

import base64
import contextlib
import hashlib
import http.client
import json
import threading
from urllib.parse import urlsplit

import anthropic
import openai
import pytest
from tests.covers import covers
from tests.proxy.proxied import OWNER_KEY, UPSTREAM_KEY, Proxied, proxied
from tests.proxy.upstreams import Answer

import weft
from weft.ids import system_clock
from weft.runtime.proxy.policy import SetProxyPolicy
from weft.runtime.proxy.sessions import ProxyRecords

TOOLS = [{"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf500f"
        "00038101805a34a36b0000000049454e44ae426082"
    )
).decode()
HELLO = [{"role": "user", "content": "hello"}]


class Scripted:
    """What the upstream answers next; each test sets it."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def __call__(self, body, number):
        del body
        return self.answers.pop(0) if self.answers else Answer(text=f"answer {number}")


@pytest.fixture(scope="module")
def script():
    return Scripted()


@pytest.fixture(scope="module")
def loom(tmp_path_factory):
    with weft.open(tmp_path_factory.mktemp("proxy") / "grove.db") as grove:
        yield grove


@pytest.fixture(scope="module")
def server(loom, script):
    with proxied(loom, script, body_limit=400_000) as proxy:
        yield proxy


@pytest.fixture
def proxy(server, script) -> Proxied:
    """A user and a token of its own for each test: nothing is linked across."""
    script.answers.clear()
    server.upstream.heard.clear()
    server.upstream.said.clear()
    server.upstream.released.clear()
    return server


@pytest.fixture
def token(loom, request):
    loom.users.add(request.node.name[:60], role="editor")
    return loom.users.issue(request.node.name[:60], label="laptop")


def trees_of(proxy, token):
    sessions = ProxyRecords(proxy.grove.caller).sessions()
    return [session for session in sessions if session.token == token[1].id]


class Clock:
    """A clock that can be set back: then nothing can be written."""

    back = False

    def __call__(self):
        return 1 if self.back else system_clock()


@contextlib.contextmanager
def clocked(path):
    clock = Clock()
    with weft.open(path, clock=clock) as grove:
        yield grove, clock


def raw(proxy, method, path, body=None, headers=None):
    parts = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


@covers("proxy.openai", "proxy.recorded-as-a-tree", "proxy.unchanged")
def test_a_chat_becomes_a_tree(proxy, token, loom):
    client = proxy.openai(token[0])
    history = list(HELLO)
    for turn in range(3):
        said = client.chat.completions.create(model="gpt-5", messages=history)
        assert said.choices[0].message.content == f"answer {turn + 1}"
        history += [said.choices[0].message, {"role": "user", "content": f"more {turn}"}]
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    tree = loom.tree(session.tree_id)
    path = [node.text for node in loom.read.path(tree.id, tree.leaves[0].id).nodes[1:]]
    assert path == ["hello", "answer 1", "more 0", "answer 2", "more 1", "answer 3"]
    heard = proxy.upstream.heard[0]
    assert heard.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    requests = ProxyRecords(loom.caller).requests(session.id)
    received = [each.received_sha256 for each in requests]
    assert received == [hashlib.sha256(each.body).hexdigest() for each in proxy.upstream.heard]
    assert session.client == "openai-python"


@covers("proxy.anthropic", "proxy.bytes-kept")
def test_a_streamed_message_with_tools_and_thinking(proxy, token, loom, script):
    script.answers = [
        Answer(text="let me look", thinking="hm", calls=[("toolu_1", "read", {"path": "a.py"})]),
        Answer(text="done"),
    ]
    client = proxy.anthropic(token[0])
    history = [{"role": "user", "content": "fix it"}]
    with client.messages.stream(model="claude-x", max_tokens=100, messages=history, tools=TOOLS) as stream:
        first = stream.get_final_message()
    assert [block.type for block in first.content] == ["thinking", "text", "tool_use"]
    results = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}]
    history += [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    second = client.messages.create(model="claude-x", max_tokens=100, messages=history, tools=TOOLS)
    assert second.content[0].text == "done"
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    tree = loom.tree(session.tree_id)
    path = loom.read.path(tree.id, tree.leaves[0].id).nodes
    assert [node.role.value for node in path[1:]] == ["user", "assistant", "tool", "assistant"]
    assert loom.evidence.request(tree.id, path[2].id) == proxy.upstream.heard[0].body
    response = loom.evidence.raw_response(tree.id, path[2].id)
    assert response is not None
    assert response.endswith(proxy.upstream.said[0])
    assert loom.verify().valid
    assert not any(token[0] in str(each.headers) for each in proxy.upstream.heard)


@covers("proxy.responses")
def test_responses_stream_and_continue_by_id(proxy, token, loom, script):
    script.answers = [Answer(text="ho", thinking="e"), Answer(text="again")]
    client = proxy.openai(token[0])
    with client.responses.stream(model="gpt-5", input="hi") as stream:
        first = stream.get_final_response()
    assert first.output_text == "ho"
    second = client.responses.create(model="gpt-5", input="more", previous_response_id=first.id)
    assert second.output_text == "again"
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    tree = loom.tree(session.tree_id)
    assert [node.text for node in loom.read.path(tree.id, tree.leaves[0].id).nodes[1:]] == [
        "hi",
        "ho",
        "more",
        "again",
    ]


@covers("proxy.completions")
def test_completions_streams_pictures_and_choices(proxy, token, loom, script):
    client = proxy.openai(token[0])
    script.answers = [Answer(text=" there")]
    assert client.completions.create(model="davinci", prompt="hello").choices[0].text == " there"
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    shown = [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, picture]}]
    both = client.chat.completions.create(model="gpt-5", messages=shown, n=2)
    assert len(both.choices) == 2
    script.answers = [Answer(text="streamed")]
    chunks = client.chat.completions.create(
        model="gpt-5", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    words = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(words) == "streamed"
    proxy.recorded()
    sessions = trees_of(proxy, token)
    assert len(sessions) == 3
    contents = {session.title: loom.tree(session.tree_id) for session in sessions}
    asked = contents["what is it?"].root.children[0]
    assert [block.__class__.__name__ for block in asked.content.blocks] == ["Text", "Image"]
    assert len(asked.children) == 2
    assert loom.verify().valid


@covers("proxy.byte-for-byte")
def test_a_stream_and_its_headers_are_passed_on_byte_for_byte(proxy, token):
    body = json.dumps({"model": "claude-x", "max_tokens": 5, "stream": True, "messages": HELLO})
    headers = {"x-api-key": token[0], "anthropic-beta": "a-2025,b", "anthropic-version": "2023-06-01"}
    answer, data = raw(proxy, "POST", "/v1/messages?beta=true", body, headers)
    assert data == proxy.upstream.said[0]
    assert answer.headers["request-id"] == "req_1"
    assert float(answer.headers["weft-added-ms"]) > 0
    assert answer.headers["weft-policy"] == "record"
    heard = proxy.upstream.heard[0]
    assert heard.path == "/v1/messages?beta=true"
    assert heard.headers["anthropic-beta"] == "a-2025,b"
    assert heard.body == body.encode()
    proxy.recorded()


@covers("proxy.errors")
def test_errors_have_the_shape_of_their_wire(proxy, token, script):
    script.answers = [Answer(status=529, message="overloaded"), Answer(status=429, message="slow down")]
    with pytest.raises(anthropic.APIStatusError, match="overloaded"):
        proxy.anthropic(token[0]).messages.create(model="claude-x", max_tokens=5, messages=HELLO)
    with pytest.raises(openai.RateLimitError):
        proxy.openai(token[0]).chat.completions.create(model="gpt-5", messages=HELLO)
    with pytest.raises(anthropic.AuthenticationError, match="not valid"):
        proxy.anthropic("weft_wrong").messages.create(model="claude-x", max_tokens=5, messages=HELLO)
    with pytest.raises(openai.AuthenticationError):
        proxy.openai("weft_wrong").chat.completions.create(model="gpt-5", messages=HELLO)
    with pytest.raises(openai.NotFoundError):
        proxy.openai(token[0]).embeddings.create(model="e", input="x")
    with pytest.raises(anthropic.RequestTooLargeError, match="larger than"):
        large = [{"role": "user", "content": "x" * 500_000}]
        proxy.anthropic(token[0]).messages.create(model="claude-x", max_tokens=5, messages=large)
    with pytest.raises(anthropic.BadRequestError, match="model is missing"):
        proxy.anthropic(token[0]).messages.create(model="", max_tokens=5, messages=HELLO)
    for path, key in (("/v1/messages", "type"), ("/v1/chat/completions", "error")):
        answer, data = raw(proxy, "POST", path, b"{", {"x-api-key": token[0]})
        assert (answer.status, key in json.loads(data)) == (400, True)
    proxy.recorded()


def test_a_reader_cannot_spend_through_the_proxy(proxy, loom):
    loom.users.add("only reads", role="reader")
    secret, _ = loom.users.issue("only reads")
    with pytest.raises(openai.PermissionDeniedError):
        proxy.openai(secret).chat.completions.create(model="gpt-5", messages=HELLO)
    assert proxy.upstream.heard == []


@covers("proxy.answers")
def test_models_heads_counts_and_upgrades_are_answered(proxy, token):
    assert [each.id for each in proxy.openai(token[0]).models.list()] == ["model-1", "lab/model-1"]
    assert [each.id for each in proxy.anthropic(token[0]).models.list()] == ["model-1", "lab/model-1"]
    assert proxy.openai(token[0]).models.retrieve("lab/model-1").id == "lab/model-1"
    counted = proxy.anthropic(token[0]).messages.count_tokens(model="claude-x", messages=HELLO)
    assert counted.input_tokens == 100
    for path in ("/", "/v1"):
        assert raw(proxy, "HEAD", path)[0].status == 204
    upgrade = {
        "authorization": f"Bearer {token[0]}",
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
    }
    assert raw(proxy, "GET", "/v1/responses", headers=upgrade)[0].status == 426
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    assert (session.requests, session.side_requests) == (1, 1)


@covers("proxy.upstream-by-model")
def test_the_name_of_the_model_chooses_the_upstream(proxy, token):
    client = proxy.openai(token[0])
    for name in ("lab:small/one", "lab/small/one", "compatible:lab/small/one"):
        said = client.chat.completions.with_raw_response.create(model=name, messages=HELLO)
        assert said.headers["weft-changed"] == "model"
    assert {each.json["model"] for each in proxy.upstream.heard} == {"small/one"}
    client.chat.completions.create(model="anthropic/claude", messages=HELLO)
    assert proxy.upstream.heard[-1].json["model"] == "claude"
    assert proxy.upstream.heard[-1].path == "/v1/chat/completions"
    proxy.recorded()


@covers("proxy.disconnect")
def test_what_was_streamed_to_a_client_that_left_is_kept(proxy, token, loom, script):
    script.answers = [Answer(text="word " * 50, holds_after=900)]
    client = proxy.anthropic(token[0])
    with client.messages.stream(model="claude-x", max_tokens=100, messages=HELLO) as stream:
        next(stream.text_stream)
    for _ in range(200):
        if trees_of(proxy, token):
            break
        threading.Event().wait(0.05)
    proxy.upstream.released.set()
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    (request,) = ProxyRecords(loom.caller).requests(session.id)
    assert request.error == "the client left"
    assert loom.node(request.reply).value.status == "interrupted"
    assert loom.node(request.reply).text.startswith("word")


def test_an_upstream_that_breaks_off_is_a_broken_stream_for_the_client(proxy, token, loom, script):
    script.answers = [Answer(text="word " * 50, breaks_after=900)]
    client = proxy.anthropic(token[0])
    broken = pytest.raises(Exception, match="incomplete|closed|peer|disconnect")
    with broken, client.messages.stream(model="claude-x", max_tokens=100, messages=HELLO) as stream:
        stream.get_final_message()
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    (request,) = ProxyRecords(loom.caller).requests(session.id)
    assert loom.node(request.reply).value.status == "interrupted"


@covers("proxy.strict")
def test_a_strict_token_forwards_nothing_that_is_not_recorded(proxy, token, loom, script):
    loom.perform(SetProxyPolicy(token=token[1].id, policy="strict"))
    client = proxy.openai(token[0])
    said = client.chat.completions.with_raw_response.create(model="gpt-5", messages=HELLO)
    assert said.headers["weft-policy"] == "strict"
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    assert session.requests == 1


def test_a_strict_token_refuses_what_it_cannot_record(tmp_path, script):
    with clocked(tmp_path / "strict.db") as (grove, clock), proxied(grove, script) as proxy:
        grove.perform(SetProxyPolicy(token="owner", policy="strict"))
        clock.back = True
        with pytest.raises(openai.APIStatusError, match="the clock says") as refused:
            proxy.openai().chat.completions.create(model="gpt-5", messages=HELLO)
        assert refused.value.status_code == 503
        assert proxy.upstream.heard == []


@covers("proxy.through-the-engine")
def test_a_fitted_request_is_kept_as_it_came_and_as_it_was_sent(proxy, token, loom):
    loom.proxy.set_policy(token[1].id, "fit", window=1_500)
    long = [
        {"role": role, "content": f"{turn} " + "word " * 200}
        for turn in range(10)
        for role in ("user", "assistant")
    ]
    client = proxy.openai(token[0])
    messages = [*long, {"role": "user", "content": "and now?"}]
    said = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=messages)
    assert said.headers["weft-changed"].startswith("cut")
    proxy.recorded()
    (session,) = trees_of(proxy, token)
    (request,) = loom.proxy.requests(session.id)
    assert request.changed == said.headers["weft-changed"]
    sent = proxy.upstream.heard[0]
    assert loom.evidence.request(request.tree_id, request.reply) == sent.body
    assert request.received_sha256 != hashlib.sha256(sent.body).hexdigest()
    assert len(loom.proxy.history(request.tree_id, request.node)) == 21
    with pytest.raises(openai.BadRequestError, match="prompt is too long"):
        system = {"role": "system", "content": "rule " * 3_000}
        client.chat.completions.create(model="gpt-4o", messages=[system, *messages])
    assert loom.verify().valid


def test_a_body_in_chunks_that_is_too_large_is_refused_in_the_wires_shape(proxy, token):
    parts = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    with contextlib.suppress(ConnectionError):
        connection.request(
            "POST",
            "/v1/messages",
            (b"x" * 50_000 for _ in range(12)),
            {"x-api-key": token[0]},
            encode_chunked=True,
        )
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["type"]) == (413, "error")
    connection.close()
    assert proxy.upstream.heard == []


@covers("proxy.spend-caps")
def test_spend_caps_apply(proxy, token, loom):
    client = proxy.openai(token[0])
    loom.generations.set_cap(0.000001)
    try:
        with pytest.raises(openai.APIStatusError, match="may cost") as refused:
            client.chat.completions.create(model="openai:gpt-4o", messages=HELLO)
        assert refused.value.status_code == 402
        assert proxy.upstream.heard == []
        loom.generations.set_cap(5)
        client.chat.completions.create(model="gpt-4o", messages=HELLO, max_tokens=10)
        proxy.recorded()
    finally:
        loom.generations.set_cap(None)
    (session,) = trees_of(proxy, token)
    assert loom.generations.spent().total > 0
    assert session.requests == 1


@covers("proxy.failure-shown")
def test_what_cannot_be_recorded_is_forwarded_and_shown(tmp_path, script):
    with clocked(tmp_path / "other.db") as (grove, clock), proxied(grove, script) as proxy:
        client = proxy.openai()
        clock.back = True
        assert client.chat.completions.create(model="gpt-5", messages=HELLO).choices
        proxy.app.state.proxy.recorder.wait()
        clock.back = False
        said = client.chat.completions.with_raw_response.create(model="gpt-5", messages=HELLO)
        assert said.headers["weft-not-recorded"] == "1"
        answer, data = raw(proxy, "GET", "/api/proxy", headers={"Authorization": f"Bearer {OWNER_KEY}"})
        assert answer.status == 200
        assert "the clock says" in json.loads(data)["notRecorded"][0]["error"]
