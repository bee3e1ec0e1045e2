"""`python -m bench [NAME] [--quick]`: run all benches and write RESULTS.md, or look at one."""

import argparse
import datetime as dt
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests import postgres

from bench import (
    commands,
    context,
    edit,
    forest,
    generate,
    layers,
    load,
    masking,
    moving,
    paths,
    proxy,
    recipes,
    retrieval,
    search,
    size,
    source,
    startup,
    stored,
    verify,
    writes,
)
from bench.report import Section, render, render_all
from bench.scene import Scene

BENCHES: dict[str, Callable[[Scene], Section]] = {
    "writes": writes.run,
    "paths": paths.run,
    "grove": forest.run,
    "size": size.run,
    "edit": edit.run,
    "verify": verify.run,
    "moving": moving.run,
    "search": search.run,
    "retrieval": retrieval.run,
    "context": context.run,
    "stored": stored.run,
    "layers": layers.run,
    "masking": masking.run,
    "recipes": recipes.run,
    "generate": generate.run,
    "proxy": proxy.run,
    "commands": commands.run,
    "startup": startup.run,
    "load": load.run,
    "source": source.run,
}
_RESULTS = Path(__file__).parent / "RESULTS.md"
_LOAD = Path(__file__).parent / "LOAD.md"
"""Of `make bench-load`."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=sorted(BENCHES), help="one bench; all if not given")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (not in memory)")
    options = parser.parse_args(arguments)
    chosen = [options.name] if options.name else list(BENCHES)
    with (
        tempfile.TemporaryDirectory(prefix="weft-bench-", dir=options.folder) as folder,
        postgres.server() as server,
    ):
        os.environ["WEFT_BLOBS"] = folder
        os.environ["WEFT_SUMMARIES"] = "off"
        scene = Scene(Path(folder), server, options.quick)
        began = os.getloadavg()[0]
        sections = [_run(scene, name) for name in chosen]
        facts = _facts(scene, began)
    if options.name == "load" and not options.quick:
        _LOAD.write_text(render_all(facts, sections, "make bench-load"), encoding="utf-8")
    if options.name or options.quick:
        # A part, or a small run, is for looking at; only a whole one is kept.
        sys.stdout.write("\n".join(render(section) for section in sections))
        for bar in (bar for section in sections for bar in section.bars):
            sys.stdout.write(f"{bar.what}: {bar.figure} ({bar.bar}) {bar.verdict}\n")
        return
    _RESULTS.write_text(render_all(facts, sections), encoding="utf-8")
    scene.say(f"wrote {_RESULTS.name}")


def _run(scene: Scene, name: str) -> Section:
    scene.say(f"{name} …")
    start = time.monotonic()
    section = BENCHES[name](scene)
    scene.say(f"{name}: {time.monotonic() - start:.0f} s")
    return section


def _facts(scene: Scene, began: float) -> list[tuple[str, str]]:
    sqlite, postgresql = scene.versions()
    return [
        ("date", dt.datetime.now(dt.UTC).date().isoformat()),
        ("cores", str(os.cpu_count())),
        ("load when it began, when it ended", f"{began:.1f}, {os.getloadavg()[0]:.1f}"),
        ("Python", platform.python_version()),
        ("SQLite", sqlite),
        ("PostgreSQL", postgresql),
    ]


if __name__ == "__main__":
    main()
