"""The file format: files written by an earlier Weft are read, and written again, byte for byte."""

import gzip
import io
from pathlib import Path

import pytest
from tests.covers import covers

import weft

FILES = Path(__file__).parents[1] / "data" / "transfer"
"""A whole grove, and two of its trees: every kind of record, every field of each."""


@covers("export.weft-json")
@pytest.mark.parametrize(("name", "trees"), [("grove", None), ("trees", ["Marie", "Story"])])
def test_a_file_of_an_earlier_weft_is_exported_again_byte_for_byte(
    tmp_path: Path, name: str, trees: list[str] | None
):
    source, copy = FILES / f"{name}.json.gz", io.BytesIO()
    with weft.open(tmp_path / "grove.db") as grove:
        grove.import_(source)
        grove.export(copy, trees)
    assert copy.getvalue() == gzip.decompress(source.read_bytes())
