"""A small grove with a little of everything in it."""

import gzip
import hashlib
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select

import weft
from weft.ids import new_ulid
from weft.runtime.operations.projects import AssignProject, ChangeProject, CreateProject
from weft.store import schema
from weft.store.transaction import Transaction
from weft.tree.attempt import RawResponse, Usage
from weft.tree.content import Audio, Image, Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.item import Item
from weft.tree.node import Status
from weft.tree.project import ProjectItem, ProjectItemKind

PICTURE = b"\x89 a picture, as far as anyone here knows" * 20_000
"""More than one record of a file holds."""
MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789, UTC)


def fill(grove: weft.Grove, picture: bytes = PICTURE) -> None:
    """Both modes, every kind of content, every mark, documents, links, tags, evidence."""
    grove.add_agent("Muse", model_ref="local:small", temperature=0.7, custom={"b": [1, 2.5], "a": None})
    grove.add_agent("Ada", type="human")
    notes = grove.write_document("Notes", "# One\nfirst").save("# One\nsecond 🧵")
    ref = grove.put_blob(picture)
    tree = _dialogue(grove, ref)
    story = _buffer(grove)
    old = grove.plant("Old", "put away")
    grove.link(tree.root, notes, note="see there")
    grove.link(tree.root, story)
    grove.link(old, story)
    grove.unlink(old, story)
    old.archive()
    grove.tag(tree, "good")
    grove.tag(story.root, "Good")
    grove.tag(notes, "good")
    grove.tag(tree.root, "gone")
    grove.untag(tree.root, "gone")
    items = [
        ProjectItem(ProjectItemKind.DOCUMENT, "Notes"),
        ProjectItem(ProjectItemKind.URL, "https://a.b/c"),
    ]
    grove.perform(CreateProject(name="Novel", system_prompt="Be kind.", context=items))
    grove.perform(ChangeProject(project="Novel", system_prompt="Be kinder.", revision=1))
    grove.perform(AssignProject(tree=tree.id, project="Novel"))
    grove.read.store.write(lambda transaction: _add_evidence(transaction, tree.id))


def _dialogue(grove: weft.Grove, ref: str) -> weft.runtime.handles.TreeHandle:
    tree = grove.plant(
        "Marie", "", system_context="You are Marie.\r\n", description="d", preferences={"z": 1, "a": [True]}
    )
    asked = tree.say("Why does she hesitate? ünïcödé  \u2028 end")
    answer = RawResponse(
        body=b'{"choices":[1,2]}\xff\x00',
        provider="local",
        model="small",
        request_id="r1",
        status_code=200,
        requested_at=MOMENT,
        responded_at=MOMENT,
        usage=Usage(prompt=3, completion=4, total=7),
    )
    one = asked.say("Because.", author="Muse", response=answer)
    two = asked.say("Because not.", author="Muse", response=answer, status=Status.INTERRUPTED)
    picture = Image(ref=ref, mime_type="image/png", width=1, height=2, alt_text="a")
    call = ToolCall(id="c", name="look", arguments={"x": [1, -0.0, 1e22, 1.5], "y": None})
    one.say(Mixed((Text("t"), picture, call)))
    one.say(ToolResult(call_id="c", content=[1, {"k": "v"}], is_error=True))
    one.say(Thinking(text="hm", opaque={"sig": "x" * 50}), author="Muse")
    one.say(Audio(ref=ref, mime_type="audio/wav", duration_ms=5, transcript="la"))
    third = two.say("Go on.", attachments=[Item(id="n1", type="note", content="text", recoverable=False)])
    late = third.say("And then?")
    below = late.say("Below.")
    late.attach(Item(id="n2", type="note", content="later"))
    late.detach("n2")
    below.say("Lower.", instructions=[asked], context=[two])
    merged = tree.merge([one, below], "both")
    merged.annotate("a remark").annotate("on the remark")
    asked.edit("Why?").edit("Why, then?")
    asked.split(3)
    late.prune()
    one.bookmark("mine")
    two.exclude()
    tree.collapse(asked, two, "opening", "how it began")
    return tree


def _buffer(grove: weft.Grove) -> weft.runtime.handles.TreeHandle:
    story = grove.plant("Story", "Once", mode="buffer", buffer_mode_system_context=True)
    upon = story.say(" upon")
    upon.say(" a time")
    edited = upon.edit(" under")
    story.root.edit("Twice")
    edited.edit(" over")
    edited.prune()
    story.type(" and not yet said")
    ada = grove.acting_as("Ada").tree("Story")
    ada.node(upon.local_id).switch()
    return story


def _add_evidence(transaction: Transaction, tree: str) -> None:
    """What operations do not write yet: attempts, requests, manifests, memory, projects, records."""
    row = transaction.execute(select(schema.trees).where(schema.trees.c.ulid == tree)).one()
    state = transaction.tree_state(row.key)
    place: dict[str, Any] = {"tree": row.key}
    body = b'{"role":"user"}'
    digest = hashlib.sha256(body).digest()
    transaction.add(schema.bodies, {**place, "sha256": digest, "gzip": gzip.compress(body, mtime=0)})
    muse = transaction.execute(select(schema.agents.c.key).where(schema.agents.c.name == "Muse")).scalar_one()
    response = transaction.execute(
        select(func.min(schema.responses.c.key)).where(schema.responses.c.tree == row.key)
    ).scalar_one()
    for answered in (response, None):
        key = transaction.take_key(state)
        transaction.add(
            schema.attempts,
            {
                **place,
                "key": key,
                "ulid": new_ulid(row.created_at + key),
                "agent": muse,
                "parent": 1,
                "outcome": 1 if answered else 3,
                "idempotency_key": f"k{key}",
                "request": digest,
                "response": answered,
                "partial": None if answered else b"half\x00",
                "error": None if answered else "timeout",
                "started_at": row.created_at,
                "ended_at": row.created_at + 1,
            },
        )
        transaction.add(schema.requests, {**place, "attempt": key, "ordinal": 0, "segment": digest})
        transaction.add(
            schema.manifests,
            {**place, "attempt": key, "sha256": digest, "gzip": gzip.compress(body, mtime=0)},
        )
    transaction.add(
        schema.memory,
        {**place, "agent": muse, "ordinal": 1, "kind": 0, "label": None, "body": "x", "created_at": 5},
    )
    transaction.execute(schema.trees.update().where(schema.trees.c.key == row.key).values(summary="s"))
    transaction.add(
        schema.records,
        {
            "user": "u",
            "project": None,
            "session": "s",
            "stream": "turn",
            "name": "n",
            "id": "1",
            "create_time": 1.25,
            "value": "{}",
        },
    )
