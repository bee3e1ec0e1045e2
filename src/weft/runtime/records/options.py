"""The options of lists of records: every keyword with its type, its default and its description."""

from dataclasses import KW_ONLY, dataclass, field

from weft.argument_checks import Options, OptionSpec, option
from weft.tree.record import ID_LIMIT, NAME_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamListOptions(Options):
    """Whose streams are listed."""

    user: str | None = option(
        None, "The user; without one, what belongs to no user.", wire="userId", most=ID_LIMIT
    )
    session: str | None = option(None, "The session.", wire="sessionId", most=ID_LIMIT)
    topic: str | None = option(None, "The topic.", wire="topicId", most=ID_LIMIT)


@dataclass(frozen=True, slots=True)
class RecordListOptions(StreamListOptions):
    """Which records of a stream are listed."""

    stream: str = field(metadata={"option": OptionSpec("The stream.", 1, NAME_LIMIT, wire="name")})
    _: KW_ONLY
    project: str | None = option(None, "The project.", wire="projectId", most=ID_LIMIT)
    begin: float | None = option(None, "Only after this time, in seconds since 1970.")
    end: float | None = option(None, "Only up to and including this time.")
    after: str | None = option(None, "Continue after the record with this id.", most=ID_LIMIT)
    limit: int = option(100, "How many records, at most.", least=1, most=10_000)
    newest: bool = option(False, "List the newest first.")
    fallback: bool = option(
        False, "If there are none: list the user's without project, else those without user, as recipes do."
    )
