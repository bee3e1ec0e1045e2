"""Records, recipes and users on the command line."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.covers import covers

RECIPE = """
kala: {kind: SegKala, sessionId: night, end: 1700000000, windowSeconds: 60}
model:
  intro: {system: You are the ferryman.}
  components:
    - {kind: yoj, name: messages}
  filters:
    - {name: sizeLimiter, options: {maxTokens: 100}}
    - toolCallBackfill
"""
SAID = '{"role":"user","content":"Can we cross?"}\n{"role":"assistant","content":"Not yet."}\n'


@pytest.fixture
def desk(desk: Desk, empty_tables: Path) -> Desk:
    """A grove with nothing in it."""
    shutil.copy(empty_tables, desk.address)
    return desk


@covers("cli.records-and-recipe", "recipe.data")
def test_records_are_kept_and_a_recipe_is_followed(desk, tmp_path):
    assert desk("records", "append", "messages", stdin="").err.startswith(
        "✗ INVALID_INPUT: the input is empty"
    )
    ids = desk.ok(
        "records", "append", "messages", "-", "--session", "night", "--time", "1700000000", stdin=SAID
    )
    assert len(ids.splitlines()) == 2
    listed = [line.split("\t") for line in desk.ok("records", "ls", "messages", "-s", "night").splitlines()]
    assert [(row[1], json.loads(row[2])["role"]) for row in listed] == [
        ("1700000000", "user"),
        ("1700000000", "assistant"),
    ]
    assert desk.ok("records").split("\t")[:6] == ["messages", "", "", "night", "", "2"]
    assert "messages" in desk("records", "ls", width=80).out
    assert desk("records", "ls", "messages").err == "no records 'messages' there\n"
    ada = ("records", "ls", "messages", "-s", "night", "--user", "ada")
    assert (desk(*ada).out, len(desk.ok(*ada, "--fallback").splitlines())) == ("", 2)
    file = tmp_path / "recipe.yaml"
    file.write_text(RECIPE)
    answer = desk("recipe", "run", str(file))
    assert [json.loads(line)["content"] for line in answer.out.splitlines()] == [
        "You are the ferryman.",
        "Can we cross?",
        "Not yet.",
    ]
    assert answer.err.endswith(
        "sizeLimiter: 3 in, 3 out\ntoolCallBackfill: 3 in, 3 out\n3 messages, 35 tokens\n"
    )
    same = desk.json("recipe", "run", "-", stdin=RECIPE)
    assert [message["content"] for message in same["messages"]][1:] == ["Can we cross?", "Not yet."]
    assert "filters[0] sizeLimiter: 3 in, 3 out" in desk.ok("recipe", "run", str(file), "--manifest")
    body = json.dumps({"kala": {"kind": "Topic", "topicId": "t"}, "model": {"filters": ["none"]}})
    assert "filters[0] 'none'" in desk.fail("INVALID_INPUT", "recipe", "run", stdin=body)


@covers("recipe.data")
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, "\t"])
def test_a_recipe_in_json_is_read_as_json(desk, ascii_only, indent):
    desk.ok("records", "append", "notes", "-s", "night", "--time", "1000000000", stdin="1")
    said = "sea \U0001f30a\u2028\x7f/\u0085"
    model = {"components": [{"kind": "literal", "value": said}, {"kind": "yoj", "name": "summaries"}]}
    kala = {"kind": "SegKala", "sessionId": "night", "end": "END", "windowSeconds": 5}
    text = json.dumps({"kala": kala, "model": model}, ensure_ascii=ascii_only, indent=indent)
    answer = desk.json("recipe", "run", stdin=text.replace('"END"', "1e9"))
    assert answer["messages"] == [{"role": "system", "content": said}]


@covers("recipe.data")
def test_an_exponent_makes_a_number_in_yaml_too(desk):
    desk.ok("records", "append", "messages", "-s", "night", "--time", "1000000000", stdin='{"content":"1e9"}')
    kala = "kala: {kind: SegKala, sessionId: night, end: 1e9, windowSeconds: +1.5E2}\n"
    model = "model: {components: [{kind: yoj, name: messages}, {kind: literal, value: '1e9'}]}"
    assert [each["content"] for each in desk.json("recipe", "run", stdin=kala + model)["messages"]] == [
        "1e9",
        "1e9",
    ]


@covers("cli.records-and-recipe")
def test_json_beyond_all_depth_is_refused_and_no_crash(desk):
    deep = "[" * 50_000 + "]" * 50_000
    assert "nested too deeply" in desk.fail("INVALID_INPUT", "records", "append", "n", stdin=deep)
    more = ("-s", "night", "--groups", "-")
    assert "nested too deeply" in desk.fail("INVALID_INPUT", "records", "index", *more, stdin=deep)
    desk.fail("INVALID_INPUT", "recipe", "run", stdin=deep)


@covers("cli.records-and-recipe", "recipe.data")
def test_a_recipe_that_cannot_be_read_is_named_with_its_line(desk, marie):
    for text, said in [
        ("kala: [", "line 1:"),
        ("a: &x 1\nb: *x", "line 2: aliases are not supported"),
        ("- 1", "a recipe is an object"),
        ("kala: !!python/object:os.system {}", "line 1:"),
        ("kala: {kind: 2020-01-01}", "Unknown kala.kind: 2020-01-01"),
        ("\x00", "neither JSON nor YAML"),
        ("{}", "Missing required field: kala.kind"),
    ]:
        assert said in marie.fail("INVALID_INPUT", "recipe", "run", stdin=text)
    marie.fail("NOT_FOUND", "recipe", "run", "no such file")


@covers("cli.records-and-recipe", "kala.path", "recipe.built-ins")
def test_a_built_in_recipe_runs_where_you_stand(marie):
    marie.ok("say", "Why does she hesitate?")
    assert json.loads(marie.ok("recipe", "run", "dialogue", "--set", "limit=100")) == {
        "role": "user",
        "content": "Why does she hesitate?",
    }
    assert marie.ok("recipe", "run", "dialogue", "--node", ".") == marie.ok("recipe", "run", "dialogue")
    names = [line.split("\t")[0] for line in marie.ok("recipe").splitlines()]
    assert names == ["TopicContext", "buffer", "dialogue", "layered"]
    assert json.loads(marie.ok("recipe", "show", "dialogue"))["model"]["components"][0]["name"] == "dialogue"
    marie.fail("NOT_FOUND", "recipe", "show", "none")


@covers("cli.records-and-recipe", "records.destroyed")
def test_records_are_appended_whole_and_destroyed_by_their_number(desk):
    whole = json.dumps([{"id": "a", "createTime": 5, "value": 1, "cost": 2}, {"id": "b", "value": 2}])
    assert desk.ok("records", "append", "n", "-", "-u", "ada", "--records", stdin=whole) == "a\nb"
    assert desk.json("records", "ls", "n", "-u", "ada")[0]["document"] == {"cost": 2, "value": 1}
    assert "records[0].more" in desk.fail(
        "INVALID_INPUT", "records", "append", "n", "--records", stdin='{"more": 1, "value": 1}'
    )
    assert "line 2 is not JSON" in desk.fail("INVALID_INPUT", "records", "append", "n", stdin="1\n{")
    assert "--id needs exactly one record" in desk.fail(
        "INVALID_INPUT", "records", "append", "n", "--id", "x", stdin="1\n2"
    )
    desk.fail("CONFLICT", "records", "append", "n", "-u", "ada", "--id", "a", stdin="7")
    desk.fail("INVALID_INPUT", "records", "rm")
    assert desk.ok("records", "rm", "-u", "ada") == "2"
    desk.fail("INVALID_INPUT", "records", "rm", "-u", "ada", "--confirm", "1")
    assert desk.ok("records", "rm", "-u", "ada", "--id", "a", "--confirm", "1") == "1"
    assert desk.ok("records", "rm", "-u", "ada", "--confirm", "1") == "1"


@covers("http.team-mode", "http.hashed-tokens")
def test_users_are_let_in_and_shut_out(desk):
    made = desk.ok("users", "add", "ada", "--role", "reader")
    assert desk.ok("users") == f"{made}\tada\treader"
    secret = desk.ok("users", "token", "ada", "--label", "phone", "--days", "3")
    assert secret.startswith("weft_")
    service = desk.json("users", "token", "ada", "--service")
    assert service["service"] is True
    rows = [line.split("\t") for line in desk.ok("users", "tokens", "ada").splitlines()]
    assert [(row[1], row[2], row[3]) for row in rows] == [("ada", "phone", ""), ("ada", "", "service")]
    assert secret not in desk.ok("users", "tokens")
    desk.ok("users", "revoke", service["id"])
    assert desk.json("users", "tokens")[1]["revokedAt"] is not None
    desk.ok("new", "Marie")
    desk.ok("users", "role", "ada", "editor", "--tree", "Marie")
    desk.ok("users", "role", "ada", "none")
    assert desk.ok("users").split("\t")[2].startswith("editor of ")
    desk.fail("INVALID_INPUT", "users", "role", "ada", "king")
    desk.ok("users", "archive", "ada")
    assert desk.json("users") == []
    assert desk.json("users", "ls", "--archived")[0]["name"] == "ada"
    desk.ok("users", "archive", "ada", "--undo")


@covers("cli.records-and-recipe", "collapse.removal", "collapse.state")
def test_groups_are_indexed_opened_and_forgotten_on_the_command_line(desk, tmp_path):
    place = ("-s", "night", "-u", "ada")
    desk.ok(
        "records", "append", "messages", "-", *place, "--id", "m1", "--time", "5", stdin=SAID.splitlines()[0]
    )
    groups = json.dumps({"groups": [{"name": "The fog", "items": [{"type": "message", "id": "m1"}]}]})
    assert desk.ok("records", "append", "collapsed", "-", *place, "--id", "r1", stdin=groups) == "r1"
    assert desk.ok("records", "index", "r1", *place) == "1\t1"
    again = desk("records", "index", "r2", *place, "--groups", "-", stdin=groups, width=80)
    assert "indexed 1 group with 1 message\n" in again.err
    recipe = tmp_path / "night.json"
    kala = {"kind": "SegKala", "sessionId": "night", "end": 9, "windowSeconds": 9}
    model = {"components": [{"kind": "yoj", "name": "messages"}], "filters": ["collapseGroupReplacer"]}
    recipe.write_text(json.dumps({"kala": kala, "model": model, "includeDocId": True}))

    def shown() -> dict:
        return json.loads(desk.ok("recipe", "run", str(recipe), "-u", "ada"))

    assert json.loads(shown()["content"])["name"] == "THE_FOG"
    desk.ok("records", "open", "the fog", *place)
    assert shown()["collapsedGroup"]["expanded"] is True
    assert desk.json("records", "close", "the fog", *place)["expanded"] is False
    assert desk.ok("records", "forget", "r1", *place) == "1"
    assert json.loads(shown()["content"])["responseId"] == "r2"
    assert desk.ok("records", "forget", "r2", *place) == "1"
    assert "collapsedGroup" not in shown()
    desk.fail("INVALID_INPUT", "records", "index", *place)
    desk.fail("INVALID_INPUT", "records", "index", *place, "--groups", "-", stdin="{")
    desk.fail("INVALID_INPUT", "records", "index", "none", *place)
    desk.fail("NOT_FOUND", "records", "index", *place, "--groups", str(tmp_path / "none.json"))
    desk.fail("INVALID_INPUT", "records", "index", *place, "--groups", str(tmp_path))
