"""A small grove with a little of everything in it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from tests.attempts import RecordAttempt
from tests.citing import cite
from tests.contexts.shelves import KeepLegacyText

import weft
from weft.provenance.fingerprints import summary_fingerprint
from weft.runtime.operations.agent_memory import DropStash, KeepPin, KeepStash, KeepThought, RecallStash
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.projects import AssignProject, ChangeProject, CreateProject
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.tree.attempt import AttemptOutcome, RawResponse, Usage
from weft.tree.content import Audio, Image, Mixed, Text, Thinking, ToolCall, ToolResult
from weft.tree.item import Item
from weft.tree.node import Status
from weft.tree.reference import ProjectItem, ProjectItemKind

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
    for answered in (True, False):
        grove.perform(
            RecordAttempt(
                tree=tree.id,
                parent=tree.root.id,
                agent="Muse",
                outcome=AttemptOutcome.COMPLETE if answered else AttemptOutcome.FAILED,
                segments=[b'{"role":', b'"user"}'],
                manifest=b'{"kept":1}',
                response=RawResponse(body=b'{"a":1}', provider="p", model="m") if answered else None,
                error=None if answered else "timeout",
                idempotency_key=f"k{answered}",
                ended_at=MOMENT,
            )
        )
    keep_request(grove, tree, ref)
    cite(grove, tree.id, tree.root.id)
    _records(grove)
    grove.perform(Summarise(tree=tree.id, node=tree.root.id, text="a summary"))
    _keep_in_mind(grove, tree.id)


def keep_request(grove: weft.Grove, tree: weft.grove.tree.TreeHandle, ref: str) -> None:
    """A turn with a note that came with a picture, what was sent from it, and what was cached of that."""
    image = Image(ref=ref, mime_type="image/png", width=3, height=4)
    note = Item(id="open.md", type="active_note", content="Look.", title="Open", images=(image,))
    before = tree.cursor
    turn = tree.root.say(
        "What do you see?", attachments=[note, Item(id="p", type="note", content="P", pinned=True)]
    )
    kept = grove.layers.keep(turn.prepare(agent="Muse"))
    grove.layers.report(kept, 3)
    grove.perform(KeepLegacyText(tree=tree.id, node=tree.root.id, text="as it was sent"))
    before.switch()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise(Editing):
    """Write summaries as the summariser does: with an event that fingerprints them."""

    verb: ClassVar[str] = "summarise"
    tree: str
    node: str
    text: str

    def apply(self, scope: Scope) -> None:
        tree = scope.open_tree(self.tree)
        row = scope.node(tree, self.node)
        trees, texts = schema.trees, schema.texts
        here = texts.c.tree == tree.key, texts.c.node == row.key
        scope.transaction.execute(trees.update().where(trees.c.key == tree.key).values(summary=self.text))
        scope.transaction.execute(texts.update().where(*here).values(summary=self.text))
        scope.add_fingerprint(
            summary_fingerprint(tree.ulid, self.text), summary_fingerprint(row.ulid, self.text)
        )
        scope.record(tree, self.verb, {"node": row.ulid}, {})


def _records(grove: weft.Grove) -> None:
    """Records with and without a user, one that was undone, and an index of collapsed groups."""
    said = [{"role": "user", "content": "é \u2028 \x00 half \ud83d"}, {"role": "assistant", "content": None}]
    for number, value in enumerate(said):
        place = {"user": "ada", "session": "s", "id": f"m{number}", "create_time": 1.5 + number}
        grove.records.append("messages", value, **place)
    grove.records.append("notes", "of nobody", topic="t", project="p", more={"cost": 0.1})
    grove.records.append("notes", "undone")
    grove.undo()
    items = [{"type": "message", "id": "m0"}]
    grove.groups.index({"sessionId": "s", "groups": [{"name": "A b", "items": items}]}, user="ada")


def _dialogue(grove: weft.Grove, ref: str) -> weft.grove.tree.TreeHandle:
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
    asked.split(3)[0].join()
    late.prune()
    one.bookmark("mine")
    two.exclude()
    tree.collapse(asked, two, "opening", "how it began")
    return tree


def _buffer(grove: weft.Grove) -> weft.grove.tree.TreeHandle:
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


def _keep_in_mind(grove: weft.Grove, tree: str) -> None:
    """An agent's memory, with something that it has let go of."""
    for operation in (
        KeepPin(tree=tree, label="node:a", body={"node": "a"}),
        KeepStash(tree=tree, label="theme", text="Loss,\nand the sea."),
        KeepStash(tree=tree, label="gone", text="Nothing."),
        DropStash(tree=tree, label="gone"),
        RecallStash(tree=tree, label="theme", turn=1),
        KeepThought(tree=tree, text="What does she want?"),
    ):
        grove.perform(operation)
