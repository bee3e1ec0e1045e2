"""Requests that were looked at once, and stay the same to the byte."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.context.golden import FOLDER, GOLDEN, written
from tests.covers import covers

SCRIPT = """
import hashlib
from tests.context.golden import GOLDEN, written
print(hashlib.sha256("".join(t for make in GOLDEN.values() for t in written(make()).values()).encode()).hexdigest())
"""


@covers("layer.byte-identical")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_request_is_what_it_was(name):
    """Where a difference is meant: `python -m tests.context.golden`, and look at it."""
    for ending, text in written(GOLDEN[name]()).items():
        kept = (FOLDER / f"{name}.{ending}").read_bytes()
        assert text.encode() == kept


def test_every_kept_request_is_still_made():
    assert {path.stem for path in FOLDER.iterdir()} == set(GOLDEN)


@pytest.mark.long
@covers("layer.byte-identical")
def test_equal_inputs_give_equal_bytes_in_every_process():
    root = Path(__file__).parents[2]
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(found) == 1
