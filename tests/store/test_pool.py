"""No read waits for a connection that its own thread holds: everything works with a single one."""

import pytest
from tests.covers import covers

import weft
from weft.errors import UnavailableError
from weft.store import sqlite_dialect
from weft.store.base import Snapshot


@pytest.fixture
def grove(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_dialect, "_READERS", 1)
    monkeypatch.setattr(sqlite_dialect, "_POOL_SECONDS", 0.2)
    with weft.open(tmp_path / "grove.db") as opened:
        yield opened


@covers("store.no-nested-reads")
def test_everyday_work_needs_one_connection(grove, tmp_path):
    model = grove.add_agent("model", model_ref="scripted:answers")
    tree = grove.plant("Marie")
    node = tree.say("the lamp")
    grove.remember("Marie likes lamps.")
    grove.remember("And looms.")
    path = {"kind": "Path", "treeId": tree.id, "nodeId": node.id}
    for preset in ("dialogue", "layered"):
        assert grove.recipes.run({"kala": path, "presetId": preset}).messages
    assert grove.recipes.at(node).messages
    assert tree.stats(agent=model.id).requests is not None
    assert node.context().messages
    assert len(grove.search("lamp").hits) > 0
    assert not grove.verify().findings
    grove.export(tmp_path / "grove.json")
    grove.backup(tmp_path / "backup.db", verify=True)


def test_a_pool_that_is_exhausted_is_said(grove):
    store = grove.caller.executor.store
    with store.read() as session, pytest.raises(UnavailableError, match="too many reads"), store.read():
        assert session is not None


def test_a_snapshot_reads_one_state_and_writes_nothing(grove):
    tree = grove.plant("Marie")
    store = grove.caller.executor.store
    with store.read() as session:
        snapshot = Snapshot(store, session)
        with snapshot.read() as first, snapshot.read() as second:
            assert first is second is session
        with pytest.raises(weft.WeftError, match="cannot be written"):
            snapshot.write(lambda _: None)
    assert tree.say("x")
