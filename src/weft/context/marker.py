"""The sentence that stands where something was left out. It says what follows from the cut alone."""

from weft.context.tokens import DEFAULT, JOINT, Estimator

__all__ = ["JOINT", "SHORT", "Marker"]

SHORT = "[…]"
_WIDEST = ("9,999,999", "999,999,999", "0" * 26, "0" * 26)
_NAMES = ("{levels}", "{tokens}", "{first}", "{last}")


class Marker:
    """A template and what its text may cost. Nothing live is in it and no clock, so equal cuts read equal."""

    __slots__ = ("allowance", "estimator", "joint", "template")

    def __init__(self, template: str = "", estimator: Estimator = DEFAULT, joint: str = JOINT) -> None:
        self.template = template
        self.estimator = estimator
        self.joint = joint
        """What stands between the marker and the text after it."""
        self.allowance = self.tokens_of(_filled(template, _WIDEST)) if template else 0
        """Tokens to set aside before the cut is known."""

    @property
    def counts_tokens(self) -> bool:
        return "{tokens}" in self.template

    def text(self, levels: int, tokens: int, first: str, last: str) -> str:
        found = _filled(self.template, (f"{levels:,}", f"{tokens:,}", first, last))
        if self.tokens_of(found) <= self.allowance:
            return found
        # An exact count of unusual ids may pass the allowance; a marker never breaks a budget.
        return SHORT if self.tokens_of(SHORT) <= self.allowance else ""

    def within(self, most: int) -> "Marker":
        """Itself; where it costs more than so much, the short one; where that does, too, none."""
        if self.allowance <= most:
            return self
        short = Marker(SHORT, self.estimator, self.joint)
        return short if short.allowance <= most else Marker("", self.estimator, self.joint)

    def tokens_of(self, text: str) -> int:
        if not text:
            return 0
        joint = self.estimator.of_text(self.joint) if self.joint else 0
        # Two ends of its own, and two of each blank line: a joint is as many characters as it has ends.
        seams = max(2, len(self.joint)) * self.estimator.seam
        return self.estimator.of_text(text) + joint + seams


def _filled(template: str, values: tuple[str, ...]) -> str:
    for name, value in zip(_NAMES, values, strict=True):
        template = template.replace(name, value)
    return template
