"""Chromium for the tests: one on the PATH, Playwright's own, or Debian's, installed where that may be done."""

import os
import shutil
import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
HOW = (
    "the browser tests need Chromium: install it so that `chromium` is on the PATH "
    "(apt-get install chromium), or run `playwright install chromium`"
)


def launch(playwright: Playwright) -> Browser:
    """The browser; raises with a sentence that says how to get one."""
    options = list(OPTIONS)
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    found = _on_path()
    if found is None and not Path(playwright.chromium.executable_path).exists():
        found = _installed()
    try:
        return playwright.chromium.launch(executable_path=found, args=options)
    except Error as error:
        raise RuntimeError(f"{HOW} ({str(error).splitlines()[0]})") from None


def _on_path() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _installed() -> str | None:
    """Debian's Chromium, if this process may install it."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "chromium"]):
        subprocess.run(["apt-get", *arguments], check=False, capture_output=True)
    return _on_path()
