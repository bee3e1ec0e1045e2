"""Records, groups and recipes over a real grove, on both stores."""

import json

import pytest
from tests.covers import covers
from tests.events.listening import told
from tests.recipes.loading import contents, index_of, load, path_recipe, yoj
from tests.recorded import label, rows
from tests.soundness import check_sound
from tests.statements import statements

import weft
from weft.context.recipes.collapsed_groups import GroupParts
from weft.context.recipes.record_streams import week_end
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.runtime.records import group_index as operations
from weft.runtime.records.group_index import StoredGroups
from weft.store import schema
from weft.tree.record import RecordDraft, RecordPlace

END = 1_700_000_000
SEG = {"kind": "SegKala", "sessionId": "s", "end": END, "windowSeconds": 3_600}


def recipe(*components, kala=SEG, **model):
    return {"kala": kala, "model": {"filters": [], "components": list(components), **model}}


@pytest.fixture
def user(request):
    """Somebody of the test's own: groves are shared."""
    return request.node.name[:150]


@covers("filter.recorded-examples", "recipe.recorded-examples", "recipe.streams")
@pytest.mark.parametrize("row", rows("router"), ids=label)
def test_a_recorded_recipe_gives_the_same_over_a_grove(loom, row, user):
    body = row["input"]
    documents = {path.replace("users/u1/", f"users/{user}/"): each for path, each in row["store"].items()}
    load(loom, documents)
    if row["output"]["status"] == 200:
        assert {"yoj": loom.recipes.run(body, user=user).messages} == row["output"]["json"]
    else:
        with pytest.raises(InvalidInputError) as caught:
            loom.recipes.run(body, user=user)
        assert row["output"]["json"]["error"] in caught.value.message


@covers("recipe.streams-by-user")
def test_a_recipe_may_say_itself_whose_records_it_is_about(loom, user):
    place = {"session": "s", "create_time": END}
    loom.records.append("summaries", "mine", user=user, **place)
    loom.records.append("summaries", "of a project", user=user, project="p", **place)
    body = recipe(yoj("summaries"))
    assert contents(loom.recipes.run({**body, "userId": user})) == ['(Convo) "mine"']
    named = {**body, "userId": user, "projectId": "p"}
    assert contents(loom.recipes.run(named)) == ['(Convo) "of a project"']
    assert contents(loom.recipes.run({**named, "userId": "nobody here"}, user=user)) == [
        '(Convo) "of a project"'
    ]
    for field in ("userId", "projectId"):
        with pytest.raises(InvalidInputError) as caught:
            loom.recipes.run({**body, field: 5})
        assert caught.value.path == field


@covers("filter.recorded-examples", "collapse.recorded-examples", "endpoint.indexer-names")
@pytest.mark.parametrize("row", rows("collapseIndexer"), ids=label)
def test_a_recorded_index_is_the_same_in_a_grove(fresh_loom, row, monkeypatch):
    grove = fresh_loom
    monkeypatch.setattr(operations, "_seconds", lambda scope: row["now"])
    load(grove, row["store"])
    expected = row["output"]
    act = grove.groups.set_state if row["filter"] == "collapseState" else grove.groups.index
    if expected["status"] == 200:
        assert act(row["input"], user=row["userId"]) == expected["json"]
        before = index_of(grove)
        act(row["input"], user=row["userId"])
        assert index_of(grove) == before
    else:
        with pytest.raises(InvalidInputError, match=expected["json"]["error"]):
            act(row["input"], user=row["userId"])
    assert index_of(grove) == {path: each for path, each in expected["store"].items() if "/indexes/" in path}


@covers("filter.recorded-examples")
@pytest.mark.parametrize("row", rows("pipeline") + rows("collapseGroupReplacer"), ids=label)
def test_recorded_pipelines_read_their_groups_from_a_grove(loom, row, user):
    from weft.context.recipes import apply_filters

    context = row["ctx"] | ({"userId": user} if "userId" in row["ctx"] else {"sessionId": user})
    documents = {}
    for path, each in row["store"].items():
        parts = path.split("/")
        parts[1] = user
        if parts[0] == "users" and row["ctx"].get("userId") != path.split("/")[1]:
            parts[1] = user + " other"
        documents["/".join(parts)] = each
    load(loom, documents)
    filters = row.get("filters") or [{"name": row["filter"], "options": row["options"]}]
    with loom.read.store.read() as session:
        found = apply_filters(row["input"], filters, {**context, "store": StoredGroups(session)})
    assert found == row["output"]


@covers("endpoint.records", "kala.range-bounds")
def test_records_are_listed_by_time_after_their_begin_up_to_their_end(loom, user):
    for name, time in [("over", 11), ("end", 10), ("b", 5), ("a", 5), ("begin", 4), ("c", 4.5)]:
        loom.records.append("notes", name, user=user, session="s", id=name, create_time=time)
    place = {"user": user, "session": "s"}
    found = loom.records.list("notes", begin=4, end=10, **place)
    assert [record.value for record in found] == ["c", "a", "b", "end"]
    assert [(record.user, record.session, record.stream) for record in found] == [(user, "s", "notes")] * 4
    newest = loom.records.list("notes", limit=2, newest=True, **place)
    assert [record.id for record in newest] == ["over", "end"]
    more = loom.records.list("notes", limit=2, newest=True, after="end", **place)
    assert [record.id for record in more] == ["b", "a"]
    assert [each.id for each in loom.records.list("notes", after="a", limit=2, **place)] == ["b", "end"]
    assert loom.records.list("notes", after="nothing", **place) == []
    for other in ({"user": user}, {"session": "s"}, {**place, "project": "p"}, {"user": user, "topic": "s"}):
        assert loom.records.list("notes", **other) == []
    (stream,) = loom.records.streams(user=user)
    assert (stream.records, stream.first, stream.last) == (6, 4, 11)


@covers("endpoint.records", "records.appended-once")
def test_the_same_record_again_changes_nothing_and_another_is_a_conflict(loom, user):
    first = loom.records.append("notes", {"n": 1}, user=user, id="a", create_time=1)
    events = loom.history(limit=1)
    assert loom.records.append("notes", {"n": 1}, user=user, id="a", create_time=1) == first
    assert loom.records.append("notes", {"n": 1}, user=user, id="a") == first
    assert loom.history(limit=1) == events
    with pytest.raises(ConflictError, match="'notes' has another record 'a'"):
        loom.records.append("notes", {"n": 2}, user=user, id="a", create_time=1)
    with pytest.raises(ConflictError):
        place = RecordPlace(stream="notes", user=user)
        drafts = [RecordDraft(place=place, document={"value": n}, id=i) for n, i in [(5, "b"), (2, "a")]]
        loom.records.append_all(drafts)
    assert [record.id for record in loom.records.list("notes", user=user)] == ["a"]


@covers("records.exact")
@pytest.mark.parametrize(
    "value",
    [None, True, 0, -0.5, 1e300, 2**70, "", "\x00 \ud83d \u2028 é😀", [], {"10": 1, "2": [{}], "": None}],
)
def test_what_is_kept_comes_back_as_it_was(loom, user, value):
    loom.records.append("notes", value, user=user, create_time=1, more={"cost": None, "create_time": 9})
    (found,) = loom.records.list("notes", user=user)
    assert json.dumps(found.document) == json.dumps({"create_time": 1, "cost": None, "value": value})


@covers("records.checked")
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"stream": ""}, "records[0].name"),
        ({"stream": "x" * 201}, None),
        ({"session": "\x00"}, "records[0].sessionId"),
        ({"user": "\ud83d"}, "records[0].userId"),
        ({"id": ""}, "records[0].id"),
        ({"session": "s", "topic": "t"}, "records[0].topicId"),
        ({"create_time": float("nan")}, "records[0].createTime"),
        ({"value": float("inf")}, "records[0].document"),
        ({"value": object()}, "records[0].document"),
    ],
)
def test_a_record_that_could_not_be_found_again_is_refused(loom, fields, path):
    given = {"stream": "notes", "value": 1, "user": "nobody"} | fields
    with pytest.raises((InvalidInputError, LimitExceededError)) as caught:
        loom.records.append(given.pop("stream"), given.pop("value"), **given)
    assert path is None or caught.value.path == path
    assert loom.records.streams(user="nobody") == []


def test_no_more_than_a_thousand_are_appended_at_once(loom, user):
    drafts = [RecordDraft(place=RecordPlace(stream="many", user=user), document={"value": 1})] * 1_001
    with pytest.raises(LimitExceededError, match="1,001 records"):
        loom.records.append_all(drafts)
    assert len(loom.records.append_in_parts(drafts)) == 1_001
    assert loom.records.append_all([]) == []


@covers("records.undone")
def test_appending_is_undone_and_redone(fresh_loom):
    grove = fresh_loom
    grove.records.append("messages", {"role": "user", "content": "hi"}, session="s", create_time=END)
    run = recipe(yoj("messages"))
    assert contents(grove.recipes.run(run)) == ["hi"]
    grove.undo()
    assert grove.records.streams() == []
    assert grove.recipes.run(run).messages == []
    check_sound(grove)
    grove.redo()
    assert contents(grove.recipes.run(run)) == ["hi"]
    check_sound(grove)


@pytest.mark.outer
@covers("records.destroyed")
def test_destroyed_records_leave_nothing_behind(fresh_loom):
    grove = fresh_loom
    for name in ("a", "b"):
        grove.records.append("notes", f"secret {name}", user="ada", session="s", id=name)
    grove.records.append("notes", "kept", user="bob", session="s")
    grove.groups.index({"sessionId": "s", "groups": [{"name": "g"}]}, user="ada")
    place = {"user": "ada", "session": "s"}
    with pytest.raises(InvalidInputError, match="destroying 2 records cannot be undone") as caught:
        grove.records.delete(place, confirm=1)
    assert caught.value.hint == "pass confirm=2"
    with pytest.raises(InvalidInputError, match="say which"):
        grove.records.delete({}, confirm=3)
    with pytest.raises(NotFoundError):
        grove.records.delete({"user": "eve"}, confirm=0)
    assert grove.records.delete(place, ["a"], confirm=1) == 1
    assert index_of(grove)
    assert grove.records.count(place) == 1
    assert grove.records.delete(place, confirm=1) == 1
    assert index_of(grove) == {}
    with grove.read.store.read() as session:
        for table in schema.metadata.sorted_tables:
            assert "secret" not in str(session.execute(table.select()).all())
    check_sound(grove)
    with pytest.raises(ConflictError, match="deleting records cannot be undone"):
        grove.undo()


@covers("recipe.streams-by-user", "recipe.streams")
def test_a_stream_is_of_the_project_then_of_the_user_then_of_nobody(loom, user):
    session = f"{user} s"
    kala = {**SEG, "sessionId": session}

    def read(project=None, who=user):
        found = loom.recipes.run(recipe(yoj("summaries"), kala=kala), user=who, project=project)
        return [json.loads(each.removeprefix("(Convo) ")) for each in contents(found)]

    loom.records.append("summaries", "nobody's", session=session, create_time=END)
    assert read() == read("p") == read(who=None) == ["nobody's"]
    loom.records.append("summaries", "mine", user=user, session=session, create_time=END)
    assert read() == read("p") == ["mine"]
    loom.records.append("summaries", "p's", user=user, project="p", session=session, create_time=END)
    assert (read(), read("p"), read("q"), read(who=None)) == (["mine"], ["p's"], ["mine"], ["nobody's"])


@covers("records.fallback")
def test_a_list_falls_back_as_recipes_do_where_that_is_requested(loom, user):
    session = f"listed {user}"
    loom.records.append("notes", "nobody's", session=session, create_time=END)

    def listed(project=None, **options):
        found = loom.records.list("notes", user=user, project=project, session=session, **options)
        return [record.document["value"] for record in found]

    assert (listed(), listed(fallback=True), listed("p", fallback=True)) == ([], ["nobody's"], ["nobody's"])
    loom.records.append("notes", "mine", user=user, session=session, create_time=END)
    assert (listed(fallback=True), listed("p"), listed("p", fallback=True)) == (["mine"], [], ["mine"])
    loom.records.append("notes", "p's", user=user, project="p", session=session, create_time=END)
    assert (listed("p", fallback=True), listed("q", fallback=True)) == (["p's"], ["mine"])
    assert listed("p", fallback=True, begin=END) == []  # the stream is chosen, then its window is read


@covers("kala.topic", "kala.week", "kala.term", "recipe.topic-context")
def test_the_topic_context_is_made_of_a_grove(loom, user):
    records = loom.records
    week = week_end(END)
    records.append("log.sessions.summaries", {"w": 1}, user=user, create_time=week)
    records.append("summaries", {"s": 1}, user=user, session="s", create_time=END)
    records.append("messages", {"role": "user", "content": "hello"}, user=user, session="s", create_time=END)
    found = loom.recipes.run({"kala": SEG, "presetId": "TopicContext"}, user=user)
    assert [(message["role"], message["content"]) for message in found.messages][1:] == [
        ("system", '(Week) Previous convo summaries:\r{"w":1}'),
        ("system", '(Session) Previous convo summaries:\r{"s":1}'),
        ("system", '(Convo) Previous convo summaries:\r{"s":1}'),
        ("user", "hello"),
    ]
    records.append("messages", {"role": "user", "content": "on it"}, user=user, topic="t")
    kala = {"kind": "Topic", "topicId": "t"}
    assert contents(loom.recipes.run(recipe(yoj("messages"), kala=kala), user=user)) == ["on it"]
    framed = loom.recipes.run({"kala": kala, "presetId": "TopicContext"}, user=user)
    assert contents(framed)[1:] == ["Summary of older conversation messages:\ron it"]


@covers("filter.collapse-newest-wins")
def test_of_groups_that_come_within_a_second_the_later_one_has_the_message(loom, user):
    said = {"role": "user", "content": "0"}
    loom.records.append("messages", said, user=user, session="s", id="m0", create_time=END)
    run = {**recipe(yoj("messages"), filters=["collapseGroupReplacer"]), "includeDocId": True}
    for name in "BACA":
        group = {"name": name, "items": [{"type": "message", "id": "m0"}]}
        loom.groups.index({"sessionId": "s", "responseId": "r", "groups": [group]}, user=user)
        (shown,) = contents(loom.recipes.run(run, user=user))
        assert json.loads(shown)["name"] == name


@covers("filter.collapse-description-shapes", "endpoint.indexer-idempotent", "collapse.removal")
def test_groups_are_made_opened_and_taken_away_by_their_responses(loom, user):
    for number in range(3):
        said = {"role": "user", "content": str(number)}
        place = {"user": user, "session": "s", "id": f"m{number}", "create_time": END + number - 3}
        loom.records.append("messages", said, **place)
    items = [{"type": "message", "id": "m0"}, {"type": "message", "id": "m1"}]
    group = {"name": "The fog", "params": {"description": "about fog"}, "items": items}
    loom.records.append("collapsed", {"groups": [group]}, user=user, session="s", id="r1")
    run = {**recipe(yoj("messages"), filters=["collapseGroupReplacer"]), "includeDocId": True}

    def shown():
        return [each.get("docId", "placeholder") for each in loom.recipes.run(run, user=user).messages]

    assert shown() == ["m0", "m1", "m2"]
    answer = loom.groups.index({"sessionId": "s", "responseId": "r1"}, user=user)
    assert answer == {"ok": True, "indexed_groups": 1, "indexed_messages": 2, "batches": 1}
    assert shown() == ["placeholder", "m2"]
    placeholder = json.loads(loom.recipes.run(run, user=user).messages[0]["content"])
    assert placeholder == {
        "type": "collapsed_group",
        "name": "THE_FOG",
        "responseId": "r1",
        "description": "about fog",
        "items": items,
    }
    loom.groups.set_state({"sessionId": "s", "group": "the fog", "expanded": True}, user=user)
    assert shown() == ["m0", "m1", "m2"]
    loom.groups.set_state({"sessionId": "s", "group": "the fog", "expanded": False}, user=user)
    more = [{"name": "the fog", "items": items[:1]}, {"name": "other", "items": items[1:]}]
    loom.groups.index({"sessionId": "s", "responseId": "r2", "groups": more}, user=user)
    with loom.read.store.read() as session:
        from weft.context.recipes.collapsed_groups import GroupScope

        scope = GroupScope(session_id="s", user_id=user)
        owner = StoredGroups(session).documents(scope, GroupParts.GROUP_TO_RESPONSE, ["THE_FOG"])
        assert owner["THE_FOG"]["responseId"] == "r2"
    assert loom.groups.remove("s", "r1", user=user) == {"ok": True, "removed_groups": 1}
    assert loom.groups.remove("s", "r2", user=user) == {"ok": True, "removed_groups": 2}
    assert shown() == ["m0", "m1", "m2"]
    assert not [path for path in index_of(loom) if user in path]


@covers("collapse.recorded-in-events")
def test_every_change_of_the_index_is_in_the_log_and_undo_passes_over_it(fresh_loom):
    loom = fresh_loom
    loom.records.append("notes", 1)
    body = {
        "sessionId": "s",
        "responseId": "r",
        "groups": [{"name": "CANARY", "items": [{"type": "message", "id": "m"}]}],
    }
    loom.groups.index(body)
    loom.groups.set_state({"sessionId": "s", "group": "CANARY", "expanded": True})
    loom.groups.remove("s", "r")
    before = len(told(loom).events)
    assert loom.groups.remove("s", "r") == {"ok": True, "removed_groups": 0}
    events = told(loom).events
    assert len(events) == before
    assert [event.kind for event in events][-4:] == ["record", "index-groups", "open-group", "forget-groups"]
    assert "CANARY" not in "".join(str(event.payload) for event in events)
    check_sound(loom)
    loom.undo()
    assert loom.records.list("notes") == []


@pytest.mark.outer
@covers("endpoint.indexer-batches")
def test_a_thousand_messages_are_indexed_in_batches_of_four_hundred_or_not_at_all(loom, user):
    items = [{"type": "message", "id": f"m{number}"} for number in range(1_000)]
    body = {"sessionId": "s", "responseId": "r", "groups": [{"name": "g", "items": items}]}
    assert loom.groups.index(body, user=user)["batches"] == 3
    mine = [path for path in index_of(loom) if f"users/{user}/" in path]
    assert len(mine) == 1_002
    bad = {**body, "groups": [{"name": "h", "items": [*items, {"type": "message", "id": "\x00"}]}]}
    with pytest.raises(InvalidInputError):
        loom.groups.index(bad, user=user)
    assert [path for path in index_of(loom) if f"users/{user}/" in path] == mine


@covers("records.windows-by-index")
def test_a_window_is_read_by_its_index(loom, user):
    loom.records.append("notes", 1, user=user, session="s", create_time=1)
    with statements(loom.read.store, mine=True) as heard:
        loom.recipes.run(recipe(yoj("notes")), user=user)
    (window,) = [each for each in heard if "create_time" in each]
    with loom.read.store.read() as session:
        driver = session.driver
        if session.dialect.counts_events:
            values = ("x", "", "s", "", "notes", 0.0, 9.0, 5, 0)[: window.count("?")]
            plan = driver.execute("EXPLAIN QUERY PLAN " + window, values).fetchall()
            assert "USING INDEX ix_records_window" in str(plan)
            assert "TEMP B-TREE" not in str(plan)
        else:
            names = [f"the_{name}" for name in ("user", "project", "session", "topic", "stream")]
            values = dict.fromkeys(names, "x") | {"begin": 0.0, "end": 9.0, "most": 5}
            driver.execute("SET LOCAL enable_seqscan = off")
            plan = driver.execute("EXPLAIN " + window, values).fetchall()
            assert "ix_records_window" in str(plan)


@covers("recipe.bounded")
def test_a_recipe_reads_no_more_than_so_many_records(loom, user, monkeypatch):
    from weft.runtime.records import recipes

    monkeypatch.setattr(recipes, "_MOST", 3)
    for number in range(2):
        loom.records.append("notes", number, user=user, session="s", create_time=END - number)
    assert len(loom.recipes.run(recipe(yoj("notes")), user=user).messages) == 2
    with pytest.raises(LimitExceededError, match="'notes': a recipe reads at most 3 records"):
        loom.recipes.run(recipe(yoj("notes"), yoj("notes")), user=user)
    tree = loom.plant("Long", "a")
    node = tree.root.say("b").say("c").say("d")
    with pytest.raises(LimitExceededError, match="the path"):
        loom.recipes.run(path_recipe(tree, node, yoj("messages")))


@pytest.mark.long
@covers("records.moved")
def test_records_join_another_grove_with_a_file(tmp_path):
    with weft.open(tmp_path / "a.db") as one, weft.open(tmp_path / "b.db") as two:
        one.records.append("notes", "a", user="ada", id="1", create_time=1)
        one.records.append("notes", "b", user="ada", id="2", create_time=2)
        two.records.append("notes", "other", user="ada", id="1", create_time=3)
        one.export(tmp_path / "all.json")
        came = two.import_(tmp_path / "all.json")
        assert "1 records are there already, and were not changed" in came.notes
        assert [each.value for each in two.records.list("notes", user="ada")] == ["b", "other"]
        check_sound(two)
