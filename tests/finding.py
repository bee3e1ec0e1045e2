"""Look for a word in everything that a grove keeps."""

import gzip

from sqlalchemy import text as sql

import weft
from weft.store import schema
from weft.store.rows import Flag
from weft.store.sqlite import SqliteStore


def files_with(grove, word: str) -> list[str]:
    """Names of the store's files that a word stands in."""
    store = grove.caller.executor.store
    looked_at = [path for path in store.blobs.folder.rglob("*") if path.is_file()]
    if isinstance(store, SqliteStore):
        looked_at += [path for path in store.path.parent.glob(store.path.name + "*") if path.is_file()]
    return sorted(path.name for path in looked_at if word.encode() in path.read_bytes())


def columns_with(grove, word: str) -> list[str]:
    """Columns of any table that a word stands in, compressed ones too."""
    found: set[str] = set()
    with grove.caller.executor.store.read() as session:
        tables = sorted(schema.metadata.tables)
        for table in tables:
            for row in session.execute(sql(f'SELECT * FROM "{table}"')):
                for name, value in row._mapping.items():
                    plain = value
                    if isinstance(value, bytes | memoryview):
                        plain = bytes(value)
                        plain = gzip.decompress(plain) if plain[:2] == b"\x1f\x8b" else plain
                        plain = plain.decode(errors="replace")
                    if word in str(plain):
                        found.add(f"{table}.{name}")
    return sorted(found)


def texts_and_labels(grove: weft.Grove) -> set[tuple[str, str]]:
    """(node id, text) of every node, and (node id, ★) of every bookmark: labels may be overwritten later."""
    with grove.caller.executor.store.read() as session:
        nodes = {(row.tree, row.key): row for row in session.execute(schema.nodes.select())}
        texts = [
            (nodes[row.tree, row.node].ulid, row.content) for row in session.execute(schema.texts.select())
        ]
    marked = {(row.ulid, "★") for row in nodes.values() if row.flags & Flag.BOOKMARKED}
    return {*texts, *marked}
