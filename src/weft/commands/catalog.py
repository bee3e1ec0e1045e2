"""All commands in one table: reading, writing, help, the trace and the MCP tools follow from these rows."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from weft.commands.grammar import CommandRow
from weft.commands.rows import document_rows, memory_rows, node_rows, query_rows, reference_rows
from weft.errors import PermissionDeniedError
from weft.tree.agent import Permission

ROWS: tuple[CommandRow, ...] = (
    *query_rows.ROWS,
    *memory_rows.ROWS,
    *node_rows.ROWS,
    *reference_rows.ROWS,
    *document_rows.ROWS,
)
CATALOG: Mapping[str, CommandRow] = MappingProxyType({row.name: row for row in ROWS})


def refusal(row: CommandRow, permissions: Iterable[Permission]) -> PermissionDeniedError | None:
    """The refusal that an agent with these permissions would get; None if it would not be refused."""
    if row.permission in frozenset(permissions):
        return None
    return PermissionDeniedError(
        f"{row.permission} not enabled",
        hint=f"request elevated permissions or ask the human to {row.verb or row.name}",
    )
