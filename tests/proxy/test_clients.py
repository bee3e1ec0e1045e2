"""Histories in the manner of each client: every later request finds its parent, every tree equals its histories."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.covers import covers
from tests.proxy.conversations import Desk
from tests.proxy.upstreams import Answer
from tests.statements import statements

from weft.runtime.proxy.client_signs import Purpose
from weft.runtime.proxy.parent_search import Link
from weft.runtime.proxy.unfinished import close_unfinished
from weft.runtime.proxy.wires import Wire

REMINDER = "<system-reminder>\nToday is Monday.\n</system-reminder>"
TOOLS = [
    {"name": "Bash", "input_schema": {"type": "object"}},
    {"name": "Task", "input_schema": {"type": "object"}},
]
MARK = {"type": "ephemeral"}


_TOKENS = iter(range(1_000, 100_000))


@pytest.fixture
def desk(loom):
    """A token of its own for each test: nothing is linked across."""
    return Desk(loom, token=next(_TOKENS))


def text(words, *, mark=False):
    return {"type": "text", "text": words} | ({"cache_control": MARK} if mark else {})


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def call(name, tool="Bash", **arguments):
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(name, words, **more):
    return {"type": "tool_result", "tool_use_id": name, "content": words, **more}


def claude(session="s-1", **more):
    names = {"user-agent": "claude-cli/2.1.197", "x-claude-code-session-id": session}
    return names | {name.replace("_", "-"): value for name, value in more.items()}


def body(*messages, **more):
    return {"messages": list(messages), "tools": TOOLS, "system": "You are an agent.", "stream": True, **more}


def of(desk, *messages, answer=None, headers=None, is_exact=True, **more):
    given = body(*messages, **more)
    return desk.send(Wire.MESSAGES, given, answer, headers=headers or claude(), is_exact=is_exact)


def one_tree(*recorded):
    assert len({each.started.tree for each in recorded}) == 1


@covers("proxy.normalised-history", "proxy.shared-prefix")
def test_claude_code_reshapes_its_history_in_every_request(desk):
    first = of(
        desk,
        user(text(REMINDER), text("fix the gap", mark=True)),
        answer=Answer(
            text="let me look", thinking="hm", calls=[("t1", "Bash", {"command": "ls"}), ("t2", "Bash", {})]
        ),
    )
    second = of(
        desk,
        # The mark is gone, so is the block around the text; the reminder changed; results in order of completion.
        user(text(REMINDER + "\n<system-reminder>x</system-reminder>"), text("fix the gap ")),
        said(
            {"type": "thinking", "thinking": "hm", "signature": "sig1"},
            text("let me look"),
            call("t1", command="ls", timeout=None),
            call("t2"),
        ),
        user(result("t2", [text("b")], is_error=False), result("t1", "a", cache_control=MARK)),
        answer=Answer(text="a gap"),
    )
    third = of(
        desk,
        {"role": "user", "content": "fix the gap"},
        # After a switch of models thinking is gone, and reminders are system messages.
        said(text("let me look"), call("t1", command="ls"), call("t2")),
        user(result("t1", "a"), result("t2", "b", is_error=False)),
        said(text("a gap")),
        {"role": "user", "content": "go on"},
        {"role": "system", "content": "<system-reminder>later</system-reminder>"},
        system="You are an agent. Branch main, 2 files changed.",
    )
    assert [each.started.link for each in (first, second, third)] == [Link.ROOT, Link.PREFIX, Link.PREFIX]
    one_tree(first, second, third)
    tree = desk.grove.tree(first.started.tree)
    assert desk.texts(third)[-1] == "answer 3"
    assert tree.counters.branches == 1
    notes = [note.text for note in tree.node(third.started.node).annotations]
    assert notes == ["<system-reminder>later</system-reminder>"]


def test_claude_code_merges_two_turns_after_a_failed_one(desk):
    failed = of(desk, user(text("one")), answer=Answer(status=529))
    merged = of(desk, user(text("one\n"), text("two")))
    assert merged.started.link is Link.PREFIX
    assert desk.texts(merged) == ["one", "two", "answer 2"]
    one_tree(failed, merged)


@covers("proxy.retries-are-attempts")
def test_retries_after_errors_are_attempts_of_one_node(desk):
    tries = [of(desk, user(text("hello")), answer=Answer(status=status)) for status in (429, 500, 529)]
    last = of(desk, user(text("hello")), answer=Answer(text="hi"))
    assert len({each.started.node for each in (*tries, last)}) == 1
    assert [each.reply for each in tries] == [None, None, None]
    assert desk.texts(last) == ["hello", "hi"]
    rows = desk.records.requests(last.started.session)
    assert [row.status for row in rows] == [429, 500, 529, 200]


def test_resume_rewind_and_fork_stay_in_one_tree(desk):
    first = of(desk, user(text("one")), answer=Answer(text="1"))
    second = of(desk, user(text("one")), said(text("1")), user(text("two")), answer=Answer(text="2"))
    resumed = of(
        desk,
        user(text("one")),
        said(text("1")),
        user(text("two")),
        said(text("2")),
        user(text("three")),
        system="Other git status.",
        answer=Answer(text="3"),
    )
    rewound = of(desk, user(text("one")), said(text("1")), user(text("instead")), answer=Answer(text="i"))
    forked = of(
        desk,
        user(text("one")),
        said(text("1")),
        user(text("two")),
        said(text("2")),
        user(text("other")),
        headers=claude("s-2"),
        answer=Answer(text="o"),
    )
    one_tree(first, second, resumed, rewound, forked)
    assert desk.texts(forked) == ["one", "1", "two", "2", "other", "o"]
    assert forked.started.session != first.started.session
    assert desk.grove.tree(first.started.tree).counters.branches == 3


@covers("proxy.interrupted")
def test_an_interrupted_reply_is_matched_by_its_beginning(desk):
    first = of(desk, user(text("tell")))
    words = "a long story of a lamp"
    broken = desk.send(
        Wire.MESSAGES,
        body(user(text("tell")), said(text("answer 1")), user(text("more"))),
        Answer(text=words * 3),
        headers=claude(),
        cut=700,
        error="the client left",
    )
    assert desk.grove.node(broken.reply).value.status == "interrupted"
    kept = desk.grove.node(broken.reply).text
    assert kept
    assert words * 3 != kept
    later = of(
        desk,
        user(text("tell")),
        said(text("answer 1")),
        user(text("more")),
        said(text(kept[:10])),
        user(text("[Request interrupted by user]"), text("go on")),
        is_exact=False,
    )
    assert later.started.link is Link.PREFIX
    assert broken.reply in [node.id for node in desk.grove.read.path(later.started.tree, later.reply).nodes]
    one_tree(first, broken, later)


@covers("proxy.side-requests-apart")
def test_side_requests_are_no_turns(desk):
    title = {
        "output_config": {"format": {"schema": {"properties": {"title": {"type": "string"}}}}},
        "tools": [],
    }
    first = of(desk, user(text("fix the gap")), answer=Answer(text='{"title": "The gap"}'), **title)
    turn = of(desk, user(text("fix the gap")), answer=Answer(text="done"))
    search = of(
        desk,
        user(text("tides")),
        tools=[{"type": "web_search_20250305", "name": "web_search"}],
        tool_choice={"type": "tool", "name": "web_search"},
    )
    count = desk.send(Wire.COUNT, {"messages": [user(text("x"))]}, headers=claude())
    purposes = [each.started.purpose for each in (first, turn, search, count)]
    assert purposes == [Purpose.TITLE, Purpose.TURN, Purpose.SEARCH, Purpose.COUNT]
    one_tree(first, turn, search, count)
    assert desk.grove.tree(turn.started.tree).counters.nodes == 3
    session = desk.records.session(turn.started.session)
    assert (session.title, session.requests, session.side_requests) == ("The gap", 4, 3)


@covers("proxy.compaction", "proxy.ledger")
def test_claude_code_compacts_and_keeps_the_latest_turns(desk):
    opening = user(text("fix src/tides/dst.py:214, commit 4be19a2"))
    first = of(
        desk,
        opening,
        answer=Answer(text="reading", calls=[("t1", "Bash", {"command": "cat src/tides/dst.py"})]),
    )
    look = [opening, said(text("reading"), call("t1", command="cat src/tides/dst.py"))]
    second = of(
        desk, *look, user(result("t1", "offset 1440, AmbiguousTimeError")), answer=Answer(text="I see 1440")
    )
    kept = [user(text("and the test?")), said(text("running"), call("t2", command="pytest"))]
    third = of(
        desk,
        *look,
        user(result("t1", "offset 1440, AmbiguousTimeError")),
        said(text("I see 1440")),
        kept[0],
        answer=Answer(text="running", calls=[("t2", "Bash", {"command": "pytest"})]),
    )
    long = "Your task is to create a detailed summary of the conversation so far. " * 10
    summary = "<summary>The gap is in src/tides/dst.py:214; the user wants a test.</summary>"
    asked = of(
        desk,
        *look,
        user(result("t1", "offset 1440, AmbiguousTimeError")),
        said(text("I see 1440")),
        *kept,
        user(result("t2", "1 failed"), text(long)),
        answer=Answer(text=summary),
    )
    after = of(
        desk,
        user(text("This session continues. The gap is in src/tides/dst.py:214; the user wants a test.")),
        *kept,
        user(result("t2", "1 failed")),
        answer=Answer(text="fixing"),
    )
    later = of(
        desk,
        user(text("This session continues. The gap is in src/tides/dst.py:214; the user wants a test.")),
        *kept,
        user(result("t2", "1 failed")),
        said(text("fixing")),
        user(text("thanks")),
    )
    one_tree(first, second, third, asked, after, later)
    assert after.started.link is Link.SUMMARY
    assert later.started.link is Link.PREFIX
    assert desk.records.session(after.started.session).compactions == 1
    assert [row.purpose for row in desk.records.requests(after.started.session)][3] == "compaction"
    (compaction,) = desk.records.compactions(after.started.tree)
    lost = {each.text for each in compaction.ledger.lost}
    assert {"4be19a2", "1440"} <= lost
    assert "src/tides/dst.py:214" not in lost
    assert any("AmbiguousTimeError" in each for each in lost)
    assert compaction.summary == asked.reply
    assert len(compaction.kept) == 2 or compaction.kept


@covers("proxy.sub-agents")
def test_parallel_sub_agents_hang_under_the_calls_that_started_them(desk):
    first = of(
        desk,
        user(text("find callers")),
        answer=Answer(
            calls=[("c1", "Task", {"prompt": "look in src"}), ("c2", "Task", {"prompt": "look in src"})]
        ),
    )
    agents = [
        of(
            desk,
            user(text("look in src")),
            headers=claude(x_claude_code_agent_id=name),
            answer=Answer(text="found"),
        )
        for name in ("a1", "a2")
    ]
    again = of(
        desk,
        user(text("look in src")),
        said(text("found")),
        user(text("more")),
        headers=claude(x_claude_code_agent_id="a2"),
    )
    assert len({first.started.tree, *(each.started.tree for each in agents)}) == 3
    assert again.started.tree == agents[1].started.tree
    of(
        desk,
        user(text("find callers")),
        said(call("c1", "Task"), call("c2", "Task")),
        user(result("c1", "found agentId: a2"), result("c2", "found agentId: a1")),
    )
    sessions = [desk.records.session(each.started.session) for each in agents]
    assert [(each.agent_id, each.call_id, each.parent, each.call_node) for each in sessions] == [
        ("a1", "c2", first.started.session, first.reply),
        ("a2", "c1", first.started.session, first.reply),
    ]


def codex(session="s", thread="t", **more):
    names = {"user-agent": "codex_cli_rs/0.169.0", "session-id": session, "thread-id": thread}
    return names | {name.replace("_", "-"): value for name, value in more.items()}


def item(words, name=None, role="user"):
    kind = "output_text" if role == "assistant" else "input_text"
    about = {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}
    return about | ({"id": name} if name else {})


ENVIRONMENT = item("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", "msg_env")


def respond(desk, *items, answer=None, headers=None, is_exact=True, **more):
    given = {
        "input": list(items),
        "stream": True,
        "store": False,
        "tools": [{"type": "function", "name": "shell"}],
        **more,
    }
    known = codex(x_codex_window_id="t:0") if headers is None else headers
    return desk.send(Wire.RESPONSES, given, answer, headers=known, is_exact=is_exact)


def test_codex_sends_identical_items(desk):
    first = respond(
        desk,
        ENVIRONMENT,
        item("fix", "msg_1"),
        answer=Answer(text="ok", thinking="e", calls=[("c1", "shell", {})]),
        client_metadata={"a": 1, "b": 2},
    )
    second = respond(
        desk,
        ENVIRONMENT,
        item("fix", "msg_1"),
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "enc1", "summary": []},
        item("ok", "msg_1", "assistant"),
        {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "done"},
        client_metadata={"b": 2, "a": 1},
    )
    title = respond(
        desk,
        item("fix"),
        headers=codex(thread="title", x_codex_turn_metadata=json.dumps({"thread_source": "thread_title"})),
        text={"format": {"schema": {"properties": {"title": {}}}}},
        tools=[],
    )
    assert second.started.link is Link.PREFIX
    assert title.started.purpose is Purpose.TITLE
    one_tree(first, second, title)


def test_codex_compacts_by_itself(desk):
    first = respond(desk, ENVIRONMENT, item("fix src/a.py"), answer=Answer(text="it is line 77"))
    asked = respond(
        desk,
        ENVIRONMENT,
        item("fix src/a.py"),
        item("it is line 77", role="assistant"),
        item("write a handoff"),
        headers=codex(
            x_codex_window_id="t:0", x_codex_turn_metadata=json.dumps({"request_kind": "compaction"})
        ),
        tools=[],
        answer=Answer(text="The user wants src/a.py to be fixed."),
    )
    assert asked.started.purpose is Purpose.COMPACTION
    after = respond(
        desk,
        item("fix src/a.py"),
        ENVIRONMENT,
        item("Another model began this:\nThe user wants src/a.py to be fixed."),
        item("go on"),
        headers=codex(x_codex_window_id="t:1"),
    )
    one_tree(first, asked, after)
    assert after.started.link is Link.SUMMARY
    (compaction,) = desk.records.compactions(after.started.tree)
    assert [each.text for each in compaction.ledger.lost] == ["77"]
    assert desk.records.history(after.started.tree, after.started.node)[0].text == "fix src/a.py"


def test_codex_compacts_with_its_own_provider(desk):
    first = respond(desk, item("fix"), answer=Answer(text="looking"))
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
    asked = respond(
        desk,
        item("fix"),
        item("looking", role="assistant"),
        {"type": "compaction_trigger"},
        answer=Answer(items=[sealed]),
    )
    after = respond(
        desk, item("fix"), sealed, item("go on"), headers=codex(x_codex_window_id="t:1"), is_exact=False
    )
    one_tree(first, asked, after)
    assert (asked.started.purpose, after.started.link) == (Purpose.COMPACTION, Link.SUMMARY)


def test_a_new_window_of_codex_without_a_summary_follows_the_old_one(desk):
    first = respond(desk, item("fix"), answer=Answer(text="looking"))
    after = respond(desk, item("fix"), item("go on from elsewhere"), headers=codex(x_codex_window_id="t:1"))
    one_tree(first, after)
    assert after.started.link is Link.WINDOW
    assert [node.text for node in desk.records.history(after.started.tree, after.started.node)] == [
        "fix",
        "go on from elsewhere",
    ]


def test_codex_resends_a_broken_reply_and_marks_aborted_turns(desk):
    first = respond(desk, item("fix"), answer=Answer(text="x" * 40, calls=[("c1", "shell", {})]))
    aborted = respond(desk, item("fix"), item("<turn_aborted>\nby user\n</turn_aborted>"), item("again"))
    assert desk.texts(aborted)[0] == "fix"
    one_tree(first, aborted)


def test_codex_sub_agents_have_threads_of_their_own(desk):
    first = respond(desk, item("fix"), answer=Answer(calls=[("c1", "spawn_agent", {"message": "look"})]))
    child = respond(
        desk,
        item("look"),
        headers=codex(thread="t2", x_codex_parent_thread_id="t", x_openai_subagent="collab"),
    )
    session = desk.records.session(child.started.session)
    assert child.started.tree != first.started.tree
    assert (session.parent, session.call_id, session.agent_id) == (first.started.session, "c1", "t2")


def chat(desk, *messages, answer=None, headers=None, is_exact=True, **more):
    given = {"messages": list(messages), **more}
    return desk.send(Wire.CHAT, given, answer, headers=headers or {}, is_exact=is_exact)


def opencode(session="ses_1", **more):
    return {"user-agent": "opencode/1.18.33 ai-sdk", "x-session-id": session} | {
        name.replace("_", "-"): value for name, value in more.items()
    }


def test_opencode_titles_compacts_and_starts_sub_agents(desk):
    def ask(*messages, answer=None, headers=None, **more):
        given = {"messages": list(messages), "tools": TOOLS, "stream": True, **more}
        return desk.send(Wire.MESSAGES, given, answer, headers=headers or opencode())

    title = ask(
        user(text("rename the columns")),
        tools=[],
        system="You are a title generator.",
        answer=Answer(text="Columns"),
    )
    first = ask(user(text("rename the columns", mark=True)), answer=Answer(text="which of the 12?"))
    summary = "The user wants to rename columns of the ledger."
    asked = ask(
        user(text("Summarise:\nUser: rename the columns\n\nAssistant: which of the 12?\n")),
        tools=[],
        system="You summarise.",
        answer=Answer(text=summary),
    )
    after = ask(user(text("What did we do so far?")), said(text(summary)), user(text("Continue.")))
    one_tree(title, first, asked, after)
    purposes = [each.started.purpose for each in (title, first, asked, after)]
    assert purposes == [Purpose.TITLE, Purpose.TURN, Purpose.COMPACTION, Purpose.TURN]
    assert after.started.link is Link.SUMMARY
    child = ask(user(text("look")), headers=opencode("ses_2", x_parent_session_id="ses_1"))
    assert desk.records.session(child.started.session).parent == first.started.session


def test_pi_has_no_session_and_keeps_turns_after_a_summary(desk):
    def ask(*messages, answer=None, **more):
        given = {"messages": list(messages), "tools": TOOLS, **more}
        return desk.send(Wire.MESSAGES, given, answer, headers={"user-agent": "Anthropic/JS 1.9"})

    first = ask(user(text("write a parser", mark=True)), answer=Answer(text="of what?"))
    turn = [user(text("of tides")), said(call("t9", path="tides.py"))]
    second = ask(
        user(text("write a parser")),
        said(text("of what?")),
        turn[0],
        answer=Answer(calls=[("t9", "Bash", {"path": "tides.py"})]),
    )
    asked = ask(
        user(
            text(
                "<conversation>\n[User]: write a parser\n\n[Assistant]: of what?\n</conversation>\nSummarise it."
            )
        ),
        tools=[],
        answer=Answer(text="A parser of tides is to be written."),
    )
    after = ask(
        user(text("<summary>\nA parser of tides is to be written.\n</summary>")),
        *turn,
        user(result("t9", "written")),
    )
    one_tree(first, second, asked, after)
    assert after.started.link is Link.SUMMARY
    assert asked.started.purpose is Purpose.COMPACTION


def test_aider_moves_its_scaffold_and_rewrites_the_last_words(desk):
    def u(words):
        return {"role": "user", "content": words}

    def a(words):
        return {"role": "assistant", "content": words}

    files = [
        u("I have *added these files*:\nmain.py v1"),
        a("Ok, any changes I propose will be to those files."),
    ]
    newer = [
        u("I have *added these files*:\nmain.py v2"),
        a("Ok, any changes I propose will be to those files."),
    ]
    first = chat(
        desk,
        *files,
        u("add a flag\n\n# *SEARCH/REPLACE* rules:\n" + "x" * 300),
        answer=Answer(text="added the flag --dry"),
    )
    second = chat(
        desk,
        u("add a flag\n\nreminder"),
        a("added the flag --dry"),
        *newer,
        u("and a test\n\nrules"),
        answer=Answer(text="added a test"),
    )
    third = chat(
        desk,
        u("add a flag\n"),
        a("added the flag --dry"),
        u("and a test\n"),
        a("added a test"),
        *newer,
        u("thanks\n\nrules"),
    )
    assert [each.started.link for each in (second, third)] == [Link.REPLY, Link.REPLY]
    one_tree(first, second, third)
    assert second.reply in [node.id for node in desk.grove.read.path(third.started.tree, third.reply).nodes]


def test_the_official_clients_send_their_objects_back(desk):
    first = chat(
        desk,
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        answer=Answer(text="ho", calls=[("c1", "f", {"b": 1, "a": "é"})]),
    )
    back = {
        "role": "assistant",
        "content": "ho",
        "refusal": None,
        "annotations": [],
        "audio": None,
        "parsed": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":"\\u00e9", "b":1}'}}
        ],
    }
    second = chat(
        desk,
        {"role": "system", "content": "Be brief. It is late."},
        {"role": "user", "content": [text("hi")]},
        back,
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "user", "content": "so?"},
    )
    one_tree(first, second)
    assert second.started.link is Link.PREFIX
    assert desk.texts(second) == ["hi", "ho", "", "so?", "answer 2"]


def test_responses_by_id_and_by_reference_find_their_node(desk):
    first = respond(desk, item("hi"), answer=Answer(text="ho"), headers={})
    second = respond(desk, item("more"), previous_response_id="resp_1", headers={}, answer=Answer(text="two"))
    third = respond(
        desk,
        item("hi"),
        item("ho", role="assistant"),
        item("more"),
        item("two", role="assistant"),
        item("end"),
        headers={},
    )
    referred = respond(
        desk,
        item("hi"),
        {"type": "item_reference", "id": "msg_1"},
        item("another"),
        headers={},
        is_exact=False,
    )
    one_tree(first, second, third, referred)
    assert (second.started.link, third.started.link, referred.started.link) == (
        Link.RESPONSE,
        Link.PREFIX,
        Link.PREFIX,
    )
    assert desk.texts(third) == ["hi", "ho", "more", "two", "end", "answer 3"]


@covers("proxy.completions")
def test_a_document_is_continued_where_it_ended(desk):
    def complete(prompt, said):
        return desk.send(Wire.COMPLETIONS, {"prompt": prompt}, Answer(text=said), is_exact=False)

    first = complete("It was late.", " The lamp burned")
    second = complete("It was late. The lamp burned low, and", " nobody came.")
    again = complete("It was late. The lamp burned low, and", " she left.")
    other = complete("It was late.", " The fog came in")
    one_tree(first, second, again, other)
    assert "".join(desk.texts(again)) == "It was late. The lamp burned low, and she left."
    assert again.started.node == second.started.node
    assert other.started.node == first.started.node


@covers("proxy.edited-history")
def test_an_edited_question_is_a_branch_even_if_the_later_turns_are_kept(desk):
    def u(words):
        return {"role": "user", "content": words}

    def a(words):
        return {"role": "assistant", "content": words}

    chat(desk, u("one"), answer=Answer(text="first"))
    chat(desk, u("one"), a("first"), u("two"), answer=Answer(text="second"))
    third = chat(desk, u("one"), a("first"), u("two"), a("second"), u("three"), answer=Answer(text="third"))
    edited = chat(desk, u("one"), a("first"), u("zwei"), a("second"), u("three"), a("third"), u("four"))
    assert edited.started.link is Link.PREFIX
    assert desk.texts(edited) == ["one", "first", "zwei", "second", "three", "third", "four", "answer 4"]
    one_tree(third, edited)


@covers("proxy.tokens-apart")
def test_linking_never_crosses_tokens(desk, loom):
    other = Desk(loom, token=next(_TOKENS))
    mine = of(desk, user(text("hello")), answer=Answer(text="hi", calls=[("same", "Bash", {})]))
    theirs = of(other, user(text("hello")), said(text("hi"), call("same")), user(result("same", "x")))
    assert mine.started.tree != theirs.started.tree
    assert theirs.started.link is Link.ROOT


def test_two_named_sessions_that_begin_alike_are_two_trees(desk):
    one = of(desk, user(text("list the files")), answer=Answer(text="a.txt"))
    other = of(desk, user(text("list the files")), headers=claude("s-9"), answer=Answer(text="a.txt"))
    again = of(desk, user(text("list the files")), headers=claude("s-9"), answer=Answer(text="a.txt"))
    assert one.started.tree != other.started.tree
    assert again.started.node == other.started.node


@covers("proxy.constant-search")
def test_a_parent_is_found_by_as_few_statements_among_many_trees(desk):
    def count(number):
        chat(
            desk,
            {"role": "user", "content": f"start {number}"},
            answer=Answer(text=f"reply {number}"),
            is_exact=False,
        )
        history = [
            {"role": "user", "content": f"start {number}"},
            {"role": "assistant", "content": f"reply {number}"},
        ]
        with statements(desk.grove.caller.store) as heard:
            found = chat(desk, *history, {"role": "user", "content": "more"}, is_exact=False)
        assert found.started.link is Link.PREFIX
        return len(heard)

    few = count(0)
    for number in range(1, 25):
        chat(desk, {"role": "user", "content": f"other {number}"}, is_exact=False)
    assert count(100) <= few


def test_an_answer_that_is_passed_on_to_another_question_is_no_compaction(desk):
    chat(
        desk,
        {"role": "user", "content": "write a poem"},
        answer=Answer(text="the lamp burns low on the quay tonight"),
    )
    review = chat(desk, {"role": "user", "content": "Review: the lamp burns low on the quay tonight"})
    assert review.started.link is Link.ROOT


@covers("proxy.strict")
def test_what_a_server_left_open_is_closed_when_the_next_one_starts(desk, loom):
    given = {"messages": [{"role": "user", "content": "hello"}]}
    now = datetime.now(UTC)
    old = desk.send(Wire.CHAT, given, started=now - timedelta(hours=2))
    new = desk.send(Wire.CHAT, {"messages": [{"role": "user", "content": "hi"}]}, started=now)
    assert close_unfinished(loom.caller) == 1
    assert close_unfinished(loom.caller) == 0
    assert [row.error for row in desk.records.requests(old.started.session)] == [
        "the server ended before the answer"
    ]
    assert [row.error for row in desk.records.requests(new.started.session)] == [""]


def test_what_no_database_can_keep_is_recorded_all_the_same(desk):
    odd = chat(
        desk,
        {"role": "user", "content": "a\x00b \ud800"},
        is_exact=False,
        answer=Answer(calls=[("c", "f", {"n": 2**70, "x": "\x00"})]),
    )
    assert odd.reply is not None


def test_every_recorded_tree_verifies(loom):
    assert loom.verify().valid
