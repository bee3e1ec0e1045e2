"""The index of collapsed groups in a grove: which messages a response folds, and what is open."""

from dataclasses import dataclass

from weft.context.group_index import read_index_request, read_removal_request, read_state_request
from weft.runtime.operations.collapsed_groups import ForgetGroups, IndexGroups, OpenGroup
from weft.runtime.operations.executor import Executor
from weft.runtime.operations.permissions import Actor
from weft.tree.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class GroupIndex:
    """Index responses, open and close groups, take responses out again."""

    executor: Executor
    actor: Actor

    def index(self, body: JsonValue, *, user: str | None = None) -> JsonObject:
        """Index the groups of a body `{sessionId, responseId | groups}`; how many, in how many batches.

        Doing it again changes nothing; the last to index a name has it.
        """
        request = read_index_request(body)
        return self.executor.perform(self.actor, IndexGroups(request=request, user=user))

    def set_state(self, body: JsonValue, *, user: str | None = None) -> JsonObject:
        """Open or close a group: `{sessionId, group, expanded, responseId?}`."""
        request = read_state_request(body)
        return self.executor.perform(self.actor, OpenGroup(request=request, user=user))

    def remove(self, session_id: str, response_id: str, *, user: str | None = None) -> JsonObject:
        """Take a response's groups out of the index, as far as they still are its own."""
        session, response = read_removal_request({"sessionId": session_id, "responseId": response_id})
        operation = ForgetGroups(session=session, response=response, user=user)
        return self.executor.perform(self.actor, operation)
