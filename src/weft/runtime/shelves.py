"""Collapsed groups of a grove as recipes read them."""

from collections.abc import Collection
from dataclasses import dataclass

from weft.context.groups import Documents, GroupScope, Shelf
from weft.store.records import known_records, read_entries, record_value
from weft.store.session import Session
from weft.tree.record import RecordPlace

__all__ = ["RESPONSES", "SHELVES", "StoredGroups"]

RESPONSES = "collapsed"
"""The stream of a session in which the responses that make groups are kept."""
SHELVES = tuple(Shelf)
"""Stored as their index."""


@dataclass(frozen=True, slots=True)
class StoredGroups:
    """Groups as recipes read them: the index, and responses among the session's records."""

    session: Session

    def memberships(self, scope: GroupScope, message_ids: Collection[str]) -> Documents:
        return self.shelved(scope, Shelf.MESSAGE_TO_GROUPS, message_ids)

    def states(self, scope: GroupScope, names: Collection[str]) -> Documents:
        return self.shelved(scope, Shelf.GROUP_STATE, names)

    def responses(self, scope: GroupScope, response_ids: Collection[str]) -> Documents:
        place = RecordPlace(stream=RESPONSES, user=scope.user_id, session=scope.session_id)
        rows = known_records(self.session, [(place, each) for each in response_ids])
        return {row.id: record_value(row).document for row in rows.values() if row.hidden is None}

    def shelved(self, scope: GroupScope, shelf: Shelf, names: Collection[str]) -> Documents:
        return read_entries(self.session, scope.user_id or "", scope.session_id, SHELVES.index(shelf), names)
