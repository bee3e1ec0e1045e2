"""Every operation in random order, on both stores, agrees with a tree kept on paper."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.covers import covers
from tests.properties.machine import FOCI, focused
from tests.properties.workshop import Workshop, open_workshop

from weft.tree.tree import Mode

PROVE = bool(os.environ.get("WEFT_PROVE"))
ROUNDS, EXAMPLES, STEPS = (15, 9, 60) if PROVE else (1, 5, 25)
"""A round is kept short: from the tenth example on most are small changes to earlier ones."""

PLAYS = [(mode, focus) for mode in Mode for focus in FOCI if (mode, focus) != (Mode.DIALOGUE, "typing")]
"""Nobody types in a dialogue."""


@pytest.fixture(scope="module")
def workshop(module_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEFT_BLOBS", str(tmp_path_factory.mktemp("blobs")))
        with open_workshop(module_address) as opened:
            yield opened


def play(workshop: Workshop, mode: Mode, focus: str, how: settings) -> None:
    class Here(focused(focus)):
        def __init__(self) -> None:
            super().__init__(workshop, mode)

    run_state_machine_as_test(Here, settings=how)


@covers("proof.stateful-operations", "proof.counters-true")
@pytest.mark.parametrize("mode", Mode)
def test_a_few_operations_agree_with_the_paper(workshop: Workshop, mode: Mode):
    play(workshop, mode, "everything", settings(max_examples=1, stateful_step_count=15))


@covers(
    "proof.stateful-operations",
    "proof.counters-true",
    "op.failure-changes-nothing",
    "tree.exactly-one-root",
    "node.immutable",
    "node.metadata-keeps-identity-and-hash",
    "event.hash-chained",
    "step.ruler-immutable",
)
@pytest.mark.long
@pytest.mark.parametrize(("mode", "focus"), PLAYS)
def test_many_operations_agree_with_the_paper(workshop: Workshop, mode: Mode, focus: str):
    for _ in range(ROUNDS):
        play(workshop, mode, focus, settings(max_examples=EXAMPLES, stateful_step_count=STEPS))
