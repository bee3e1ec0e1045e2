"""Who may do what through a connection: its agent's rights, its caller's, and its own."""

from itertools import combinations

import pytest
from tests.covers import covers
from tests.mcp_server.scenario import AGENT
from tests.mcp_server.talk import talking

from weft.errors import InvalidInputError, NotFoundError
from weft.grove.grove import Grove
from weft.mcp_server.server import McpFace
from weft.mcp_server.tools import TOOLS
from weft.runtime.operations.access import admit
from weft.runtime.operations.executor import Caller
from weft.tree.agent import Permission, parse_permissions


def sets() -> list[frozenset[Permission]]:
    """Every set of permissions that can be granted."""
    found = []
    for size in range(len(Permission) + 1):
        for chosen in combinations(Permission, size):
            try:
                found.append(parse_permissions(chosen))
            except InvalidInputError:
                continue
    return found


def arguments(tree: str, root: str, said: str, note: str) -> dict[str, dict]:
    """Something that each tool can do here."""
    return {
        "trees": {},
        "new_tree": {"text": "x"},
        "documents": {},
        "new_document": {"title": f"D{note}"},
        "agents": {},
        "context": {"tree": tree},
        "help": {},
        **{
            name: {"tree": tree, **more}
            for name, more in {
                "view": {"node": root},
                "list": {"node": root, "what": "continuations"},
                "tree": {},
                "switch": {"node": root},
                "search": {"query": "x"},
                "think": {"text": "x"},
                "pin": {"node": root},
                "stash": {"label": "x", "text": "x"},
                "recall": {"label": "x"},
                "drop": {"node": root},
                "memory": {},
                "respond": {"node": root, "text": "x"},
                "annotate": {"node": root, "text": "x"},
                "edit": {"node": said, "text": "other"},
                "merge": {"nodes": [root, said], "text": "x"},
                "split": {"node": said, "at": "two"},
                "join": {"node": root},
                "attach": {"node": said, "item": f"[{root}]"},
                "link": {"node": root, "toNode": said},
                "unlink": {"node": root, "toNode": said},
                "tag": {"node": root, "name": "t"},
                "untag": {"node": root, "name": "t"},
                "bookmark": {"node": root},
                "unbookmark": {"node": root},
                "prune": {"node": said},
                "restore": {"node": said},
                "exclude": {"node": said},
                "include": {"node": said},
                "collapse": {"first": root, "last": said, "name": f"fold{note}"},
                "expand": {"name": f"fold{note}"},
                "undo": {},
                "redo": {},
                "continue": {"from": root, "agent": AGENT},
                "read": {"document": "Paper", "everywhere": True},
                "write": {"document": "Paper", "append": True, "text": "x", "everywhere": True},
            }.items()
        },
    }


@covers("mcp.permissions", "mcp.help-agrees")
@pytest.mark.parametrize("within", sets(), ids=lambda each: "+".join(sorted(each)) or "nothing")
def test_a_connection_may_do_what_it_was_opened_for_and_nothing_else(peopled, within):
    grove = peopled
    tree = grove.plant("T", "one")
    said = tree.root.say("one two")
    if not grove.documents():
        grove.write_document("Paper", "text\n")
    given = arguments(tree.id, tree.root.local_id, said.local_id, str(len(grove.trees())))
    assert given.keys() == TOOLS.keys()
    before = len(grove.read.events(tree.id))
    with talking(McpFace(grove, within=within).server()) as talk:
        refused = {
            name for name, each in given.items() if _denied(talk(name, **each), TOOLS[name].permission)
        }
        helped = talk("help")
    assert refused == {name for name, tool in TOOLS.items() if tool.permission not in within}
    if not within & {Permission.LOOM_WRITE, Permission.LOOM_GENERATE, Permission.DOC_WRITE}:
        kinds = {event.kind for event in grove.read.events(tree.id)[before:]}
        assert kinds <= {"switch", "think", "pin", "unpin", "stash", "unstash", "recall"}
    if Permission.LOOM_AWARE in within:
        for name in TOOLS:
            line = next(line for line in helped.text.splitlines() if _names(line, name))
            assert ("not permitted" in line) == (name in refused), line


def _denied(reply, permission: Permission) -> bool:
    denied = reply.refused and reply.facts["code"] == "PERMISSION_DENIED"
    if denied:
        assert reply.facts["message"] == f"{permission} not enabled"
        assert reply.text.startswith(f"✗ PERMISSION_DENIED: {permission} not enabled\n  hint: ")
    return denied


def _names(line: str, tool: str) -> bool:
    words = line.replace(",", " ").split()
    return tool in words[:2] or ("permitted" in line and tool in words)


@covers("mcp.permissions")
def test_an_agent_acts_with_its_own_rights_its_callers_and_the_connections(peopled):
    grove = peopled
    tree = grove.plant("T", "one")
    root = tree.root.local_id
    grove.add_agent("Reader", type="human", permissions=["loom_aware"])
    grove.add_agent("Writer", type="human", permissions=["loom_aware", "loom_write"])
    every = {
        name: grove if name == "human" else grove.acting_as(name) for name in ("human", "Reader", "Writer")
    }
    may = {"human": True, "Writer": True, "Reader": False}
    for caller, opened in every.items():
        for agent, allowed in may.items():
            for within in (None, frozenset({Permission.LOOM_AWARE})):
                with talking(McpFace(opened, agent, within).server()) as talk:
                    reply = talk("respond", tree=tree.id, node=root, text="x")
                expected = may[caller] and allowed and within is None
                assert reply.refused is not expected, (caller, agent, within, reply)


@covers("mcp.author")
def test_the_agent_of_a_connection_is_the_author_and_has_a_place_and_memory_of_its_own(peopled):
    grove = peopled
    tree = grove.plant("T", "one")
    grove.add_agent(
        "Claude", model_ref="scripted:other", permissions=["loom_aware", "loom_write", "loom_generate"]
    )
    with talking(McpFace(grove, "Claude").server()) as talk:
        made = talk.do("respond", tree=tree.id, node=tree.root.local_id, text="Said by a model.")
        talk.do("stash", tree=tree.id, label="mine", text="secret")
        itself = talk("continue", tree=tree.id, agent="Claude")
    node = tree.node(made["nodes"][0]).value
    assert (node.author_type, node.role) == ("model", "assistant")
    assert tree.refresh().cursor.local_id != made["at"]
    assert itself.facts["code"] == "PERMISSION_DENIED"
    with talking(McpFace(grove).server()) as talk:
        assert "secret" not in talk("memory", tree=tree.id).text


@covers("mcp.permissions")
def test_rights_that_are_taken_away_are_gone_at_once(peopled):
    grove = peopled
    tree = grove.plant("T", "one")
    grove.add_agent("Brief", type="human")
    with talking(McpFace(grove, "Brief").server()) as talk:
        talk.do("view", tree=tree.id, node=tree.root.local_id)
        from weft.runtime.operations.agents import ArchiveAgent

        grove.perform(ArchiveAgent(agent="Brief"))
        reply = talk("view", tree=tree.id, node=tree.root.local_id)
    assert reply.facts["code"] == "PERMISSION_DENIED"


def test_an_agent_that_is_not_there_is_refused(peopled):
    with talking(McpFace(peopled, "Nobody").server()) as talk:
        assert talk("trees").facts["code"] == NotFoundError.code


@covers("security.unreadable-is-absent", "security.only-companions")
def test_a_tree_that_may_not_be_read_is_answered_like_one_that_is_not_there(peopled):
    grove, absent = peopled, "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    closed, shared = grove.plant("Closed kingfisher", "one"), grove.plant("Shared", "one")
    said = closed.root.say("one two kingfisher")
    grove.users.add("eve", role=None)
    grove.users.set_role("eve", "editor", tree=shared.id)
    admitted = admit(grove.caller.executor, grove.users.issue("eve")[0])
    eve = Grove(Caller(grove.caller.executor, admitted.actor))
    with talking(McpFace(eve).server()) as talk:
        for name, given in arguments(closed.id, closed.root.local_id, said.local_id, "9").items():
            answers = [
                talk(name, **({**given, "tree": tree} if "tree" in given else given))
                for tree in (closed.id, absent)
            ]
            assert all("kingfisher" not in str(each.facts) + each.text for each in answers), name
            if "tree" in given:
                assert {(each.refused, each.facts["code"]) for each in answers} == {(True, "NOT_FOUND")}
                assert answers[0].text.replace(closed.id, absent) == answers[1].text
        names = {each["name"] for each in talk.do("agents")["agents"]}
    assert names == {"eve", grove.me.name}
