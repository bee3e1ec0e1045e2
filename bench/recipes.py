"""Recipes: a long conversation through the filters of TopicContext."""

import json
import math
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bench.report import Section, Table, at_most, number
from bench.scene import STORES, Scene, sample_texts
from bench.timing import medians
from weft.context.recipes import run_filters
from weft.context.recipes.recipe import PRESETS
from weft.tree.record import RecordDraft, RecordPlace

__all__ = ["run"]

_FILES = 40
_IN_GROUPS = 7
"""Every so many-th message is in a collapsed group."""
_GROUP = 70


class Conversation(NamedTuple):
    messages: Sequence[Mapping[str, Any]]
    store: Mapping[str, Mapping[str, Any]]


def run(scene: Scene) -> Section:
    section = Section(
        "Recipes",
        "A conversation of user messages, calls and results with files in them, answers and notes, every "
        "seventh message in a collapsed group, through the four filters of `TopicContext` and each by itself, "
        "with the account of every step.",
    )
    counts = (1_000, 10_000) if scene.quick else (1_000, 10_000, 100_000)
    pipeline = PRESETS["TopicContext"].filters
    chains = {"TopicContext": pipeline, **{entry.name: (entry,) for entry in pipeline}}
    talks = [_conversation(count) for count in counts]
    taken = {
        name: medians([partial(_filtered, talk, chain) for talk in talks], budget=4, most=20)
        for name, chain in chains.items()
    }
    rows = [(name, *(_milliseconds(each) for each in took)) for name, took in taken.items()]
    header = ("filters", *(f"{count:,} messages, ms" for count in counts))
    section.tables.append(Table("Time by number of messages", header, rows))
    whole = taken["TopicContext"]
    section.hold(at_most("TopicContext over 10,000 messages", whole[1], 0.5, " s"))
    before, after = whole[-2], whole[-1]
    exponent = None if before is None or after is None else math.log10(after / before)
    span = f"from {counts[-2]:,} to {counts[-1]:,} messages"
    section.hold(at_most(f"TopicContext: growth exponent {span}", exponent, 1.3))
    _over_a_grove(scene, section)
    return section


def _over_a_grove(scene: Scene, section: Section) -> None:
    """The same as records of a session: kept, then read and filtered."""
    count = scene.size(10_000, 1_000)
    rows: list[tuple[str, ...]] = []
    for store in STORES:
        with scene.grove(store) as grove:
            drafts = _drafts(count)
            began = time.perf_counter()
            grove.records.append_in_parts(drafts)
            kept = time.perf_counter() - began
            whole = partial(grove.recipes.run, _recipe(count, count), user="u")
            little = partial(grove.recipes.run, _recipe(count, 50), user="u")
            ran, glanced = medians([whole, little], budget=4, most=10)
        rows.append((store, number(count / kept), _milliseconds(ran), _milliseconds(glanced)))
        section.hold(at_most(f"TopicContext over {count:,} records in {store}", ran, 1.0, " s"))
    header = ("store", "records kept, 1/s", f"all {count:,}, ms", "a window of 50, ms")
    section.tables.append(Table("The same over records in a grove", header, rows))


def _drafts(count: int) -> list[RecordDraft]:
    place = RecordPlace(stream="messages", user="u", session="s")
    texts = sample_texts(97, 400)
    return [
        RecordDraft(
            place=place,
            document={"value": _message(each, texts[each % 97])},
            id=f"d{each}",
            create_time=each,
        )
        for each in range(count)
    ]


def _recipe(count: int, window: int) -> dict[str, Any]:
    kala = {"kind": "SegKala", "sessionId": "s", "end": count, "windowSeconds": window}
    return {"kala": kala, "presetId": "TopicContext", "includeDocId": True}


def _milliseconds(seconds: float | None) -> str:
    return number(None if seconds is None else seconds * 1_000)


def _filtered(talk: Conversation, chain: Any) -> object:
    return run_filters(talk.messages, chain, {"sessionId": "s", "userId": "u", "store": talk.store})


def _conversation(count: int) -> Conversation:
    texts = sample_texts(97, 400)
    messages = [{**_message(place, texts[place % 97]), "docId": f"d{place}"} for place in range(count)]
    index = "users/u/convo.sessions/s/indexes/collapsed/messageToGroups"
    store = {
        f"{index}/d{place}": {"groups": {f"GROUP_{place // _GROUP}": {"responseId": "r", "updated_at": 1}}}
        for place in range(0, count, _IN_GROUPS)
    }
    return Conversation(messages, store)


def _message(place: int, text: str) -> dict[str, Any]:
    file = json.dumps({"filepath": f"src/{place % _FILES}.py", "content": text})
    match place % 5:
        case 0:
            return {"role": "user", "content": text}
        case 1:
            call = {
                "id": f"c{place}",
                "type": "function",
                "function": {"name": "UPDATE_FILE", "arguments": file},
            }
            return {"role": "assistant", "content": None, "tool_calls": [call]}
        case 2:
            return {"role": "tool", "tool_call_id": f"c{place - 1}", "content": file}
        case 3:
            return {"role": "assistant", "content": text}
        case _:
            return {"role": "system", "content": text[:80]}
