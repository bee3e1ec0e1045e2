"""Explicit caches at a provider: created once, used by later turns, renewed, replaced and deleted."""

import contextlib
import json
import threading
import time

import pytest
from tests.covers import covers
from tests.providers.houses import GOOGLE, connect, gemini
from tests.providers.loopback import plain, serving, streamed
from tests.soundness import check_sound

import weft
from weft.grove.maintenance import start_maintenance
from weft.providers.base import ProviderRegistry
from weft.runtime.coordination.background import model_loop
from weft.runtime.coordination.jobs import JobKind, JobRunner
from weft.runtime.generation.provider_caches import delete_retired_caches
from weft.store import schema
from weft.store.provider_caches import CACHE_JOB
from weft.tree.content import ToolCall, ToolResult
from weft.tree.node import Role
from weft.tree.tool_spec import ToolSpec

LONG = "Be careful with the pots. " * 500
LOOK = ToolSpec(name="look", description="Look at a pot.")


class Gemini:
    """A server that holds caches, and answers with or without them."""

    def __init__(self):
        self.caches = {}
        self.has_deleted = threading.Event()
        self.created, self.renewed, self.deleted, self.asked = [], [], [], []

    async def __call__(self, heard, writer):
        body = json.loads(heard.body) if heard.body else {}
        path = heard.target.partition("?")[0]
        name = path[path.index("cachedContents") :] if "cachedContents" in path else ""
        if heard.method == "POST" and name == "cachedContents":
            name = f"cachedContents/c{len(self.created) + 1}"
            self.caches[name] = body
            self.created.append(body)
            made = {"name": name, "model": body["model"], "usageMetadata": {"totalTokenCount": 4_100}}
            await plain(200, json.dumps(made).encode())(heard, writer)
        elif name and name not in self.caches:
            await plain(404, GOOGLE.error(404, "gone"))(heard, writer)
        elif heard.method == "PATCH":
            self.renewed.append((name, body["ttl"]))
            await plain(200, json.dumps({"name": name}).encode())(heard, writer)
        elif heard.method == "DELETE":
            self.deleted.append(name)
            del self.caches[name]
            self.has_deleted.set()
            await plain(200, b"{}")(heard, writer)
        elif body.get("cachedContent") and body["cachedContent"] not in self.caches:
            await plain(403, GOOGLE.error(403, "CachedContent not found"))(heard, writer)
        else:
            self.asked.append(heard.body)
            await streamed(gemini({"text": "A kettle. " * 20}, reason="STOP", usage=True))(heard, writer)

    @property
    def bodies(self):
        return [json.loads(body) for body in self.asked]


class Clock:
    def __init__(self):
        self.now = time.time_ns() // 1_000

    def __call__(self):
        self.now += 1_000
        return self.now

    def pass_seconds(self, seconds):
        self.now += seconds * 1_000_000


@contextlib.contextmanager
def scene(address):
    house, clock = Gemini(), Clock()
    with serving(house) as server:
        provider = GOOGLE.make(connect(server.url, "google"))
        registry = ProviderRegistry({"google": provider})
        with weft.open(address, providers=registry, clock=clock, background=False) as grove:
            grove.add_agent("Far", model_ref=f"google:{GOOGLE.model}")
            yield house, grove, clock
        model_loop().submit(provider.close()).result()


def run_jobs(grove):
    executor = grove.caller.executor

    def delete(job):
        delete_retired_caches(executor, executor.providers, job)

    JobRunner(executor, {CACHE_JOB: JobKind(run=delete)}).run_pending()


def rows(grove):
    with grove.caller.executor.store.read() as session:
        return list(session.execute(schema.provider_caches.select().order_by(schema.provider_caches.c.key)))


def turns(tree, count, **options):
    node = None
    for number in range(count):
        (node,) = tree.say(f"Question {number}?").generate(preferences={"cacheLifetime": "5m"}, **options)
    return node


@covers("cache.gemini", "cache.gemini-reused", "preview.cache-as-two-requests")
def test_ten_turns_use_one_cache(address):
    with scene(address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        asked = tree.say("Which pot?")
        preview = asked.context(preferences={"cacheLifetime": "5m"})
        assert [each.purpose for each in preview.requests] == ["cache", "generate"]
        (node,) = asked.generate(preferences={"cacheLifetime": "5m"})
        last = turns(tree, 9)
        assert len(house.created) == 1
        assert {body["cachedContent"] for body in house.bodies} == {"cachedContents/c1"}
        assert len(house.bodies) == 10
        assert house.created[0]["systemInstruction"]["parts"][0]["text"].startswith("Be careful")
        assert all("systemInstruction" not in body for body in house.bodies)
        later = last.say("And now?")
        context = later.context(preferences={"cacheLifetime": "5m"})
        assert [each.purpose for each in context.requests] == ["generate"]
        later.generate(prepared=context)
        assert house.asked[-1] == context.request.data
        (row,) = rows(grove)
        assert (row.name, row.messages, row.model) == ("cachedContents/c1", 0, f"google:{GOOGLE.model}")
        for answer in (node, last):
            sent = grove.generations.sent(tree.id, answer.id)
            assert json.loads(sent.cache) == house.created[0], "the request that made the cache is kept"
            checked = grove.generations.check_sent(sent)
            assert (checked.is_whole, checked.again, checked.why) == (True, "same", "")
        check_sound(grove)


@covers("cache.gemini-replaced")
def test_a_larger_cache_replaces_one_when_what_stays_has_doubled_and_a_job_deletes_the_old_one(address):
    with scene(address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        turns(tree, 2)
        tree.say("Read this: " + "tea " * 6_000)
        node = turns(tree, 2)
        assert len(house.created) == 2
        assert house.bodies[-1]["cachedContent"] == "cachedContents/c2"
        assert len(house.created[1]["contents"]) > 1
        assert house.deleted == []
        run_jobs(grove)
        assert house.deleted == ["cachedContents/c1"]
        assert [(row.retired, row.expires_at > 0) for row in rows(grove)] == [(True, False), (False, True)]
        first = tree.root.children[0].children[0]
        assert grove.generations.sent(tree.id, first.id).cache is not None
        turns(tree, 3)
        assert len(house.created) == 2
        assert node.value.status == "complete"
        run_jobs(grove)
        assert house.deleted == ["cachedContents/c1"]


@covers("cache.gemini-renewed")
def test_a_cache_is_renewed_once_half_of_its_time_is_over_and_made_again_when_it_has_ended(file_address):
    with scene(file_address) as (house, grove, clock):
        tree = grove.plant("Tea", system_context=LONG)
        turns(tree, 2)
        assert house.renewed == []
        clock.pass_seconds(200)
        turns(tree, 1)
        assert house.renewed == [("cachedContents/c1", "300s")]
        clock.pass_seconds(250)
        turns(tree, 1)
        assert len(house.created) == 1
        assert len(house.renewed) == 2
        clock.pass_seconds(301)
        house.caches.clear()
        model_loop().submit(grove.caller.executor.providers.provider("google").close()).result()
        turns(tree, 1)
        assert len(house.created) == 2


@covers("cache.gemini-deleted")
@pytest.mark.parametrize("ending", ["archive", "delete"])
def test_the_caches_of_a_tree_that_is_put_away_or_deleted_are_deleted(address, ending):
    with scene(address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        turns(tree, 1)
        if ending == "archive":
            tree.archive()
        else:
            tree.delete(confirm=tree.id)
        assert house.deleted == []
        run_jobs(grove)
        assert house.deleted == ["cachedContents/c1"]
        assert len(rows(grove)) == (1 if ending == "archive" else 0)


@covers("cache.gemini-deleted")
def test_the_maintenance_of_a_grove_deletes_caches(file_address):
    with scene(file_address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        turns(tree, 1)
        tree.archive()
        start_maintenance(grove.caller.executor, grove.caller.actor.agent)
        assert house.has_deleted.wait(20)
        assert house.deleted == ["cachedContents/c1"]


@covers("cache.gemini-reused", "provider.cache-optional")
def test_a_cache_that_the_provider_lost_is_done_without_and_made_again_by_the_next_turn(file_address):
    with scene(file_address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        turns(tree, 1)
        house.caches.clear()
        made = tree.say("Still there?").generate(preferences={"cacheLifetime": "5m"})
        assert "the request is sent whole" in made.notices[0]
        assert "systemInstruction" in house.bodies[-1]
        checked = grove.generations.check_sent(grove.generations.sent(tree.id, made[0].id))
        assert (checked.again, checked.why) == ("same", "")
        turns(tree, 1)
        assert house.bodies[-1]["cachedContent"] == "cachedContents/c2"


@covers("cache.gemini-reused")
def test_branches_share_a_cache_and_a_changed_system_has_another(file_address):
    with scene(file_address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        one = tree.say("Which pot?")
        turns(tree, 1)
        one.switch()
        turns(tree, 2)
        assert len(house.created) == 1
        tree.describe(system_context=LONG + "Be brief.")
        turns(tree, 1)
        assert len(house.created) == 2


@covers("cache.gemini-reused", "toolcall.native")
def test_tools_are_in_the_cache_and_a_request_that_forbids_them_goes_without_it(file_address):
    with scene(file_address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        node = turns(tree, 1, tools=[LOOK])
        assert house.created[0]["tools"][0]["functionDeclarations"][0]["name"] == "look"
        assert "tools" not in house.bodies[0]
        call = node.say("Look.").say(ToolCall(id="c1", name="look", arguments={}), author="Far")
        answered = call.say(ToolResult(call_id="c1", content="blue"), role=Role.TOOL)
        answered.generate(tools=[LOOK], preferences={"cacheLifetime": "5m"})
        assert house.bodies[-1]["cachedContent"] == "cachedContents/c1"
        answered.generate(tools=[LOOK], tool_choice="none", preferences={"cacheLifetime": "5m"})
        assert "cachedContent" not in house.bodies[-1]
        assert house.bodies[-1]["toolConfig"]["functionCallingConfig"]["mode"] == "NONE"


@covers("cache.gemini-reused")
def test_several_requests_of_one_generation_create_one_cache(file_address):
    with scene(file_address) as (house, grove, _):
        tree = grove.plant("Tea", system_context=LONG)
        tree.say("Which pot?").generate(n=20, preferences={"cacheLifetime": "5m"})
        assert len(house.created) == 1
        assert {body["cachedContent"] for body in house.bodies} == {"cachedContents/c1"}
        assert len(rows(grove)) == 1
