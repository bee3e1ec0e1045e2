"""The report of a verification: valid, invalid or incomplete, with every finding."""

from dataclasses import dataclass, field
from enum import StrEnum

_LIMIT = 1_000


class Verdict(StrEnum):
    VALID = "valid"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"


class Problem(StrEnum):
    DIFFERS = "differs"
    """The stored value is not what it was when it was written."""
    MISSING = "missing"
    """A row or value that is needed is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it was written."""

    kind: str
    """node, event, response, attachment, blob, request, manifest, timestamp, tree, …"""
    id: str
    tree_id: str | None = None
    input: str
    """Which of its values: content, hash, sources, …"""
    problem: Problem = Problem.DIFFERS
    stored: str | None = None
    computed: str | None = None

    def __str__(self) -> str:
        if self.problem is Problem.MISSING:
            return f"{self.kind} {self.id}: {self.input} is missing"
        text = f"{self.kind} {self.id}: {self.input} differs"
        if self.stored is not None and self.computed is not None:
            return f"{text}: stored {self.stored}, computed {self.computed}"
        return text if self.stored is None else f"{text}: {self.stored}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The answer to "is it as it was written?", with everything that is not."""

    scope: str
    verdict: Verdict
    nodes: int
    events: int
    bodies: int
    blobs: int
    timestamps: int
    findings: tuple[Finding, ...] = ()
    more: int = 0
    """Findings beyond those listed."""
    unchecked: tuple[str, ...] = ()
    """What was not looked at, and why."""

    @property
    def valid(self) -> bool:
        return self.verdict is Verdict.VALID


@dataclass(slots=True)
class Findings:
    """Gathers findings and counts; keeps the first thousand."""

    tree_id: str | None = None
    chain: str | None = None
    """The tree, or the grove, whose rows are being read: rows without an id are named by it."""
    chain_key: int = 0
    listed: list[Finding] = field(default_factory=list[Finding])
    more: int = 0
    differs: bool = False
    nodes: int = 0
    events: int = 0
    bodies: int = 0
    blobs: int = 0
    timestamps: int = 0
    unchecked: list[str] = field(default_factory=list[str])

    def differs_in(
        self, kind: str, name: str, value: str, stored: object = None, computed: object = None
    ) -> None:
        self.differs = True
        self._add(
            Finding(
                kind=kind,
                id=name,
                tree_id=self.tree_id,
                input=value,
                stored=None if stored is None else _short(stored),
                computed=None if computed is None else _short(computed),
            )
        )

    def missing(self, kind: str, name: str, value: str) -> None:
        self._add(Finding(kind=kind, id=name, tree_id=self.tree_id, input=value, problem=Problem.MISSING))

    def compare(self, kind: str, name: str, value: str, stored: object, computed: object) -> bool:
        if stored == computed:
            return True
        shown_stored = "nothing" if stored is None else stored
        self.differs_in(kind, name, value, shown_stored, "nothing" if computed is None else computed)
        return False

    def _add(self, finding: Finding) -> None:
        if len(self.listed) < _LIMIT:
            self.listed.append(finding)
        else:
            self.more += 1

    def report(self, scope: str) -> Report:
        any_finding = bool(self.listed)
        return Report(
            scope=scope,
            verdict=Verdict.INVALID if self.differs else Verdict.INCOMPLETE if any_finding else Verdict.VALID,
            nodes=self.nodes,
            events=self.events,
            bodies=self.bodies,
            blobs=self.blobs,
            timestamps=self.timestamps,
            findings=tuple(self.listed),
            more=self.more,
            unchecked=tuple(self.unchecked),
        )


def _short(value: object) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
