"""A small grove that holds one of everything, for tests that damage it."""

from datetime import UTC, datetime
from pathlib import Path

from tests.attempts import RecordAttempt
from tests.citing import cite
from tests.transfer.rich import Summarise

import weft
from weft.context.agent_view.operational_memory import Action
from weft.runtime.contexts.agent_memory import CommandResult, begin_run, note_actions
from weft.runtime.operations.agent_memory import DropStash, KeepPin, KeepStash, KeepThought, RecallStash
from weft.runtime.operations.agents import ArchiveAgent, ChangeAgent
from weft.store import schema
from weft.tree.attempt import AttemptOutcome, RawResponse, Usage
from weft.tree.content import Image, Mixed, Text, ToolCall
from weft.tree.item import Item

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
BODY = b'HTTP/1.1 200 OK\r\n\r\n{"text": "Because."}'


def answer(body: bytes = BODY, request_id: str = "req-1") -> RawResponse:
    return RawResponse(
        body=body,
        provider="sample",
        model="sample-1",
        request_id=request_id,
        status_code=200,
        requested_at=MOMENT,
        responded_at=MOMENT,
        usage=Usage(prompt=3, completion=2, total=5, cached_read=1, cached_write=0),
    )


def plant_dialogue(grove: weft.Grove) -> weft.grove.tree.TreeHandle:
    """A conversation with every operation in it."""
    tree = grove.plant("Talk", "Be brief.", system_context="Calm", description="d", preferences={"a": 1.5})
    item = Item(id="n1", type="note", content="A note.", title="N", pinned=True)
    asked = tree.root.say("Why?", attachments=[item])
    asked.attach(Item(id="n2", type="url", content="Another.", recoverable=False))
    asked.detach("n1")
    said = asked.say("Because.", author="sage", response=answer())
    other = asked.say("It is so.", author="sage", response=answer())
    said.edit("Because of it.")
    first, _ = said.split(4)
    first.join()
    ref = grove.put_blob(b"\x89PNG picture")
    image = Image(ref=ref, mime_type="image/png", width=1, height=2, alt_text="é")
    shown = tree.root.say(Mixed((Text("Look"), image)))
    shown.say(ToolCall(id="c", name="f", arguments={"x": 1e16, "y": [True, None]}))
    merged = said.merge(other, content="Both.")
    merged.say("With context", context=[shown], instructions=[asked])
    merged.annotate("A remark")
    merged.exclude()
    merged.include()
    other.exclude()
    said.bookmark("gold")
    shown.bookmark()
    shown.unbookmark()
    other.prune()
    shown.prune()
    shown.restore()
    tree.collapse(tree.root, said, "start", "The beginning")
    tree.collapse(tree.root, asked, "less")
    tree.expand("start")
    tree.describe(title="A talk", system_context="Calmer")
    grove.perform(
        RecordAttempt(
            tree=tree.id,
            parent=asked.id,
            agent="sage",
            outcome=AttemptOutcome.FAILED,
            segments=[b'{"system": "Calm", ', b'"messages": []}'],
            manifest=b'{"kept": 2}',
            response=answer(b"HTTP/1.1 500 Oops\r\n\r\n", "req-2"),
            error="the model is out",
            idempotency_key="key",
            started_at=MOMENT,
            ended_at=MOMENT,
        )
    )
    kept = grove.layers.keep(asked.prepare(agent="sage"))
    grove.layers.report(kept, 2)
    cite(grove, tree.id, asked.id)
    tree.archive()
    return tree


def plant_text(grove: weft.Grove) -> weft.grove.tree.TreeHandle:
    tree = grove.plant("Text", "Once", mode="buffer")
    more = tree.root.say(" upon a time")
    more.say(" there was")
    more.edit(" in a time")
    tree.type(" more")
    tree.root.edit("Twice")
    tree.erase(0, 2)
    return tree


def remember(grove: weft.Grove, tree: str) -> None:
    """An agent's memory of every kind, with something that it let go of and took up again."""
    for operation in (
        KeepPin(tree=tree, label="node:a", body={"node": "a"}),
        KeepStash(tree=tree, label="theme", text="Loss,\nand the sea."),
        KeepStash(tree=tree, label="gone", text="Nothing."),
        DropStash(tree=tree, label="gone"),
        RecallStash(tree=tree, label="theme", turn=1),
        KeepThought(tree=tree, text="What does she want?"),
    ):
        grove.perform(operation)
    grove.tree(tree).undo()
    with grove.caller.executor.store.read() as session:
        place = session.execute(schema.trees.select().where(schema.trees.c.ulid == tree)).one().key, 1
    for run in ("r1", "r2"):
        begin_run(grove.caller.executor, place, run)
    came = CommandResult(run="r2", number=1, command="look", text="A text.")
    note_actions(grove.caller.executor, place, [Action(verb="viewed", target="a7x2", noun="node")], came)


def fill(grove: weft.Grove) -> None:
    """One of everything."""
    grove.vaults.mount(Path(__file__).parent, "tests")
    grove.add_agent("sage", model_ref="local:sample", temperature=0.5)
    grove.perform(ChangeAgent(agent="sage", permissions=["loom_aware"]))
    grove.perform(ArchiveAgent(agent=grove.add_agent("gone", model_ref="local:x").id))
    talk, text = plant_dialogue(grove), plant_text(grove)
    one = grove.write_document("Notes", "# First")
    one.save("# Second")
    two = grove.write_document("Other", "text")
    grove.write_document("Gone").archive()
    talk.unarchive()
    grove.link(talk, one, "see")
    grove.link(one, two, "both")
    grove.link(talk.root, text.root)
    grove.unlink(talk.root, text.root)
    grove.tag(talk.root, "Blue")
    grove.tag(one, "Red")
    grove.untag(one, "Red")
    grove.tag(text, "Green")
    novel = grove.create_project("Novel", system_prompt="Kind", context=["doc:Notes", "https://a.b/c"])
    novel.change(system_prompt="Kinder")
    novel.add(talk)
    grove.create_project("Gone").archive()
    grove.records.append("messages", {"role": "user"}, user="ada", project="p", session="s", create_time=2.5)
    grove.records.append("notes", 5, topic="t")
    grove.records.append("notes", 6)
    grove.undo()
    grove.users.add("ada", role="editor")
    grove.users.set_role("ada", "reader", tree=talk.id)
    grove.users.issue("ada", label="door", service=True)
    grove.users.revoke(grove.users.issue("ada")[1].id)
    grove.users.archive(grove.users.add("gone", role=None).id)
    remember(grove, talk.id)
    grove.perform(Summarise(tree=text.id, node=text.root.id, text="Two times"))
