"""What the proxy recorded: proxy; and the policy of a token."""

import pytest
from tests.cli.desk import Desk
from tests.covers import covers
from tests.proxy.conversations import Desk as ProxyDesk
from tests.proxy.upstreams import Answer

import weft
from weft.runtime.proxy.wires import Wire


@pytest.fixture
def recorded(desk: Desk) -> Desk:
    """A session with a compaction."""
    with weft.open(desk.address, clock=desk.clock) as grove:
        client = ProxyDesk(grove)

        def ask(*turns: str, answer: str) -> None:
            roles = ["user", "assistant"] * len(turns)
            messages = [{"role": role, "content": words} for role, words in zip(roles, turns, strict=False)]
            client.send(Wire.CHAT, {"messages": messages}, Answer(text=answer))

        ask("fix src/a.py:14 of 4be19a2", answer="it is fixed")
        ask(
            "fix src/a.py:14 of 4be19a2",
            "it is fixed",
            "Summarise.",
            answer="The file src/a.py:14 was fixed.",
        )
        ask("So far: The file src/a.py:14 was fixed.", "Good.", "go on", answer="done")
    return desk


@covers("proxy.ledger", "proxy.views")
def test_sessions_requests_and_what_was_lost_are_listed(recorded: Desk) -> None:
    number, program, title, tree = recorded.ok("proxy").split("\t")[:4]
    assert (number, program, title) == ("1", "unknown client", "fix src/a.py:14 of 4be19a2")
    shown = recorded("proxy", width=120).out
    assert "3 requests, 1 compaction" in shown
    listed = [line.split("\t")[1:3] for line in recorded.ok("proxy", "requests", number).splitlines()]
    assert listed == [["turn", "root"], ["compaction", "prefix"], ["turn", "summary"]]
    lost = recorded("proxy", "lost", tree)
    assert lost.out.split("\t")[:2] == ["4be19a2", "1"]
    assert "id: 1 before, 0 kept, 1 lost" in lost.err
    assert recorded.json("proxy", "lost", tree)["compactions"][0]["ledger"]["nodes"] == 2
    recorded.fail("NOT_FOUND", "proxy", "requests", "99")


@covers("proxy.policy")
def test_a_token_gets_a_policy(desk: Desk) -> None:
    desk.ok("new", "Marie")
    desk.ok("users", "add", "ann")
    desk.ok("users", "token", "ann", "--policy", "fit")
    with weft.open(desk.address, clock=desk.clock) as grove:
        (token,) = grove.users.tokens()
        assert {each.id: each.policy for each in grove.proxy.usage().tokens}[token.id] == "fit"
        desk.ok("proxy", "policy", token.id, "strict")
        assert {each.id: each.policy for each in grove.proxy.usage().tokens}[token.id] == "strict"
    desk.fail("INVALID_INPUT", "users", "token", "ann", "--policy", "odd")
    desk.fail("NOT_FOUND", "proxy", "policy", "nobody", "fit")
