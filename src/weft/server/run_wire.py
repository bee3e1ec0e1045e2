"""Runs, attempts, their text and steps as JSON, with the schemas of the OpenAPI document."""

from weft.errors import WeftError
from weft.runtime.live.feed import LiveEvent, TextPart
from weft.runtime.live.presence_and_jobs import JobProgress, Presence
from weft.server.wire import BOOLEAN, TEXT, Schema, array, error_body, object_of, text
from weft.tree.attempt import AttemptOutcome
from weft.tree.json import JsonValue
from weft.tree.json_names import to_wire
from weft.tree.run import RunAttempt, RunKind, RunRecord, RunStatus, RunStep

_WHOLE: Schema = {"type": "integer"}


def optional(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_FAILURE = object_of("error", "code", error=TEXT, code=TEXT, hint=TEXT, retry=TEXT)
_USAGE = object_of(
    **{name: optional(_WHOLE) for name in ("prompt", "completion", "total", "cachedRead", "cachedWrite")}
)
ATTEMPT = object_of(
    *("id", "choice", "run", "tree", "parent", "agent", "name", "model", "status", "node", "offset"),
    *("error", "usage", "cost"),
    id=text("The attempt's; the choices of one call share it."),
    choice=_WHOLE,
    run=TEXT,
    tree=TEXT,
    parent=text("The node that is continued."),
    agent=text("Id of the agent that answers."),
    name=text("Its name."),
    model=TEXT,
    status={"enum": [each.value for each in AttemptOutcome]},
    node=optional(text("The node that it became.")),
    offset={**_WHOLE, "description": "Characters of its text that have come."},
    error=optional(_FAILURE),
    usage=optional(_USAGE),
    cost=optional(text("Dollars of the whole call, given with its first choice.")),
)
RUN = object_of(
    *("id", "tree", "node", "kind", "status", "stopping", "note", "error", "startedAt", "endedAt"),
    "attempts",
    id=TEXT,
    tree=TEXT,
    node=text("The node that is answered."),
    kind={"enum": [each.value for each in RunKind]},
    status={"enum": [each.value for each in RunStatus]},
    stopping=BOOLEAN,
    note=optional(TEXT),
    error=optional(_FAILURE),
    startedAt=TEXT,
    endedAt=optional(TEXT),
    attempts=array(ATTEMPT),
)
ATTEMPT_TEXT = object_of(
    *("attempt", "choice", "kind", "offset", "end", "text", "status", "node"),
    attempt=TEXT,
    choice=_WHOLE,
    kind={"enum": ["text", "thinking"]},
    offset=_WHOLE,
    end=_WHOLE,
    text=TEXT,
    status={"enum": [each.value for each in AttemptOutcome]},
    node=optional(TEXT),
)
STEP = object_of(
    *("run", "tree", "step", "turn", "kind", "body"),
    run=TEXT,
    tree=TEXT,
    step=_WHOLE,
    turn=_WHOLE,
    kind=TEXT,
    body={"type": "object"},
)


def _failure(error: WeftError | None) -> JsonValue:
    return None if error is None else error_body(error)


def attempt_to_wire(attempt: RunAttempt) -> JsonValue:
    return {
        "id": attempt.id,
        "choice": attempt.choice,
        "run": attempt.run,
        "tree": attempt.tree,
        "parent": attempt.parent,
        "agent": attempt.agent,
        "name": attempt.name,
        "model": attempt.model,
        "status": attempt.status.value,
        "node": attempt.node,
        "offset": attempt.offset,
        "error": _failure(attempt.error),
        "usage": to_wire(attempt.usage),
        "cost": to_wire(attempt.cost),
    }


def run_to_wire(run: RunRecord) -> JsonValue:
    return {
        "id": run.id,
        "tree": run.tree,
        "node": run.node,
        "kind": run.kind.value,
        "status": run.status.value,
        "stopping": run.stopping,
        "note": run.note,
        "error": _failure(run.error),
        "startedAt": to_wire(run.started_at),
        "endedAt": to_wire(run.ended_at),
        "attempts": [attempt_to_wire(each) for each in run.attempts],
    }


def live_to_wire(event: LiveEvent) -> tuple[str, JsonValue]:
    """The name and the data of a server-sent event."""
    match event:
        case RunRecord():
            return "run", run_to_wire(event)
        case RunAttempt():
            return "answer", attempt_to_wire(event)
        case RunStep():
            return "turn", to_wire(event)
        case TextPart():
            return "text", to_wire(event)
        case Presence():
            return "presence", to_wire(event)
        case JobProgress():
            return "job", to_wire(event)
