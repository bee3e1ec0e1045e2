"""A folder of notes gives what lies in it, and nothing else."""

import os
from pathlib import Path

import pytest
from tests.covers import covers

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, StorageError
from weft.knowledge.folder import Folder, measure_picture
from weft.knowledge.passages import facts_of


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A vault with a secret beside it."""
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "more.md").write_text("secret")
    vault = tmp_path / "vault"
    (vault / "Piano" / "deep").mkdir(parents=True)
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "hidden.md").write_text("settings")
    for name in ("b.md", "a.md", "Piano/lesson.md", "Piano/deep/x.txt", "picture.png"):
        (vault / name).write_text(name)
    return vault


@covers("vault.notes-by-path")
def test_notes_are_listed_by_path_and_hidden_ones_are_not(place: Path):
    folder = Folder.at(place)
    assert folder.notes().paths == ("Piano/deep/x.txt", "Piano/lesson.md", "a.md", "b.md")
    assert folder.notes("Piano").paths == ("Piano/deep/x.txt", "Piano/lesson.md")
    assert folder.read("Piano/lesson.md").data == b"Piano/lesson.md"


@covers("item.never-outside-the-vault")
@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "Piano/../../secret.md",
        "Piano\\..\\..\\secret.md",
        "/etc/passwd",
        "out.md",
        "outside/more.md",
        "twice.md",
        ".obsidian/hidden.md",
        ".",
        "a\x00.md",
        "",
    ],
)
def test_a_path_that_leads_out_is_refused(place: Path, path: str):
    (place / "out.md").symlink_to("../secret.md")
    (place / "outside").symlink_to("../elsewhere")
    (place / "twice.md").symlink_to("out.md")
    folder = Folder.at(place)
    with pytest.raises(InvalidInputError):
        folder.read(path)
    assert not folder.has(path)
    listing = folder.notes()
    assert [name for name in listing.paths if "out" in name or "twice" in name] == []
    assert listing.left_out == 3


@covers("item.never-outside-the-vault")
def test_a_link_within_the_folder_is_a_note(place: Path):
    (place / "same.md").symlink_to("Piano/lesson.md")
    (place / "round.md").symlink_to("round.md")
    folder = Folder.at(place)
    assert folder.read("same.md").data == b"Piano/lesson.md"
    assert "same.md" in folder.notes().paths
    with pytest.raises(NotFoundError):
        folder.read("round.md")


@covers("item.never-outside-the-vault")
def test_a_link_that_is_put_in_place_meanwhile_leads_nowhere(place: Path):
    folder = Folder.at(place)
    (place / "a.md").unlink()
    (place / "a.md").symlink_to("../secret.md")
    with pytest.raises(NotFoundError, match="changed while"):
        folder.read("a.md", scanned=True)
    (place / "Piano").rename(place / "Old")
    (place / "Piano").symlink_to("../elsewhere")
    with pytest.raises(NotFoundError, match="changed while"):
        folder.read("Piano/lesson.md", scanned=True)
    with pytest.raises(InvalidInputError):
        folder.read("../secret.md", scanned=True)


@covers("vault.limits")
def test_what_is_no_file_or_too_large_is_refused_and_nobody_waits(place: Path):
    folder = Folder.at(place)
    os.mkfifo(place / "pipe.md")
    with pytest.raises(InvalidInputError, match="is not a file"):
        folder.read("pipe.md")
    with pytest.raises(InvalidInputError, match="is not a file"):
        folder.read("Piano")
    with pytest.raises(LimitExceededError, match="the limit is 3"):
        folder.read("a.md", limit=3)
    with pytest.raises(NotFoundError):
        folder.read("none.md")
    assert "pipe.md" not in folder.notes().paths


def test_only_a_folder_can_be_mounted(place: Path):
    with pytest.raises(NotFoundError):
        Folder.at(place / "none")
    with pytest.raises(InvalidInputError, match="is not a folder"):
        Folder.at(place / "a.md")
    with pytest.raises(InvalidInputError, match="whole file system"):
        Folder.at("/")
    gone = Folder.at(place / "Piano")
    (place / "Piano").rename(place / "Other")
    with pytest.raises(StorageError, match="cannot be read"):
        gone.notes()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("no tags here, C# and a#b and https://x.y/#z", set()),
        ("#one and #two/three.", {"one", "two/three"}),
        ("`#code` and\n```\n#code\n```\n#real", {"real"}),
        ("#1 is a number, #1a is not", {"1a"}),
        ("---\ntags: [a, '#b']\n---\ntext #c", {"a", "b", "c"}),
        ("---\ntags:\n  - a\n  - b/c\ntitle: x\n---\n", {"a", "b/c"}),
        ("---\ntag: a, b\n---\n", {"a", "b"}),
        ("---\ntags: [a]\nnever ends #b", {"b"}),
        ("# Heading\n## Two", set()),
    ],
)
def test_tags_of_a_note(text: str, tags: set[str]):
    assert facts_of(text).tags == tags


def test_pictures_are_measured_by_their_first_bytes():
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4) + (4).to_bytes(4)
    jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + (5).to_bytes(2) + (6).to_bytes(2)
    webp = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (6).to_bytes(3, "little") + (7).to_bytes(3, "little")
    assert measure_picture(png) == ("image/png", 3, 4)
    assert measure_picture(b"GIF89a" + (1).to_bytes(2, "little") + (2).to_bytes(2, "little")) == (
        "image/gif",
        1,
        2,
    )
    assert measure_picture(jpeg) == ("image/jpeg", 6, 5)
    assert measure_picture(webp) == ("image/webp", 7, 8)
    for data in (b"", b"\x89PNG", b"\xff\xd8", b"<svg/>", png[:20], b"RIFF\0\0\0\0WEBPVP8X"):
        assert measure_picture(data) is None
