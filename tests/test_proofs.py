"""The long proofs: a sample with every run, all of it on request, and what they came to in figures."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.covers import covers

ROOT = Path(__file__).parents[1]


@covers("proof.sample-and-whole")
def test_the_sample_is_part_of_every_run_and_the_whole_has_a_command():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    prove = re.search(r"^prove:.*\n\t(.*)$", makefile, re.MULTILINE)
    test = re.search(r"^test:.*\n\t(.*)$", makefile, re.MULTILINE)
    assert prove is not None
    assert "WEFT_PROVE=1" in prove[1]
    assert "-m long" in prove[1]
    assert test is not None
    assert "-m" not in test[1].split()


@pytest.mark.long
@covers("proof.sample-and-whole")
def test_figures_are_told_at_the_end(tmp_path):
    (tmp_path / "test_some.py").write_text(
        "def test_a_proof(figure):\n    figure('writes lost', '0 of 12')\n", encoding="utf-8"
    )
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "writes lost: 0 of 12" in ran.stdout
