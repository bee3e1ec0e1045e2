"""Every provider under a real grove: what its server said is kept to the byte, and its key nowhere."""

import contextlib
import json
import logging
import traceback

import pytest
from tests.cli.desk import Desk
from tests.covers import covers
from tests.finding import columns_with, files_with
from tests.providers.houses import CANARY, HOUSES, MARK, connect
from tests.providers.loopback import gone, plain, serving, streamed
from tests.soundness import check_sound

import weft
from weft.errors import ProviderError
from weft.providers.base import ProviderRegistry
from weft.runtime.coordination.background import model_loop
from weft.runtime.generation.stream import TextChunk

WORDS = ["Hel", "lo ", "thére ", "— 🌊"]


@contextlib.contextmanager
def grove_of(address, house, server):
    provider = house.make(connect(server.url + house.base, house.name))
    with weft.open(address, providers=ProviderRegistry({house.name: provider})) as grove:
        if not any(agent.name == "Far" for agent in grove.agents()):
            grove.add_agent("Far", model_ref=f"{house.name}:{house.model}")
        yield grove
    model_loop().submit(provider.close()).result()


@pytest.fixture(params=HOUSES)
def house(request):
    return HOUSES[request.param]


@covers("response.exact-wire-bytes", "response.streamed-bytes", "request.reassembled")
def test_what_came_is_kept_to_the_byte_and_what_was_sent_is_found_again(file_address, house):
    with (
        serving(streamed(*house.text(WORDS), x_request_id="r1", Odd_Case="Yes")) as server,
        grove_of(file_address, house, server) as grove,
    ):
        tree = grove.plant("Tea", system_context="Be brief.")
        (node,) = tree.say("Which pot? — 🫖").generate(temperature=0.25, max_tokens=64)
        assert node.text == "".join(WORDS)
        told = node.provenance()
        assert told.raw_response == server.said[0]
        assert told.request == server.heard[0].body
        sent = grove.generations.sent(tree.id, node.id)
        checked = grove.generations.check_sent(sent)
        assert (checked.is_whole, checked.again, checked.why) == (True, "same", "")
        assert len(server.heard) == 1
        tree.describe(system_context="Be very brief.")
        assert grove.generations.check_sent(sent).again == "differs"
        check_sound(grove)


@covers("request.reassembled", "provider.cache-optional")
@pytest.mark.parametrize("created", [True, False])
def test_a_request_with_an_explicit_cache_is_assembled_again_and_compared_with_itself(file_address, created):
    house = HOUSES["google"]
    name = json.dumps({"name": "cachedContents/c1", "model": f"models/{house.model}"}).encode()
    answers = [plain(200, name) if created else gone(), streamed(*house.text(WORDS))]
    with serving(*answers) as server, grove_of(file_address, house, server) as grove:
        tree = grove.plant("Tea", system_context="Be careful. " * 1_000)
        asked = tree.say("Which pot?")
        made = asked.generate(preferences={"cacheLifetime": "1h"})
        (node,) = made
        assert node.provenance().request == server.heard[1].body
        assert (b"cachedContents/c1" in server.heard[1].body) is created
        assert [notice.split("(")[0] for notice in made.notices] == ([] if created else ["google: no cache "])
        checked = grove.generations.check_sent(grove.generations.sent(tree.id, node.id))
        assert (checked.is_whole, checked.again, checked.why) == (True, "same", "")
        assert len(server.heard) == 2
        check_sound(grove)


@covers("security.canary-key", "response.own-key-replaced")
def test_a_key_is_in_no_database_log_export_error_or_trace(address, house, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    echoes = house.error(401, f"Incorrect API key provided: {CANARY}, Authorization: Bearer {CANARY}")
    traces = []
    spread = [CANARY[:2], CANARY[2:20], CANARY[20:]]
    with (
        serving(
            plain(401, echoes, reason=f"Bad key {CANARY}"),
            streamed(*house.text([*WORDS, CANARY, " ", *spread]), key=CANARY),
        ) as server,
        grove_of(address, house, server) as grove,
    ):
        asked = grove.plant("Tea").say("Which pot?")
        with pytest.raises(ProviderError) as refused:
            asked.generate()
        traces += traceback.format_exception(refused.value)
        traces += [repr(refused.value), str(refused.value.hint)]
        stream = asked.stream()
        shown = "".join(event.text for event in stream if isinstance(event, TextChunk))
        (node,) = stream.nodes
        assert node.text == shown == f"{''.join(WORDS)}{MARK} {MARK}"
        raw = node.provenance().raw_response or b""
        where = node.provenance().replaced_keys
        # One of them is spread over three events.
        assert len(where) == raw.count(b"[redacted key]") + 1 >= 3
        assert where[0] == raw.index(b"[redacted key]")
        assert all(raw[place : place + 1] == b"[" for place in where)
        shown = Desk(address)("provenance", node.id)
        assert f"replaced {len(where)} times, at byte {where[0]:,}, " in " ".join(shown.out.split())
        assert any(CANARY in value for heard in server.heard for _, value in heard.headers)
        grove.export(tmp_path / "all.json")
        node.provenance().save_bundle(tmp_path / "node.weft")
        traces += [
            repr(grove),
            repr(node),
            repr(node.provenance()),
            repr(node.provenance().manifest.to_wire()),
        ]
        traces += [str(event) for event in grove.events().events]
        if "postgres" not in address:
            grove.backup(tmp_path / "copy.db")
        # What the model itself says is kept as it was said, but for the key.
        traces += [str(columns_with(grove, part)) for part in (CANARY, *spread[1:])]
        assert traces[-3:] == ["[]"] * 3
        assert files_with(grove, CANARY) == files_with(grove, spread[2]) == []
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or spread[2].encode() not in path.read_bytes(), path
    out, err = capfd.readouterr()
    assert spread[2] not in "".join([*traces, caplog.text, out, err])


@covers("generate.spend-caps")
def test_a_call_that_was_refused_costs_nothing(file_address, house):
    with (
        serving(plain(401, house.error(401, "no"))) as server,
        grove_of(file_address, house, server) as grove,
    ):
        asked = grove.plant("Tea").say("Which pot?")
        with pytest.raises(ProviderError):
            asked.generate(max_tokens=64)
        assert grove.generations.spent().total == 0


@covers("generate.empty-answer-marked")
def test_the_command_line_names_an_answer_without_text(tmp_path, monkeypatch):
    house, address = HOUSES["compatible"], str(tmp_path / "grove.db")
    with serving(streamed(*house.text([]))) as server:
        monkeypatch.setenv("WEFT_COMPATIBLE_LAB", server.url + house.base)
        desk = Desk(address)
        desk.ok("new", "Tea", "--text", "Which pot?")
        desk.ok("agents", "add", "Far", "--model", "compatible:lab/m")
        answer = desk("gen", "--agent", "Far")
        assert (answer.code, answer.out.strip()) == (0, "")
        assert "note: empty: the model returned no text" in answer.err
        made = desk.json("gen", "Tea", "--agent", "Far")
        assert made["notices"] == ["empty: the model returned no text"]
        shown = desk.ok("provenance", made["nodes"][0]["id"])
        assert "empty: the model returned no text" in shown


@covers("security.canary-key")
def test_the_command_line_shows_and_keeps_no_key(tmp_path, monkeypatch):
    house, address = HOUSES["compatible"], str(tmp_path / "grove.db")
    refused = plain(401, house.error(401, f"Bad key {CANARY}"), reason=f"Bad key {CANARY}", www=CANARY)
    spread = streamed(*house.text(["The key ", CANARY[:5], CANARY[5:30], CANARY[30:], "."]))
    with serving(refused, spread) as server:
        monkeypatch.setenv("WEFT_COMPATIBLE_LAB", server.url + house.base)
        monkeypatch.setenv("WEFT_KEY_LAB", CANARY)
        desk = Desk(address)
        desk.ok("new", "Tea", "--text", "Which pot?")
        desk.ok("agents", "add", "Far", "--model", "compatible:lab/m")
        answers = [desk("gen", "--agent", "Far"), desk("gen", "--agent", "Far")]
        assert [answer.code != 0 for answer in answers] == [True, False]
        assert answers[1].out == f"The key {MARK}.\n"
        node = desk.json("tree")
        answers += [desk("tree"), desk("keys"), desk("export", "--out", str(tmp_path / "all.json"))]
        answers += [desk("backup", str(tmp_path / "copy.db"))]
        assert [answer.code for answer in answers[2:]] == [0] * 4
    shown = "".join(answer.out + answer.err for answer in answers) + str(node)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"all.json", "copy.db", "grove.db"} <= {path.name for path in kept}
    for part in (CANARY, CANARY[5:30], CANARY[30:]):
        assert part not in shown
        assert [path.name for path in kept if part.encode() in path.read_bytes()] == []
