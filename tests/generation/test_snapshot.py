"""A generation reads one snapshot, and writes once to begin and once for each call."""

import contextlib
from collections import Counter
from dataclasses import replace

import pytest
from tests.covers import covers
from tests.generation.stage import grove_with

from weft.providers.scripted import PROFILE
from weft.testing import Scripted
from weft.tree.agent import COLLABORATOR


@contextlib.contextmanager
def sessions(store, monkeypatch):
    """Counts how often a store is opened for reading and for writing."""
    counts, read, write = Counter(), store.read, store.write

    def reading():
        counts["reads"] += 1
        return read()

    def writing(work, **settings):
        counts["writes"] += 1
        return write(work, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(store, "read", reading)
        patch.setattr(store, "write", writing)
        yield counts


@covers("generate.one-snapshot")
@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
@pytest.mark.parametrize("permissions", [None, list(COLLABORATOR)], ids=["subject", "loom-aware"])
def test_two_continuations_read_one_snapshot_and_write_three_transactions(
    address, monkeypatch, mode, permissions
):
    model = Scripted(profile=replace(PROFILE, choices=1))
    with grove_with(address, model, background=False) as grove:
        muse = grove.add_agent("Muse", model_ref="scripted:echo", permissions=permissions)
        grove.remember("likes tea")
        project = grove.create_project("Pots", system_prompt="Be kind.")
        tree = grove.plant("Tea", "Which pot?", mode=mode, project=project.id)
        node = tree.say("The green one.")
        if mode == "dialogue":
            # The next request is compared with this one, and its cached part is predicted.
            node = node.generate(agent=muse.name)[0].say("And now?")
        with sessions(grove.caller.store, monkeypatch) as counts:
            grown = node.generate(agent=muse.name, n=2)
        assert len(grown) == len({each.id for each in grown}) == 2
        assert counts == {"reads": 1, "writes": 3}
        with sessions(grove.caller.store, monkeypatch) as counts:
            node.context(agent=muse.name)
            node.preflight(agent=muse.name)
        assert counts == {"reads": 2}


@covers("generate.one-snapshot")
def test_what_was_typed_is_committed_first_and_read_in_the_snapshot_after_it(address, monkeypatch):
    with grove_with(address, Scripted(), background=False) as grove:
        tree = grove.plant("Tea", "Once", mode="buffer")
        tree.type(" upon")
        with sessions(grove.caller.store, monkeypatch) as counts:
            tree.generate(agent="Echo")
        assert counts == {"reads": 2, "writes": 3}
