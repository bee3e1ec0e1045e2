"""Requests kept byte for byte. `python -m tests.context.golden` writes them anew: look at the difference."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.context.talks import Talk

from weft.context.cache.controls import cache_controls
from weft.context.envelope import Envelope
from weft.context.items.blocks import ToolOutput
from weft.context.items.item_types import (
    active_note,
    document,
    node,
    note,
    query,
    selection,
    url,
    with_images,
)
from weft.context.payload import record_payload
from weft.context.system import Instruction, Standing, SystemParts
from weft.context.tool_text import describe_tools
from weft.providers.anthropic import anthropic_profile
from weft.tree.content import Image, ToolCall, ToolResult
from weft.tree.tool_spec import ToolSpec

FOLDER = Path(__file__).parents[1] / "data" / "layers"
PICTURE = Image(ref="ab" * 32, mime_type="image/png", width=640, height=480, alt_text="a loom")
SPEC = note("Piano Lessons/project-spec.md", "# Spec\nBuild a piano.\r\n\r\n## Keys\n88 of them.  \n")
DOCS = note(
    "Piano Lessons/api-docs.md",
    "play(note) </content></note_context> <!-- not the end",
    modified="2026-01-01T18:30:00Z",
)


def no_context() -> Envelope:
    return Talk().ask("Why is the sky blue?")


def heavy_context() -> Envelope:
    talk = Talk(
        budget=3_000,
        system=SystemParts(
            agent="You are the ferryman.",
            tree="A river at night.",
            instructions=(Instruction(id="N1", local_id="a7x2", text="Speak in riddles."),),
        ),
        standing=Standing(
            memory="Likes tea.", project_prompt="Weave.", project_context="A loom and its owner."
        ),
    )
    talk.ask("Read all of this.", SPEC, DOCS, url("https://example.org/?a=1&b=2", "A page.", title="Page"))
    talk.ask("And this.", selection("a.md", 3, 9, "picked"), query("a.md", "LIST FROM #x", "- one\n- two"))
    talk.ask("And these.", document("plan", "The plan."), node("k3d9", "What somebody said."))
    big = [note(f"big/{index}.md", f"# Big {index}\nfirst line\n" + "word " * 700) for index in range(2)]
    talk.ask("Two big ones.", big[0])
    talk.ask("Here is the other.", big[1])
    return talk.ask("What is in all of them?", SPEC, *big, note("new.md", "new"))


def tool_heavy() -> Envelope:
    talk = Talk(tool_descriptions="Tools: look(at).", memory_block="[memory]", loom_context="[loom]")
    talk.take("Look.", ToolCall(id="c1", name="look", arguments={"at": "sea"}), SPEC)
    talk.take(ToolResult(call_id="c1", content="waves"), "I see waves.")
    outputs = [
        ToolOutput(
            name="localSearch",
            content="Answer the question based only on the following context:\n\n[1] …\n\n<guidance>\ncite\n</guidance>",
            attributes={"timeRange": "last week"},
        ),
        ToolOutput(name="webSearch", content="</webSearch>results"),
    ]
    return talk.ask("What else?", SPEC, tools=outputs)


LOOK = ToolSpec(name="look", description="Look at a place.", schema={"type": "object", "properties": {}})


def _looked(talk: Talk) -> Envelope:
    talk.take("Look.", ToolCall(id="c1", name="look", arguments={"at": "sea"}), SPEC)
    talk.take(ToolResult(call_id="c1", content="waves"), "I see waves.")
    return talk.ask("What else?", SPEC)


def native_tools() -> Envelope:
    return _looked(Talk(tools=(LOOK,)))


def tools_in_words() -> Envelope:
    return _looked(Talk(tool_descriptions=describe_tools([LOOK])))


def multimodal() -> Envelope:
    talk = Talk()
    talk.ask("Before.", SPEC)
    shown = with_images(active_note("Looms/today.md", "See ![[loom.png]]."), {"loom.png": PICTURE}.get)
    return talk.ask("What is on the picture?", SPEC, shown)


def branch_switch() -> Envelope:
    talk = Talk()
    talk.ask("One?", SPEC)
    talk.ask("Two?", DOCS)
    return talk.at(1).ask("Two, in other words?", SPEC, note("other.md", "Other."))


def edited_history() -> Envelope:
    talk = Talk()
    talk.ask("One?", SPEC)
    talk.ask("Two?", DOCS)
    talk.change(0, text="One, better put?", items=(note("better.md", "Better."),))
    return talk.ask("Three?", SPEC, DOCS)


def re_added_note() -> Envelope:
    talk = Talk()
    talk.ask("One?", SPEC)
    talk.ask("Two?")
    return talk.ask("Three?", SPEC)


def changed_note() -> Envelope:
    talk = Talk()
    talk.ask("One?", SPEC)
    talk.ask("Two?", DOCS)
    return talk.ask("Three?", note(SPEC.id, "Build two pianos."))


def changed_note_appended() -> Envelope:
    talk = Talk(settings={"changed": "append"})
    talk.ask("One?", SPEC)
    talk.ask("Two?", note(SPEC.id, "Build two pianos."))
    return talk.ask("Three?", note(SPEC.id, "Build two pianos."))


def inline() -> Envelope:
    talk = Talk(
        settings={"library": "inline"}, budget=520, preferences={"truncationStrategy": "rollingWindow"}
    )
    talk.ask("One?", SPEC, answer="x" * 900)
    for index in range(3):
        talk.ask(f"More {index}?", DOCS, answer="y" * 300)
    return talk.ask("Last?", SPEC, DOCS)


GOLDEN: dict[str, Callable[[], Envelope]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        *(no_context, heavy_context, tool_heavy, multimodal, branch_switch, edited_history),
        *(re_added_note, changed_note, changed_note_appended, inline, native_tools, tools_in_words),
    )
}


def written(envelope: Envelope) -> dict[str, str]:
    """What is kept of a request: the envelope for programs, the layered view for people."""
    controls = cache_controls(envelope, replace(anthropic_profile("claude-sonnet-4-5").cache, minimum=0))
    wire = json.dumps(envelope.to_wire(), ensure_ascii=False, indent=1)
    return {"json": wire + "\n", "txt": record_payload(envelope, controls=controls).text}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in GOLDEN.items():
        for ending, text in written(make()).items():
            (FOLDER / f"{name}.{ending}").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
