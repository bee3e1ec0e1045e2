"""`weft` alone: serves the grove and opens it in a browser."""

import os
import pty
import signal
import subprocess
import sys

from tests.covers import covers


@covers("web.single-page")
def test_weft_alone_in_a_terminal_serves_and_prints_the_link(tmp_path):
    inside, outside = pty.openpty()
    environment = os.environ | {"WEFT_GROVE": str(tmp_path / "own.db"), "WEFT_BROWSER": "off"}
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.cli"], env=environment, stdout=outside, stderr=subprocess.PIPE, text=True
    )
    os.close(outside)
    with os.fdopen(inside, errors="replace") as said:
        assert "/enter?key=" in said.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 0


@covers("web.single-page")
def test_weft_alone_in_a_pipe_says_what_there_is(tmp_path):
    environment = os.environ | {"WEFT_GROVE": str(tmp_path / "own.db")}
    answer = subprocess.run(
        [sys.executable, "-m", "weft.cli"], env=environment, capture_output=True, text=True, check=True
    )
    assert "Usage: weft" in answer.stdout
    assert not (tmp_path / "own.db").exists()
