"""Nonsense, too much, and what is not there: always an answer in words, never a change, never our insides."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import MCPError
from tests.covers import covers
from tests.mcp_server.talk import talking

from weft.errors import CODES, InvalidInputError
from weft.mcp_server.command_tools import protocol_error
from weft.mcp_server.server import McpFace
from weft.mcp_server.tools import TOOLS

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@covers("mcp.exact-arguments")
@pytest.mark.parametrize("name", TOOLS)
@settings(max_examples=15)
@given(data=st.data())
def test_whatever_is_sent_is_taken_or_refused_in_words(name, data):
    tool = TOOLS[name]
    names = st.sampled_from([*tool.taken.input_schema()["properties"], "other", ""])
    sent = data.draw(st.dictionaries(names, _JSON, max_size=6))
    with contextlib.suppress(InvalidInputError):
        taken = tool.taken.read(sent)
        getattr(taken, "action", lambda: None)()


@covers("mcp.exact-arguments")
def test_schemas_are_exact_and_plain():
    for name, tool in TOOLS.items():
        schema = tool.taken.input_schema()
        assert schema["type"] == "object", name
        assert schema["additionalProperties"] is False, name
        # Some clients take no other form at the top.
        assert not schema.keys() & {"anyOf", "oneOf", "allOf", "$ref", "$defs"}, name
        assert "null" not in json.dumps(schema), name
        for argument, told in schema["properties"].items():
            assert "type" in told, (name, argument)


def written(grove) -> tuple:
    """Everything that was done, in the tree and in the grove itself."""
    return len(grove.read.events(grove.tree("T").id)), grove.history()


@covers("mcp.errors")
@pytest.mark.parametrize(
    ("tool", "sent", "code", "path"),
    [
        ("view", {}, "INVALID_INPUT", "tree"),
        ("view", {"tree": 5}, "INVALID_INPUT", "tree"),
        ("view", {"tree": "T", "node": ["a7x2"]}, "INVALID_INPUT", "node"),
        ("view", {"tree": "T"}, "INVALID_INPUT", None),
        ("view", {"tree": "T", "node": "a7x2", "result": 1}, "INVALID_INPUT", None),
        ("view", {"tree": "T", "node": "x" * 10_000}, "INVALID_INPUT", "node"),
        ("view", {"tree": "T", "node": "zzzz"}, "NOT_FOUND", None),
        ("view", {"tree": "T", "node": "'; drop table nodes; --"}, "NOT_FOUND", None),
        ("view", {"tree": "no such tree", "node": "a7x2"}, "NOT_FOUND", None),
        ("view", {"tree": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "node": "a7x2"}, "NOT_FOUND", None),
        ("tree", {"tree": "T", "depth": 10**9}, "INVALID_INPUT", "depth"),
        ("tree", {"tree": "T", "depth": 101}, "INVALID_INPUT", "depth"),
        ("tree", {"tree": "T", "depth": 0}, "INVALID_INPUT", "depth"),
        ("pin", {"tree": "T", "node": "ROOT", "section": "Fear"}, "INVALID_INPUT", "section"),
        ("pin", {"tree": "T", "section": "Fear"}, "INVALID_INPUT", None),
        ("pin", {"tree": "T", "result": 1, "section": "Fear"}, "INVALID_INPUT", "section"),
        ("drop", {"tree": "T", "node": "ROOT", "section": "Fear"}, "INVALID_INPUT", "section"),
        ("drop", {"tree": "T", "stash": "x", "section": "Fear"}, "INVALID_INPUT", "section"),
        ("continue", {"tree": "T", "n": 0}, "INVALID_INPUT", "n"),
        ("continue", {"tree": "T", "n": True}, "INVALID_INPUT", "n"),
        ("respond", {"tree": "T", "node": "ROOT", "text": "a\u0000b"}, "INVALID_SYNTAX", None),
        ("respond", {"tree": "T", "node": "ROOT", "text": ""}, "INVALID_INPUT", "text"),
        ("respond", {"tree": "T", "node": "ROOT", "text": "x", "as": "root"}, "INVALID_INPUT", "as"),
        ("respond", {"tree": "T", "node": "ROOT", "text": "x" * 16_777_217}, "LIMIT_EXCEEDED", None),
        ("read", {"tree": "T", "document": "Nothing"}, "NOT_FOUND", None),
        ("read", {"tree": "T", "document": "Unlinked"}, "CROSS_TREE", None),
        ("switch", {"tree": "T", "direction": "sideways"}, "INVALID_INPUT", "direction"),
        ("trees", {"after": "nonsense"}, "INVALID_INPUT", "after"),
        ("help", {"command": "dance"}, "INVALID_SYNTAX", None),
        ("continue", {"tree": "T", "agent": "Nobody"}, "NOT_FOUND", None),
        ("context", {"tree": "T", "node": "zzzz"}, "NOT_FOUND", None),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(loom, talk, tool, sent, code, path):
    if not any(tree.title == "T" for tree in loom.trees()):
        loom.plant("T", "one")
        loom.write_document("Unlinked", "x")
    root = loom.tree("T").root.local_id
    before = written(loom)
    reply = talk(tool, **{name: root if value == "ROOT" else value for name, value in sent.items()})
    assert reply.refused
    assert reply.facts["code"] == code
    assert reply.facts.get("path") == path
    assert reply.facts["retry"] == CODES[code].retry
    assert reply.text.startswith(f"✗ {code}: ")
    assert written(loom) == before
    if code == "CROSS_TREE":
        assert reply.facts["hint"] == "call it again with everywhere: true"


@covers("mcp.errors")
def test_a_tool_that_is_not_there_is_a_protocol_error(talk):
    with pytest.raises(MCPError, match="there is no tool 'dance'"):
        talk("dance")


@covers("mcp.errors")
def test_our_own_mistakes_are_told_without_their_insides(loom, talk, monkeypatch, caplog):
    tree = loom.plant("Broken", "one")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret path /home/somebody")

    monkeypatch.setattr("weft.mcp_server.sessions._done", broken)
    with pytest.raises(MCPError, match="internal error in the server") as told:
        talk("tree", tree=tree.id)
    assert "secret" not in str(told.value.error)
    assert "a secret path" in caplog.text


@covers("mcp.errors")
def test_an_error_outside_of_tools_has_its_code_from_the_one_table():
    for code, row in CODES.items():
        kind = type("Some", (InvalidInputError,), {"code": code})
        told = protocol_error(kind("no", hint="yes", path="here"))
        assert (told.error.code, told.error.data["code"], told.error.data["hint"]) == (row.mcp, code, "yes")
        # What the protocol keeps for itself.
        assert row.mcp == -32602 or (-32019 <= row.mcp <= -32003)


@covers("mcp.exact-arguments")
def test_the_deepest_drawing_that_a_schema_allows_is_drawn(loom, talk):
    tree = loom.plant("Deep", "one")
    most = TOOLS["tree"].taken.input_schema()["properties"]["depth"]["maximum"]
    assert talk.do("tree", tree=tree.id, depth=most)["reply"].startswith(
        f"✓ tree from [{tree.root.local_id}]"
    )


@covers("mcp.every-command")
@pytest.mark.parametrize(
    "item", ['doc:"Her Notes"', "doc:“Her Notes”", "doc: Her Notes", "document:Her Notes"]
)
def test_a_document_is_attached_however_its_title_is_quoted(fresh_loom, item):
    tree = fresh_loom.plant("T", "one")
    turn = tree.root.say("Look.")
    notes = fresh_loom.write_document("Her Notes", "# Fear\n\nOf water.\n")
    fresh_loom.link(tree, notes)
    with talking(McpFace(fresh_loom).server()) as talk:
        told = talk.do("attach", tree=tree.id, node=turn.local_id, item=item)
    assert told["reply"] == f'✓ attached doc:"Her Notes" to [{turn.local_id}]'
    assert [each.id for each in tree.node(turn.id).value.attachments] == [f"doc:{notes.id}"]


@covers("mcp.exact-arguments", "command.pin")
def test_a_section_is_pinned_with_its_document_and_one_that_is_not_there_is_refused(fresh_loom):
    tree = fresh_loom.plant("T", "one")
    fresh_loom.link(tree, fresh_loom.write_document("Her Notes", "# Fear\n\nOf water.\n"))
    with talking(McpFace(fresh_loom).server()) as talk:
        pinned = talk.do("pin", tree=tree.id, document="Her Notes", section="fear")
        refused = talk("pin", tree=tree.id, document="Her Notes", section="Joy")
    assert pinned["reply"] == '✓ pinned doc:"Her Notes" §fear'
    assert (refused.refused, refused.facts["code"]) == (True, "NOT_FOUND")
    assert refused.text == "✗ NOT_FOUND: no section 'Joy'\n  hint: sections: fear"


@covers("mcp.long-results")
def test_a_long_answer_is_given_in_short_and_whole_when_asked_for(loom, talk):
    tree = loom.plant("Long", "word " * 5_000)
    root = tree.root.local_id
    short = talk.do("view", tree=tree.id, node=root, full=True)
    assert short["shortened"]
    assert len(short["reply"]) < 3_000
    whole = talk.do("view", tree=tree.id, result=short["result"])
    assert not whole["shortened"]
    assert whole["reply"].count("word") == 5_000


@covers("mcp.half-characters")
def test_half_characters_in_a_history_do_not_break_the_wire(loom):
    from weft.mcp_server.command_tools import answered

    told = answered("a\ud800b", {"text": "c\udfffd"})
    assert told.content[0].text == "a?b"
    assert told.structured_content == {"text": "c?d"}
    told.model_dump_json()


@covers("mcp.bounded")
def test_a_run_that_has_grown_large_is_followed_by_another(loom, monkeypatch):
    monkeypatch.setattr("weft.mcp_server.sessions._MOST_RESULTS", 3)
    monkeypatch.setattr("weft.mcp_server.sessions.MOST_SESSIONS", 2)
    trees = [loom.plant(f"T{number}", "one").id for number in range(3)]
    face = McpFace(loom)
    with talking(face.server()) as talk:
        numbers = [talk.do("tree", tree=trees[0])["result"] for _ in range(5)]
        held = [len(client.session.results) for client in face.sessions._sessions.values()]
        for tree in trees:
            talk.do("tree", tree=tree)
    # Handles of the run before still count, so those of the next come after them.
    assert (numbers, held) == ([1, 2, 3, 4, 5], [2])
    assert len(face.sessions) == 2
