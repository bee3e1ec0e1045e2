"""Items over a store: notes, pictures and whatever else can be named and attached, by one id each."""

import pytest
from tests.contexts.shelves import PNG, Desk, in_full, library, referenced
from tests.covers import covers

from weft.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
)
from weft.runtime.operations.projects import MountVault


@covers("item.images-from-active-note-only", "library.never-images")
def test_the_active_note_brings_its_pictures_for_one_turn(desk):
    desk.write("media/k.png", PNG)
    desk.write("top.png", PNG + b"top")
    desk.write(
        "Piano/open.md", "![[k.png]] ![](../outside.png) ![x](/top.png)\n`![[code.png]]`\n![[none.png]]"
    )
    turn = desk.ask("What is this?", "active:Piano/open.md")
    (item,) = turn.value.attachments
    assert [(image.mime_type, image.width, image.height) for image in item.images] == [
        ("image/png", 3, 4)
    ] * 2
    envelope = turn.envelope(agent=desk.agent)
    assert "<active_note>" in envelope.processed_user_text
    assert [block.__class__.__name__ for block in envelope.messages[-1].blocks] == [
        "Text",
        "Image",
        "Image",
        "Text",
    ]
    desk.answer(turn)
    after = desk.ask("And now?").envelope(agent=desk.agent)
    assert library(after) == []
    assert desk.grove.blob(item.images[0].ref) == PNG


@covers("item.images-from-active-note-only")
@pytest.mark.parametrize(
    "embed",
    ["![](../media/k%20l.png)", "![](/media/k%20l.png)", "![](<../media/k l.png>)", "![[media/k l.png]]"],
)
def test_a_picture_is_found_by_the_path_that_the_embed_gives(own_loom, tmp_path, embed):
    desk = Desk(own_loom, tmp_path / "vault")
    desk.write("media/k l.png", PNG)
    desk.write("other/k l.png", PNG + b"other")
    desk.write("Piano/open.md", embed)
    (item,) = desk.ask("What is this?", "active:Piano/open.md").value.attachments
    assert [own_loom.blob(image.ref) for image in item.images] == [PNG]


@covers("item.images-from-active-note-only")
@pytest.mark.parametrize("placed", ["system", "inline"])
def test_a_note_that_stays_open_through_a_turn_of_two_messages_shows_its_pictures_once(
    own_loom, tmp_path, placed
):
    desk = Desk(own_loom, tmp_path / "vault")
    desk.write("open.md", "![[p.png]]")
    desk.write("p.png", PNG)
    desk.ask("Look at this", "active:open.md")
    envelope = desk.ask("Well?", "active:open.md").envelope(agent=desk.agent, library=placed)
    blocks = [block.kind for block in envelope.blocks() if block.message is not None]
    assert blocks.count("image") == 1
    assert envelope.processed_user_text.count("![[p.png]]") == 1
    named = desk.ask("And?", "open.md").envelope(agent=desk.agent, library=placed)
    assert "<active_note>" in named.processed_user_text
    assert "<note_context>" not in named.processed_user_text


@covers("item.tags-and-folders-expand", "item.images-from-active-note-only")
@pytest.mark.parametrize("names", [("active:open.md", "#keys"), ("#keys", "active:open.md", "open.md")])
def test_the_open_note_stays_the_open_one_where_a_tag_names_it_too(own_loom, tmp_path, names):
    desk = Desk(own_loom, tmp_path / "vault")
    desk.write("open.md", "#keys ![[p.png]]")
    desk.write("other.md", "#keys")
    desk.write("p.png", PNG)
    expected = [("open.md", "active_note", 1), ("other.md", "note", 0), ("#keys", "tag", 0)]
    found = own_loom.vaults.items(*names)
    assert [(item.id, item.type, len(item.images)) for item in found] == expected
    turn = desk.ask("What is this?", *names)
    assert [(item.id, item.type, len(item.images)) for item in turn.value.attachments] == expected


@covers("item.id-note")
@pytest.mark.parametrize("written", ["./b/c.md", "b//c.md", "b/./c.md"])
def test_a_note_has_one_id_however_its_path_is_written(desk, written):
    path = desk.write("b/c.md", "text")
    desk.answer(desk.ask("One", path))
    named = [written, f"{desk.name}:{written}"]
    for name in named:
        envelope = desk.ask("Two", name).envelope(agent=desk.agent)
        assert (library(envelope), referenced(envelope), in_full(envelope)) == ([path], [path], [])
        desk.answer(desk.tree.cursor)
    turn = desk.ask("Three", f"active:{written}", f"{written}#L1")
    assert [item.id for item in turn.value.attachments] == [path, f"{path}#L1-L1"]


@covers("item.id-note", "library.changed-refresh")
def test_a_note_keeps_the_id_by_which_it_was_attached_when_another_would_do(desk, tmp_path):
    desk.write("a.md", "of the first")
    second = tmp_path / "second"
    second.mkdir()
    (second / "a.md").write_text("of the second")
    other = desk.grove.vaults.mount(second, f"Second {desk.name}")
    name = f"{other.name}:a.md"
    desk.answer(desk.ask("One", name))
    (desk.folder / "a.md").unlink()
    (second / "a.md").write_text("changed")
    envelope = desk.ask("Two").envelope(agent=desk.agent)
    assert library(envelope) == [name]
    assert f"<path>{name}</path>" in envelope.system
    assert "changed" in envelope.system


@covers("item.tags-and-folders-expand", "item.id-selection", "item.id-document-and-node")
def test_whatever_can_be_named_can_be_attached(desk):
    desk.write("music/a.md", "---\ntags: [keys]\n---\nA")
    desk.write("music/b.md", "#keys/black\nB")
    desk.write("c.md", "one\r\ntwo\nthree")
    document = desk.grove.write_document(f"Plan {desk.name}", "# Plan")
    said = desk.tree.say("A node's words.")
    turn = desk.ask("All", "#keys", "c.md#L2-L3", f"doc:{document.title}", f"[{said.local_id}]")
    envelope = turn.envelope(agent=desk.agent)
    assert in_full(envelope) == [
        "music/a.md",
        "music/b.md",
        "c.md#L2-L3",
        f"doc:{document.id}",
        f"[{said.local_id}]",
    ]
    assert "<content>\ntwo\nthree\n</content>" in envelope.processed_user_text
    # A folder adds what is missing of it.
    more = turn.attach("folder:music")
    assert [each.id for each in more.value.attachments][-1] == "folder:music"
    assert len(in_full(more.envelope())) == 5
    document.save("# Another plan")
    assert "Another plan" in more.envelope().processed_user_text
    for wrong in (
        "none.md",
        "c.md#L9-L4",
        "c.md#L99-L100",
        "folder:nowhere",
        "https://a.b",
        "",
        "doc:none",
        "[zzzz]",
    ):
        with pytest.raises((InvalidInputError, NotFoundError)):
            turn.attach(wrong)


def test_a_note_that_another_vault_hides_is_called_by_its_vault(desk, tmp_path):
    desk.write("a.md", "first")
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("second")
    (other / "b.md").write_text("only here")
    desk.grove.vaults.mount(other, "Other")
    assert desk.grove.vaults.note("a.md").content == "first"
    assert (desk.grove.vaults.note("Other:a.md").id, desk.grove.vaults.note("Other:a.md").content) == (
        "Other:a.md",
        "second",
    )
    assert desk.grove.vaults.note("Other:b.md").id == "b.md"
    turn = desk.ask("Both", "a.md", "Other:a.md")
    assert in_full(turn.envelope()) == ["a.md", "Other:a.md"]
    assert [each.id for each in desk.grove.vaults.folder("Other")] == ["Other:a.md", "b.md"]
    desk.grove.vaults["Other"].unmount()
    assert in_full(turn.envelope()) == ["a.md", "Other:a.md"]


def test_a_note_that_is_not_text_is_left_out_of_its_folder_and_refused_by_name(desk):
    desk.write("x/good.md", "good")
    desk.write("x/bad.md", b"\xff\xfe\x00")
    assert [each.id for each in desk.grove.vaults.folder("x")] == ["x/good.md"]
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        desk.grove.vaults.note("x/bad.md")


@covers("vault.read-only", "vault.mounted-by-people")
def test_only_people_mount_folders(desk, tmp_path):
    model = desk.grove.add_agent(
        f"bold {desk.name}", model_ref="t:m", permissions=["loom_aware", "loom_write"]
    )
    with pytest.raises(PermissionDeniedError):
        desk.grove.acting_as(model.id).perform(MountVault(path=tmp_path, name="mine"))
    with pytest.raises(ConflictError, match="mounted already"):
        desk.grove.vaults.mount(desk.folder, "again")
    with pytest.raises(ConflictError, match="there is a vault"):
        desk.grove.vaults.mount(tmp_path, desk.name.upper())
    with pytest.raises(InvalidInputError):
        desk.grove.vaults.mount(tmp_path, "a/b")
    desk.write("a.md", "text")
    before = sorted((path, path.stat().st_mtime_ns) for path in desk.folder.rglob("*"))
    desk.ask("One", "a.md").envelope()
    assert sorted((path, path.stat().st_mtime_ns) for path in desk.folder.rglob("*")) == before


def test_a_folder_that_became_a_link_is_not_followed(desk, tmp_path):
    desk.write("a.md", "text")
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.md").write_text("secret")
    desk.folder.rename(tmp_path / "moved")
    desk.folder.symlink_to(secret)
    with pytest.raises(Exception, match="is a link now"):
        desk.grove.vaults[desk.name].notes()
    with pytest.raises((NotFoundError, Exception)):
        desk.grove.vaults.note("a.md")
