"""Tools of a turn over a grove: what they find, for whom, and where their outputs go."""

import json
import os
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint

import pytest
from tests.contexts.shelves import library
from tests.covers import covers
from tests.events.listening import member

from weft.errors import ConflictError, InvalidInputError, PermissionDeniedError, UnavailableError
from weft.grove.grove import Grove
from weft.knowledge.tools.base import ToolRegistry, installed_tools
from weft.runtime.generation.sent_request import Rebuilt
from weft.runtime.operations.executor import Caller
from weft.runtime.tools.service import ToolService
from weft.runtime.tools.tool_context import MACHINE_ZONE
from weft.testing import Scripted, SteppingClock, grove
from weft.tree.access import MemberRole
from weft.tree.content import ToolCall


def ids(output):
    return [each.id for each in output.sources]


@covers("toolcall.local-search", "toolcall.only-what-may-be-seen")
def test_notes_documents_and_trees_are_searched_but_not_the_way_to_the_question(desk):
    word = f"lamp{desk.name[-3:].strip()}x"
    desk.write("tower.md", f"The {word} is up there.")
    written = desk.grove.write_document(f"Harbour {desk.name}", f"The {word} lights itself.")
    first = desk.ask(f"Where is the {word}?")
    answer = desk.answer(first, f"The {word} is in the tower.")
    beside = desk.answer(first, f"Nobody has a {word}.")
    question = desk.ask(f"And who lit the {word}?", under=answer)
    pruned = question.say(f"No {word} at all.")
    pruned.prune()
    found = desk.grove.tools.run("localSearch", at=question, query=f"Who lit the {word}?")
    assert sorted(ids(found)) == sorted([f"[{beside.local_id}]", f"doc:{written.id}", "tower.md"])
    everything = desk.grove.tools.run("localSearch", query=word)
    assert len(everything.sources) == 6
    narrowed = desk.grove.tools.run("localSearch", query=word, where=["documents"], timeRange="today")
    assert ids(narrowed) in ([f"doc:{written.id}"], [])
    assert ids(desk.grove.tools.run("localSearch", query=word, timeRange="1999")) == []


@covers("toolcall.sources-numbered-on", "toolcall.turn-only", "toolcall.under-additional-context")
def test_what_tools_gave_stands_before_the_question_and_in_no_later_turn(desk):
    desk.write("a.md", "The lamp.")
    desk.write("b.md", "The stairs.")
    question = desk.ask("What is there?", "b.md")
    outputs = desk.grove.tools.run_all(
        [
            ToolCall(id="1", name="readNote", arguments={"path": "a.md"}),
            ToolCall(id="1", name="getTimeInfo", arguments={}),
            ToolCall(id="1", name="readNote", arguments={"path": "b.md"}),
        ],
        at=question,
    )
    assert [each.number for output in outputs for each in output.sources] == [1, 2]
    envelope = question.envelope(agent=desk.agent, tool_outputs=outputs)
    said = envelope.processed_user_text
    assert said.startswith('# Additional context:\n\n<readNote path="a.md">\n')
    assert (
        said.index("<getTimeInfo>")
        < said.index('<readNote path="b.md">')
        < said.index("<note_context>\n<title>b</title>", said.rindex("</readNote>"))
    )
    assert said.endswith("[User query]:\nWhat is there?")
    assert question.context(agent=desk.agent, tool_outputs=outputs).messages[-1].text == said
    later = desk.ask("And now?", under=desk.answer(question)).envelope(agent=desk.agent)
    assert "readNote" not in later.system + later.processed_user_text
    assert library(later) == ["b.md"]


@covers("toolcall.under-additional-context")
def test_tools_alone_call_for_layers_and_have_no_place_in_a_document(desk):
    question = desk.ask("What time is it?")
    told = desk.grove.tools.run("getTimeInfo")
    text = question.context(tool_outputs=[told]).messages[-1].text
    assert text.startswith("# Additional context:\n\n<getTimeInfo>")
    assert question.context().messages[-1].text == "What time is it?"
    story = desk.grove.plant(f"Story {desk.name}", "Once", mode="buffer")
    with pytest.raises(InvalidInputError, match="a document has no turns"):
        story.context(tool_outputs=[told])
    aware = desk.grove.add_agent(f"Aware {desk.name}", model_ref="openai:gpt", permissions=["loom_aware"])
    seen = question.context(agent=aware.name, tool_outputs=[told])
    text = seen.messages[-1].text
    assert text.startswith("# Additional context:\n\n<getTimeInfo>")
    assert text.index("</getTimeInfo>") < text.index("=== Loom Context ===") < text.index("What time is it?")
    assert seen.tokens == sum(entry.tokens for entry in seen.manifest)
    with pytest.raises(InvalidInputError, match="a document has no turns"):
        story.context(agent=aware.name, tool_outputs=[told])


@covers("toolcall.only-what-may-be-seen")
def test_a_tool_sees_what_its_caller_may_see(desk, loom):
    desk.write("a.md", "The lamp.")
    said = desk.ask("Where is the lamp?")
    desk.grove.plant(f"Else {desk.name}").say("Not your lamp.")
    reader = Grove(Caller(loom.caller.executor, member(loom, MemberRole.READER, desk.tree.id)))
    found = reader.tools.run("localSearch", query="lamp")
    assert ids(found) == [f"[{said.local_id}]"]
    with pytest.raises(PermissionDeniedError):
        reader.tools.run("readNote", path="a.md")
    with pytest.raises(PermissionDeniedError):
        reader.tools.run("localSearch", query="lamp", where=["vaults"])
    with pytest.raises(PermissionDeniedError):
        loom.acting_as(desk.agent).tools.run("localSearch", query="lamp")


@covers("toolcall.under-additional-context", "toolcall.turn-only")
def test_what_tools_gave_is_sent_and_kept_with_its_request():
    with grove(model=Scripted(["It is noon."] * 3)) as loom:
        agent = loom.add_agent("Muse", model_ref="scripted:m")
        question = loom.plant("Time").say("What time is it?")
        told = loom.tools.run("getTimeInfo")
        answer = question.generate(agent=agent.name, tool_outputs=[told])[0]
        assert answer.text == "It is noon."
        sent = loom.generations.sent(answer.value.tree_id, answer.id)
        assert "# Additional context:" in sent.body.decode()
        checked = loom.generations.check_sent(sent)
        assert checked.is_whole
        assert (checked.again, checked.why) == (
            Rebuilt.UNKNOWN,
            "what tools gave (getTimeInfo) is not asked for again",
        )
        again = question.generate(agent=agent.name, tool_outputs=[told], idempotency_key="k")[0]
        with pytest.raises(ConflictError):
            question.generate(agent=agent.name, idempotency_key="k")
        assert again.id == question.generate(agent=agent.name, tool_outputs=[told], idempotency_key="k")[0].id
        story = loom.plant("Story", "Once", mode="buffer")
        with pytest.raises(InvalidInputError, match="a document has no turns"):
            story.root.generate(agent=agent.name, tool_outputs=[told])


@covers("toolcall.registry", "toolcall.web-search-off")
def test_what_is_wrong_with_one_tool_keeps_no_others(desk, monkeypatch):
    monkeypatch.setenv("WEFT_WEB_SEARCH", "altavista")
    broken = {"broken": EntryPoint("broken", "nowhere:tool", "weft.tools")}
    registry = ToolRegistry(installed={**installed_tools()._installed, **broken})
    off = {each.name: each.off for each in ToolService(desk.grove.caller, registry).offered() if each.off}
    assert list(off) == ["broken", "readUrl", "webSearch"]
    assert "cannot be loaded" in off["broken"]
    assert "unknown search engine 'altavista'" in off["webSearch"]
    tools = desk.grove.tools
    assert tools.run("getTimeInfo").name == "getTimeInfo"
    with pytest.raises(UnavailableError, match="webSearch is off: WEFT_WEB_SEARCH: unknown search engine"):
        tools.run("webSearch", query="lamp")


@pytest.mark.outer
@covers("toolcall.time-range")
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of this system cannot be set")
def test_a_time_range_begins_at_the_machines_midnight_in_summer_and_winter(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        winter = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
        with grove(clock=SteppingClock(int(winter.timestamp() * 1_000_000))) as loom:
            told = loom.tools.run("getTimeInfo", timeRange="last month").content
            assert "now: 2026-11-02T10:00:00+01:00" in told
            assert told.endswith("begins: 2026-10-01T00:00:00+02:00\nends before: 2026-11-01T00:00:00+01:00")
            folded = datetime(2026, 10, 25, 1, 30, tzinfo=UTC).astimezone(MACHINE_ZONE)
            assert folded.isoformat() == "2026-10-25T02:30:00+01:00"
            assert folded.tzname() == "CET"
            assert "begins: 0001-01-01T00:00:00+" in loom.tools.run("getTimeInfo", timeRange="0001").content
            note = tmp_path / "Notes" / "first.md"
            note.parent.mkdir()
            note.write_text("lamp")
            moment = datetime.fromisoformat("2026-10-01T00:30:00+02:00").timestamp()
            os.utime(note, (moment, moment))
            loom.vaults.mount(note.parent)
            assert ids(loom.tools.run("localSearch", query="lamp", timeRange="last month")) == ["first.md"]
            assert ids(loom.tools.run("localSearch", query="lamp", timeRange="before 0002")) == []
    finally:
        monkeypatch.undo()
        time.tzset()


class _Searx(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(
            {"results": [{"title": "L", "url": "https://a.example", "content": "Lit."}]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # noqa: A002
        pass


@covers("toolcall.web-search-off", "toolcall.web-search-providers")
def test_the_web_is_off_until_it_is_chosen(desk, monkeypatch):
    monkeypatch.delenv("WEFT_WEB_SEARCH", raising=False)
    off = {each.name: each.off for each in desk.grove.tools}
    assert [name for name, why in off.items() if why] == ["readUrl", "webSearch"]
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Searx)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        monkeypatch.setenv("WEFT_WEB_SEARCH", f"searxng:http://127.0.0.1:{server.server_port}")
        assert [each.name for each in desk.grove.tools if each.off] == ["readUrl"]
        found = desk.grove.tools.run("webSearch", query="lamp")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert "<content>\nLit.\n</content>" in found.content
    assert ids(found) == ["https://a.example"]
