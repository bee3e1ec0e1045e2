"""The statistics that SQLite's planner works with.

Without statistics it takes "all rows of this tree" for a handful, and reads a whole tree
where an index would have found one node. Statistics taken from a young grove would be
wrong later. So every grove gets the same ones, those of a large grove with large trees:
plans are good at any size and never change.
"""

import sqlite3

_ROWS = 1_000_000
_ROWS_OF_A_TREE = 10_000
_ROWS_OF_A_PREFIX = 2


def teach_planner(connection: sqlite3.Connection) -> None:
    """Write the statistics, unless they are there."""
    if knows_planner(connection):
        return
    wanted = dict(_statistics(connection))
    # An ANALYZE of nothing makes the table of statistics; the second makes the planner read it.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("ANALYZE sqlite_schema")
    connection.execute("DELETE FROM sqlite_stat1")
    connection.executemany(
        "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)",
        [(table, index, figures) for (table, index), figures in wanted.items()],
    )
    connection.execute("COMMIT")
    connection.execute("ANALYZE sqlite_schema")


def knows_planner(connection: sqlite3.Connection) -> bool:
    """Whether the statistics are there, as they should be."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").fetchone():
        return False
    known = {
        (row[0], row[1]): row[2] for row in connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1")
    }
    return known == dict(_statistics(connection))


def _statistics(connection: sqlite3.Connection) -> list[tuple[tuple[str, str], str]]:
    """For each index: rows in all, then how many share its first column, its first two, and so on."""
    tables = [
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
    ]
    found: list[tuple[tuple[str, str], str]] = []
    for table in tables:
        for _, name, unique, origin, _ in connection.execute("SELECT * FROM pragma_index_list(?)", (table,)):
            columns = [row[2] for row in connection.execute("SELECT * FROM pragma_index_info(?)", (name,))]
            figures = [
                _ROWS_OF_A_TREE if number == 0 and column == "tree" else _ROWS_OF_A_PREFIX
                for number, column in enumerate(columns)
            ]
            if unique or columns[-1] == "key":
                figures[-1] = 1
            without_rowid = (
                origin == "pk"
                and not connection.execute(
                    "SELECT 1 FROM sqlite_master WHERE name = ? AND type = 'index'", (name,)
                ).fetchone()
            )
            index = table if without_rowid else name
            found.append(((table, index), " ".join(map(str, [_ROWS, *figures]))))
    return found
