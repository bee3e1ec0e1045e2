"""Generations over HTTP belong to the server: they are followed, stopped and come back to by any client."""

import contextlib

import pytest
from tests.covers import covers
from tests.server.live import LiveServer

from weft.grove.grove import open_grove
from weft.providers.base import ProviderRegistry
from weft.testing import Gate, Reply, Scripted


@contextlib.contextmanager
def serving(address, *replies, gate=None):
    registry = ProviderRegistry({"scripted": Scripted(replies, gate=gate)})
    with open_grove(address, providers=registry) as grove:
        grove.add_agent("Slow", model_ref="scripted:slow")
        server = LiveServer(grove)
        try:
            yield server, grove
        finally:
            if gate is not None:
                gate.open()
            server.close()


def joined(events, **fields):
    return "".join(
        data["text"]
        for name, data in events
        if name == "text" and all(data[field] == value for field, value in fields.items())
    )


@covers("run.belongs-to-the-server", "run.text-by-offset")
def test_a_generation_goes_on_without_its_client_and_is_followed_by_another(address):
    gate = Gate(2)
    with serving(address, "One two three four", gate=gate) as (server, grove):
        tree = grove.plant("Talk", "Count.")
        status, begun = server.ask("POST", f"/api/trees/{tree.id}/nodes/{tree.root.id}/generate", {"n": 1})
        assert status == 202
        run = begun["run"]
        assert (run["kind"], run["status"], run["node"]) == ("generation", "running", tree.root.id)
        attempt = run["attempts"][0]["id"]
        gate.wait()
        assert [each["id"] for each in server.ask("GET", "/api/runs")[1]["runs"]] == [run["id"]]
        with server.follow() as stream:
            first = stream.until("text")
            assert first[-1][1] | {"run": ""} == {
                "attempt": attempt,
                "choice": 0,
                "run": "",
                "tree": tree.id,
                "parent": tree.root.id,
                "kind": "text",
                "offset": 0,
                "end": 7,
                "text": "One two",
            }
            gate.open()
            rest = stream.until("run", status="complete")
            assert joined(first + rest) == "One two three four"
            answers = [data for name, data in rest if name == "answer"]
            assert answers[-1]["status"] == "complete"
            assert grove.read.node(tree.id, answers[-1]["node"]).content.text == "One two three four"
        status, text = server.ask("GET", f"/api/attempts/{attempt}/text?offset=4")
        assert (status, text["text"], text["end"], text["status"]) == (200, "two three four", 18, "complete")
        assert server.ask("GET", f"/api/runs/{run['id']}")[1]["status"] == "complete"
        assert server.ask("GET", "/api/runs")[1]["runs"] == []


@covers("run.belongs-to-the-server")
def test_a_run_is_stopped_and_what_came_is_kept(address):
    gate = Gate(2)
    with serving(address, "One two three four", gate=gate) as (server, grove):
        tree = grove.plant("Talk", "Count.")
        with server.follow() as stream:
            run = server.ask("POST", f"/api/trees/{tree.id}/generate", {})[1]["run"]
            gate.wait()
            assert server.ask("POST", f"/api/runs/{run['id']}/stop")[0] == 200
            events = stream.until("run", status="stopped")
        answer = [data for name, data in events if name == "answer"][-1]
        assert answer["status"] == "interrupted"
        node = grove.read.node(tree.id, answer["node"])
        assert (node.content.text, node.status.value) == ("One two", "interrupted")


@covers("run.belongs-to-the-server")
def test_one_of_several_calls_is_stopped_and_the_others_go_on(address):
    gate = Gate(0)
    with serving(address, "One two", "Three four", gate=gate) as (server, grove):
        grove.add_agent("Other", model_ref="scripted:other")
        tree = grove.plant("Talk", "Count.")
        body = {"agents": ["Slow", "Other"]}
        run = server.ask("POST", f"/api/trees/{tree.id}/generate", body)[1]["run"]
        gate.wait(2)
        stopped, going = run["attempts"]
        with server.follow() as stream:
            assert server.ask("POST", f"/api/attempts/{stopped['id']}/stop")[0] == 200
            stream.until("answer", id=stopped["id"], status="interrupted")
            gate.open()
            events = stream.until("run", status="complete")
        last = {data["id"]: data["status"] for name, data in events if name == "answer"}
        assert last[going["id"]] == "complete"


@covers("run.belongs-to-the-server")
def test_what_cannot_be_generated_is_refused_at_once(address):
    with serving(address, Reply(text="Yes")) as (server, grove):
        tree = grove.plant("Talk", "Count.")
        place = f"/api/trees/{tree.id}/generate"
        assert server.ask("POST", place, {"n": 0})[0] == 400
        assert server.ask("POST", place, {"colour": "red"})[1]["path"] == "colour"
        assert server.ask("POST", place, {"agent": "Nobody"})[0] == 404
        assert server.ask("POST", "/api/trees/nothing/generate", {})[0] == 404
        assert server.ask("GET", "/api/runs/nothing")[0] == 404
        assert server.ask("GET", "/api/attempts/nothing/text")[0] == 404


@pytest.mark.parametrize("n", [3])
@covers("run.text-by-offset")
def test_the_choices_of_one_call_are_told_apart(address, n):
    with serving(address, "One", "Two", "Three") as (server, grove):
        tree = grove.plant("Talk", "Count.")
        with server.follow() as stream:
            run = server.ask("POST", f"/api/trees/{tree.id}/generate", {"n": n})[1]["run"]
            events = stream.until("run", status="complete")
        assert len(run["attempts"]) == n
        said = {
            (each["id"], each["choice"]): joined(events, attempt=each["id"], choice=each["choice"])
            for each in run["attempts"]
        }
        assert sorted(said.values()) == ["One", "Three", "Two"]


@covers("run.seen-with-rights")
def test_a_user_with_rights_on_one_tree_gets_only_what_goes_on_there(address):
    gate = Gate(1)
    with serving(address, "One two", "Three four", gate=gate) as (server, grove):
        seen, secret = grove.plant("Seen", "A."), grove.plant("Secret", "B.")
        grove.users.add("eve", role=None)
        grove.users.set_role("eve", "reader", tree=seen.id)
        token = grove.users.issue("eve")[0]
        hidden = server.ask("POST", f"/api/trees/{secret.id}/generate", {})[1]["run"]
        gate.wait()
        with server.follow("", token=token) as stream:
            shown = server.ask("POST", f"/api/trees/{seen.id}/generate", {})[1]["run"]
            gate.open()
            events = stream.until("run", id=shown["id"], status="complete")
        assert {data.get("tree") or data.get("treeId") for _, data in events} == {seen.id}
        attempt = hidden["attempts"][0]["id"]
        for path in (f"/api/runs/{hidden['id']}", f"/api/attempts/{attempt}/text"):
            assert server.ask("GET", path, token=token)[0] == 404
        assert server.ask("GET", "/api/runs", token=token)[1]["runs"] == []
        assert server.ask("POST", f"/api/runs/{hidden['id']}/stop", token=token)[0] == 404
        assert server.ask("POST", f"/api/runs/{shown['id']}/stop", token=token)[0] == 403


@covers("run.belongs-to-the-server")
def test_a_question_and_a_collaborator_go_on_in_the_background_and_tell_their_steps(address):
    replies = "Because.", "Look.\n→ help\n", "I have seen it."
    with serving(address, *replies) as (server, grove):
        grove.add_agent(
            "Muse", model_ref="scripted:muse", permissions=["loom_aware", "loom_write", "loom_generate"]
        )
        tree = grove.plant("Talk", "Hello.")
        with server.follow() as stream:
            body = {"text": "Why?", "agent": "Slow", "background": True}
            status, asked = server.ask("POST", f"/api/trees/{tree.id}/ask", body)
            assert (status, asked["run"]["kind"]) == (202, "ask")
            stream.until("run", id=asked["run"]["id"], status="complete")
            body = {"text": "Look around.", "agent": "Muse"}
            status, begun = server.ask("POST", f"/api/trees/{tree.id}/collaborate", body)
            assert (status, begun["run"]["kind"]) == (202, "collaboration")
            events = stream.until("run", id=begun["run"]["id"], status="complete")
        steps = [data for name, data in events if name == "turn"]
        assert [each["kind"] for each in steps] == ["turn", "command", "result", "turn"]
        assert steps[1]["body"] == {"text": "help", "think": False}
        assert steps[2]["body"]["ok"] is True
        kept = server.ask("GET", f"/api/runs/{begun['run']['id']}/steps")[1]["steps"]
        assert kept == steps


@covers("run.presence-and-jobs")
def test_others_are_seen_in_the_trees_that_are_named_and_jobs_by_those_who_may(address):
    with serving(address, "One") as (server, grove):
        tree, other = grove.plant("Talk", "Hello."), grove.plant("Elsewhere", "Hello.")
        said = tree.say("Here.")
        with server.follow(f"after=now&tree={tree.id}") as stream:
            here = stream.until("presence")[-1][1]
            assert (here["tree"], here["node"], here["name"]) == (tree.id, said.id, grove.me.name)
            other.say("There.")
            tree.switch("parent")
            events = stream.until("presence", node=tree.root.id)
            assert {data["tree"] for name, data in events if name == "presence"} == {tree.id}
        with server.follow() as stream:
            status, job = server.ask("POST", "/api/imports?name=x.json", [{"title": "A", "mapping": {}}])
            assert status == 202
            told = stream.until("job", id=job["id"], status="complete")[-1][1]
            assert (told["kind"], told["done"], told["total"]) == ("import", 1, 1)
