"""Setting spend caps: on the grove, a tree or an agent that is there."""

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from sqlalchemy import select

from weft.errors import InvalidInputError
from weft.runtime.contexts.option_checks import shown
from weft.runtime.generating.caps import CAPS, Period, changed_caps
from weft.runtime.generating.settings import Set, kept_settings
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.scope import Scope
from weft.store import schema
from weft.store.references import find_agent, find_tree
from weft.tree.access import MemberRole

__all__ = ["SetCap", "period_from"]

_GROVE = "grove"


def period_from(given: object) -> Period:
    try:
        return Period(given)
    except ValueError:
        names = " or ".join(repr(each.value) for each in Period)
        raise InvalidInputError(f"there is no period {shown(given)}", hint=f"it is {names}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCap(Editing):
    """Set a cap, or (None) take it away. Whose it is, is looked for and written down in one transaction."""

    verb: ClassVar[str] = "set preferences"
    access: ClassVar[MemberRole] = MemberRole.OWNER
    whose: str
    """`grove`, `tree:` or `agent:`, and what names one."""
    period: Period
    dollars: Decimal | None

    def apply(self, scope: Scope) -> None:
        if not isinstance(self.whose, str):  # pyright: ignore[reportUnnecessaryIsInstance] - what callers without types give
            raise _nobody(self.whose)
        # Before they are read: two who set caps at once would each put back what the other changed.
        scope.open_grove()
        kept = kept_settings(scope.transaction)
        gone = self.dollars is None and self.whose in kept.get(CAPS, {})
        whose = self.whose if gone else self._found(scope)
        caps = changed_caps(kept, whose, self.period, self.dollars)
        Set(settings={CAPS: caps or None}).apply(scope)

    def _found(self, scope: Scope) -> str:
        """By its id, however it was named: names change, and prefixes may come to mean another."""
        kind, _, reference = self.whose.partition(":")
        transaction = scope.transaction
        match kind:
            case "tree":
                key = find_tree(transaction, reference)
                trees = schema.trees
                ulid = transaction.execute(select(trees.c.ulid).where(trees.c.key == key)).scalar_one()
                return f"tree:{ulid}"
            case "agent":
                return f"agent:{transaction.agent(find_agent(transaction, reference)).ulid}"
            case _ if self.whose == _GROVE:
                return _GROVE
            case _:
                raise _nobody(self.whose)


def _nobody(whose: object) -> InvalidInputError:
    return InvalidInputError(f"nobody is {shown(whose)}", hint="a cap is on grove, on tree:ID or on agent:ID")
