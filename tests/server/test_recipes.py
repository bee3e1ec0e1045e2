"""The two endpoints, as recorded, and what they say of bad input."""

import json

import pytest
from tests.covers import covers
from tests.recipes.loading import index_of, load
from tests.recorded import label, rows

from weft.errors import InvalidInputError
from weft.runtime.records import group_index as operations

RUN = "/context/topicContextYoj/run"
INDEX = "/jobs/context/collapse/indexer/run"
STATE = "/context/collapse/state/set"
REMOVE = "/context/collapse/indexer/remove"
END = 1_700_000_000
SEG = {"kind": "SegKala", "sessionId": "s", "end": END, "windowSeconds": 3_600}


def of_user(documents, user):
    return {path.replace("users/u1/", f"users/{user}/"): each for path, each in documents.items()}


@covers("endpoint.run", "filter.recorded-examples")
@pytest.mark.parametrize("row", rows("router"), ids=label)
def test_the_first_endpoint_answers_as_recorded(loom, ask, row, request):
    user = request.node.name
    load(loom, of_user(row["store"], user))
    answer = ask("service").post(RUN, {**row["input"], "userId": user})
    assert answer.status_code == row["output"]["status"]
    if answer.status_code == 200:
        assert answer.json() == row["output"]["json"]
    else:
        assert row["output"]["json"]["error"] in answer.json()["error"]
        assert answer.json()["path"]


@covers("endpoint.indexer", "filter.recorded-examples")
@pytest.mark.parametrize("row", rows("collapseIndexer"), ids=label)
def test_the_second_endpoint_answers_as_recorded(loom, ask, row, request, monkeypatch):
    user = request.node.name
    monkeypatch.setattr(operations, "_seconds", lambda scope: row["now"])
    load(loom, of_user(row["store"], user))
    path = STATE if row["filter"] == "collapseState" else INDEX
    answer = ask("service").post(path, {**row["input"], "userId": user})
    assert answer.status_code == row["output"]["status"]
    found = {name: answer.json()[name] for name in row["output"]["json"]}
    assert found == row["output"]["json"]
    expected = of_user(row["output"]["store"], user)
    mine = {path: each for path, each in index_of(loom).items() if f"users/{user}/" in path}
    assert mine == {path: each for path, each in expected.items() if "/indexes/" in path}


@covers("endpoint.run", "filter.recorded-examples")
@pytest.mark.parametrize("row", rows("pipeline"), ids=label)
def test_recorded_pipelines_are_the_same_through_http(loom, ask, row, request):
    """Their messages as records of a session, in their order."""
    user = request.node.name
    ids = [message.get("docId") if isinstance(message, dict) else None for message in row["input"]]
    if len(set(ids)) < len(ids) or None in ids:
        ids = [f"x{number:04}" for number in range(len(ids))]
    documents = {
        f"users/u1/convo.sessions/s1/messages/{name}": {"create_time": 1 + number, "value": message}
        for number, (name, message) in enumerate(zip(ids, row["input"], strict=True))
    }
    load(loom, of_user(documents | row["store"], user))
    body = {
        "kala": {"kind": "SegKala", "sessionId": "s1", "end": 10_000, "windowSeconds": 20_000},
        "model": {"components": [{"kind": "yoj", "name": "messages"}], "filters": row["filters"]},
    }
    answer = ask("service").post(RUN, {**body, "userId": user})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"yoj": json.loads(json.dumps(row["output"]))}


@covers("endpoint.bad-input", "filter.options-checked")
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "kala.kind"),
        ({"kala": {"kind": "SegKala", "end": 1, "windowSeconds": 1}}, "kala.sessionId"),
        ({"kala": {**SEG, "end": "soon"}}, "kala.end"),
        ({"kala": SEG, "presetId": "none"}, "presetId"),
        ({"kala": SEG, "model": {"components": [{"kind": "yoj"}]}}, "model.components[0].name"),
        (
            {"kala": SEG, "model": {"components": [{"kind": "yoj", "name": "a", "children": [1, 2]}]}},
            "model.components[0][children][0]",
        ),
        (
            {
                "kala": SEG,
                "model": {"components": [{"kind": "yoj", "name": "a", "children": [{"kind": "x"}]}]},
            },
            "model.components[0][children][0].kind",
        ),
        ({"kala": SEG, "model": {"filters": ["sizeLimiter", "nothing"]}}, "model.filters[1]"),
        ({"kala": SEG, "model": {"filters": 5}}, "model.filters"),
        ({"kala": SEG, "onFilterError": "maybe"}, "onFilterError"),
        ({"kala": {"kind": "DayKala"}}, "kala.kind"),
        ({"kala": {"kind": "Topic"}}, "kala.topicId"),
        ({"kala": SEG, "model": {"intro": {"system": 5}}}, "model.intro.system"),
        (
            {"kala": SEG, "model": {"components": [{"kind": "yoj", "name": "a", "framing": []}]}},
            "model.components[0].framing",
        ),
        *(
            (
                {
                    "kala": SEG,
                    "onFilterError": mode,
                    "model": {"filters": [{"name": name, "options": options}]},
                },
                f"model.filters[0].{path}",
            )
            for mode in ("fail", "skip")
            for name, options, path in [
                ("sizeLimiter", {"maxTokens": "many"}, "options.maxTokens"),
                ("sizeLimiter", {"maxTokens": None}, "options.maxTokens"),
                ("sizeLimiter", {"maxtokens": 5}, "options.maxtokens"),
                ("sizeLimiter", {"prioritizeUser": 1}, "options.prioritizeUser"),
                ("sizeLimiter", {"tokenizer": "words"}, "options.tokenizer"),
                ("toolCallBackfill", {"missingContent": 5}, "options.missingContent"),
                ("toolCallBackfill", {"orphanRole": []}, "options.orphanRole"),
                ("fileContentsLimiter", {"filesLimit": "2"}, "options.filesLimit"),
                ("dropToolCallsCompleted", {"phrase": True}, "options.phrase"),
                ("collapseGroupReplacer", {"limit": 5}, "options.limit"),
                ("repair", {"prefill": "yes"}, "options.prefill"),
                ("fit", {}, "options.limit"),
                ("fit", {"limit": 500, "truncationStep": 5}, "options.truncationStep"),
                ("fit", {"limit": 500, "truncationStrategy": "none"}, "options.truncationStrategy"),
                ("toolResultMasker", {"maskAbove": -1}, "options.maskAbove"),
                ("sizeLimiter", "x", "options"),
            ]
        ),
        ({"kala": SEG, "projectId": 5}, "projectId"),
        ({"kala": {"kind": "Path", "treeId": "T"}, "presetId": "dialogue"}, "kala.nodeId"),
    ],
)
def test_bad_input_is_a_400_with_the_path_of_the_field(owner, body, path):
    answer = owner.post(RUN, body)
    assert (answer.status_code, answer.json().get("path")) == (400, path), answer.text
    assert answer.json()["code"] == "INVALID_INPUT"


@covers("endpoint.bad-input")
@pytest.mark.parametrize("name", ["\ud83d", "a\x00b"], ids=["half", "nul"])
def test_what_no_database_can_keep_is_refused_where_it_names_something(ask, name):
    asker = ask("service")
    week = {"kind": "SegKala", "sessionId": name, "end": 1, "windowSeconds": 1}
    group = {"name": "g", "items": [{"type": "message", "id": name}]}
    index = {"userId": "u", "sessionId": "s", "responseId": "r", "groups": [group]}
    for path, body, field in [
        (RUN, {"userId": "u", "kala": week}, "kala.sessionId"),
        (RUN, {"userId": "u", "kala": {"kind": "Topic", "topicId": name}}, "kala.topicId"),
        (RUN, {"userId": "u", "kala": {"kind": "Path", "treeId": name, "nodeId": "n"}}, "kala.treeId"),
        (RUN, {"userId": name, "kala": SEG}, "userId"),
        (INDEX, index, "groups"),
        (INDEX, {**index, "sessionId": name}, "sessionId"),
        (INDEX, {**index, "responseId": name}, "responseId"),
        (STATE, {"userId": "u", "sessionId": name, "group": "g", "expanded": True}, "sessionId"),
        (REMOVE, {"userId": "u", "sessionId": "s", "responseId": name}, "responseId"),
    ]:
        answer = asker.post(path, content=json.dumps(body))
        assert (answer.status_code, answer.json().get("path")) == (400, field), answer.text


@covers("endpoint.run", "recipe.streams")
@pytest.mark.parametrize("name", ["\ud83d", "a\x00b"], ids=["half", "nul"])
def test_what_cannot_be_kept_is_not_found(loom, ask, request, name):
    user = request.node.name
    said = {"role": "user", "content": "x", "id": name}
    loom.records.append("messages", said, user=user, session="s", create_time=END)
    components = [{"kind": "yoj", "name": each} for each in (name, "messages")]
    model = {"components": components, "filters": ["collapseGroupReplacer"]}
    for more in ({}, {"projectId": name}):
        body = {"userId": user, "kala": SEG, "model": model, **more}
        answer = ask("service").post(RUN, content=json.dumps(body))
        assert answer.json() == {"yoj": [said]}
    for argument in (
        {"stream": name},
        {"stream": "messages", "after": name},
        {"stream": "messages", "user": name},
    ):
        with pytest.raises(InvalidInputError, match="NUL|surrogate"):
            loom.records.list(**argument)
    if name.isascii():
        listed = {"name": name, "userId": user, "sessionId": "s"}
        assert ask("service").get("/api/records", params=listed).status_code == 400


@covers("endpoint.run", "kala.weeks-and-terms")
@pytest.mark.parametrize(
    "kala",
    [
        {"kind": "SegKala", "sessionId": "s", "end": 1e308, "windowSeconds": -1e308},
        {"kind": "SessionKala", "sessionId": "s", "sessionEnd": -1e308},
        {"kind": "SessionKala", "sessionId": "s", "sessionEnd": 1.7976931348623157e308},
        {"kind": "SessionKala", "sessionId": "s", "sessionEnd": 10**30},
        {"kind": "WeekKala", "weekEnd": -(10**30)},
    ],
)
def test_moments_far_beyond_all_records_are_moments(ask, kala):
    model = {"promoteUpstream": True, "components": [{"kind": "yoj", "name": "summaries"}], "filters": []}
    answer = ask("service").post(RUN, {"userId": "u", "kala": kala, "model": model})
    assert answer.json() == {"yoj": []}
    endless = {"kind": "WeekKala", "weekEnd": 10**400}
    refused = ask("service").post(RUN, {"userId": "u", "kala": endless, "model": model})
    assert (refused.status_code, refused.json()["path"]) == (400, "kala.weekEnd")


@covers("endpoint.bad-input")
def test_limits_are_named_with_what_was_got(owner):
    many = [{"kind": "literal", "value": "x"}] * 129
    told = owner.post(RUN, {"kala": SEG, "model": {"components": many}}).json()
    assert (told["path"], told["limit"], told["got"]) == ("model.components[128]", 128, 129)


@covers("endpoint.bad-input")
@pytest.mark.parametrize("body", [b"{", b"[]", b"5", b'"x"', b"\xff\xfe", b"NaN", b"[" * 50_000])
def test_a_body_that_is_no_object_is_a_400(owner, body):
    for path in (RUN, INDEX, STATE, "/api/records", "/api/trees"):
        answer = owner.post(path, content=body)
        assert answer.status_code == 400, (path, answer.text)
        assert answer.json()["code"] == "INVALID_INPUT"


@covers("endpoint.bad-input", "endpoint.indexer")
@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (INDEX, {"responseId": "r"}, "sessionId"),
        (INDEX, {"sessionId": "s"}, "groups"),
        (INDEX, {"sessionId": "s", "groups": {}}, "groups"),
        (INDEX, {"sessionId": "s", "responseId": "no such"}, "responseId"),
        (STATE, {"sessionId": "s", "group": "g", "expanded": "yes"}, "expanded"),
        (STATE, {"sessionId": "s", "group": "日", "expanded": True}, "group"),
    ],
)
def test_the_index_says_what_is_not_ok(owner, path, body, field):
    answer = owner.post(path, body)
    told = answer.json()
    assert (answer.status_code, told["ok"], told["path"]) == (400, False, field)


@covers("endpoint.missing-user")
def test_a_missing_user_is_a_401(ask, owner):
    body = {"kala": SEG}
    for path in (RUN, INDEX, STATE):
        assert ask(None).post(path, body).status_code == 401
        assert ask("service").post(path, body).status_code == 401
    assert ask(None).post(INDEX, {}).json().get("error")
    assert ask("ada").post(RUN, body).status_code == 200
    assert owner.post(RUN, body).status_code == 200


@covers("endpoint.missing-user", "recipe.streams-by-user")
def test_the_user_is_the_tokens_own_and_only_services_name_another(loom, ask):
    for user in ("ada", "bob"):
        loom.records.append("summaries", user, user=user, session="own", create_time=END)
    kala = {**SEG, "sessionId": "own"}
    body = {"kala": kala, "model": {"filters": [], "components": [{"kind": "yoj", "name": "summaries"}]}}

    def read(who, **more):
        answer = ask(who).post(RUN, body, **more)
        return (
            [each["content"] for each in answer.json()["yoj"]]
            if answer.status_code == 200
            else answer.status_code
        )

    assert read("ada") == ['(Convo) "ada"']
    assert read("bob") == ['(Convo) "bob"']
    assert ask("ada").post(RUN, {**body, "userId": "ada"}).status_code == 200
    assert ask("ada").post(RUN, {**body, "userId": "bob"}).status_code == 403
    assert ask("service").post(RUN, {**body, "userId": "bob"}).json()["yoj"][0]["content"] == '(Convo) "bob"'
    assert read("service", headers={"X-User-Id": "ada"}) == ['(Convo) "ada"']
    assert ask("service").post(f"{RUN}?userId=ada", body).status_code == 200
    assert ask("service").post(RUN, {**body, "userId": 5}).status_code == 401
    assert read("eve") == 403


@covers("filter.everything-in-the-manifest")
def test_a_recipe_is_explained_with_its_manifest(loom, owner):
    tree = loom.plant("Explained", "Can we cross?")
    kala = {"kind": "Path", "treeId": tree.id, "nodeId": tree.root.id}
    told = owner.post("/api/recipes/run", {"kala": kala, "presetId": "dialogue"}).json()
    assert told["messages"] == [{"role": "user", "content": "Can we cross?"}]
    assert {entry["kind"] for entry in told["manifest"]["entries"]} >= {"source", "node", "message"}
    assert told["steps"] == []


def test_an_asynchronous_filter_is_waited_for_in_its_thread(loom, owner, monkeypatch):
    import anyio

    from weft.context.recipes.filters import base as registry

    async def late(messages, options, context):
        await anyio.lowlevel.checkpoint()
        return [*messages, {"role": "user", "content": "late"}]

    monkeypatch.setitem(registry.installed_filters()._given, "late", late)
    body = {"kala": SEG, "model": {"components": [], "filters": ["late"]}}
    assert owner.post(RUN, body).json() == {"yoj": [{"role": "user", "content": "late"}]}


def test_half_a_character_comes_back_as_an_escape(loom, owner):
    loom.records.append("messages", {"role": "user", "content": "\ud83d"}, session="half", create_time=END)
    body = {
        "kala": {**SEG, "sessionId": "half"},
        "model": {"filters": [], "components": [{"kind": "yoj", "name": "messages"}]},
    }
    answer = owner.post(RUN, body)
    assert b"\\ud83d" in answer.content
    assert answer.json()["yoj"][0]["content"] == "\ud83d"


@covers("collapse.removal", "endpoint.indexer")
def test_what_a_response_collapsed_is_taken_out_again_over_http(loom, ask, request):
    user, asker = request.node.name, ask("service")
    group = {"name": "the fog", "items": [{"type": "message", "id": "m1"}]}
    body = {"userId": user, "sessionId": "s", "responseId": "r1"}
    assert asker.post(INDEX, {**body, "groups": [group]}).json()["ok"]
    assert asker.post(REMOVE, body).json() == {"ok": True, "removed_groups": 1}
    assert not [path for path in index_of(loom) if f"users/{user}/" in path]
    assert asker.post(REMOVE, body).json() == {"ok": True, "removed_groups": 0}
    for name in ("sessionId", "responseId"):
        refused = asker.post(REMOVE, {key: value for key, value in body.items() if key != name})
        assert (refused.status_code, refused.json()["ok"], refused.json()["path"]) == (400, False, name)
