"""Vectors of texts by meaning: WordLlama, whose weights are part of its package; nothing is downloaded.

It is an extra (`semantic`). Without it, notes are found by their words alone.
"""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Keys = NDArray[np.int64]

MODEL = "wordllama-l2-256"
"""Stored with every note: another model means other vectors."""
MISSING = (
    "notes are found by their words only; to find them by meaning too: pip install 'weft-loom[semantic]'"
)
_DIMENSIONS = 256


@cache
def is_installed() -> bool:
    """True if texts can be embedded here; does not load anything."""
    return importlib.util.find_spec("wordllama") is not None


@cache
def _model() -> Any:
    from wordllama import WordLlama  # noqa: PLC0415 - an extra, and a third of a second

    package = Path(str(importlib.util.find_spec("wordllama").origin)).parent  # type: ignore[union-attr]
    return WordLlama.load(cache_dir=package, dim=_DIMENSIONS, disable_download=True)


def embed(texts: Sequence[str]) -> "Vectors":
    """A unit vector for each text; zeros for a text without words."""
    return _model().embed(list(texts), norm=True)


def packed(vectors: "Vectors") -> list[bytes]:
    """The vectors as they are stored: half precision, which changes no ranking."""
    return [row.tobytes() for row in vectors.astype("<f2")]


def unpacked(rows: Sequence[bytes]) -> "Vectors":
    import numpy as np  # noqa: PLC0415 - comes with the extra

    data = np.frombuffer(b"".join(rows), dtype="<f2")
    return data.reshape(len(rows), _DIMENSIONS).astype(np.float32)
