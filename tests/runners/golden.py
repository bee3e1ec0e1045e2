"""Turns whose requests are kept: each runner's as layered views, and as the bodies that each provider's server gets."""

import contextlib
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

from tests.generation.test_tool_calling import CALLS, answers_results
from tests.generation.test_vendors import grove_of
from tests.providers.houses import HOUSES
from tests.providers.loopback import serving, streamed
from tests.runners.stage import NOTES, staged
from tests.runners.workshop import calling

from weft.grove.grove import Grove
from weft.runtime.runners.options import Runner
from weft.testing import Reply

FOLDER = Path(__file__).parent.parent / "data" / "runners"
PROVIDERS = ("anthropic", "chat", "responses", "google")
PLAN = '[{"name": "readNote", "arguments": {"path": "Harbour/Lamp.md"}}]'
TOOLS = ("getFileTree", "localSearch", "readNote")
_THEN = 1_700_000_000
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_BYTES = (
    (b'"look"', b'"readNote"'),
    (b'"clock"', b'"getFileTree"'),
    (b'\\"at\\"', b'\\"path\\"'),
    (b'\\"sea\\"', b'\\"Ideas.md\\"'),
    (b'"at": "sea"', b'"path": "Ideas.md"'),
)


def play(grove: Grove, folder: Path, runner: Runner) -> None:
    """A turn with an item, which is in the library after it; then the runner's own turn."""
    notes = folder / "Notes"
    for path, text in NOTES.items():
        file = notes / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (_THEN, _THEN))
    grove.vaults.mount(str(notes), "Notes")
    tree = grove.plant("Harbour", system_context="You keep the harbour's log.")
    if runner is Runner.PROJECT:
        grove.create_project("Log", system_prompt="Write as a pilot.").add(tree)
    tree.ask("Who keeps the ledger?", attachments=["Ideas.md"])
    tree.ask(
        "What does the lamp burn?",
        runner=runner,
        attachments=["Harbour/Fog.md", "Ideas.md"],
        tool_names=TOOLS,
        composer="Answer in one line." if runner is Runner.TOOLS else "",
    )


def views(runner: Runner) -> str:
    """What the payload recorder writes of each request."""
    script: list[str | Reply] = ["Marie."]
    if runner.plans:
        script.append(PLAN)
    if runner is Runner.AGENT:
        script.append(Reply(text="I look.", calls=(calling("readNote", path="Harbour/Lamp.md"),)))
    with (
        tempfile.TemporaryDirectory() as name,
        _recorded() as texts,
        staged(str(Path(name) / "grove.db"), Path(name), [*script, "Whale oil [1]."], plants=False) as stage,
    ):
        stage.grove.add_agent("Teller", model_ref="scripted:teller")
        play(stage.grove, Path(name), runner)
    return _scrubbed("\n\n".join(texts) + "\n")


@contextlib.contextmanager
def _recorded() -> Generator[list[str]]:
    texts: list[str] = []
    handler = logging.Handler(logging.DEBUG)
    handler.emit = lambda record: texts.append(record.getMessage())
    log = logging.getLogger("weft.layers")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        yield texts
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def bodies(provider: str, runner: Runner) -> str:
    """What a provider's server gets, the planner's request among them."""

    async def say(heard, writer):
        await streamed(*_answer(provider, runner, heard.body))(heard, writer)

    house = HOUSES[provider]
    with (
        tempfile.TemporaryDirectory() as name,
        serving(say) as server,
        grove_of(str(Path(name) / "grove.db"), house, server) as grove,
    ):
        play(grove, Path(name), runner)
        sent = [json.loads(heard.body) for heard in server.heard]
    return _scrubbed(json.dumps(sent, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def _answer(provider: str, runner: Runner, body: bytes) -> list[bytes]:
    house = HOUSES[provider]
    if b"You choose the tools" in body:
        return house.text([PLAN])
    if runner is Runner.AGENT and b'"tools"' in body and not answers_results(json.loads(body)):
        return [_renamed(piece) for piece in CALLS[provider](0)]
    return house.text(["Whale oil [1]."])


def _renamed(piece: bytes) -> bytes:
    for before, after in _BYTES:
        piece = piece.replace(before, after)
    return piece


def _scrubbed(text: str) -> str:
    """Without what differs from run to run: times of files, and ids that are drawn."""
    text = re.sub(r"weft-[0-9a-f]{32}", "weft-KEY", _TIMES.sub("TIME", text))
    return re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ULID", text)


def written() -> dict[str, str]:
    """Every fixture by the name of its file."""
    kept = {f"{runner}.txt": views(runner) for runner in Runner}
    return kept | {f"{runner}.{name}.json": bodies(name, runner) for runner in Runner for name in PROVIDERS}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in written().items():
        (FOLDER / name).write_text(text)
    sys.stdout.write(f"{len(list(FOLDER.iterdir()))} fixtures in {FOLDER.name}\n")


if __name__ == "__main__":
    main()
