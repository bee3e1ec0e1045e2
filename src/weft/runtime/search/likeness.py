"""Likeness by meaning: the vectors of a vault's passages in memory, compared with a question at once."""

import math
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.knowledge import embeddings
from weft.store.base import Store
from weft.store.session import Session
from weft.store.vault_index import passage_keys, vectors_after, version_of

if TYPE_CHECKING:
    from weft.knowledge.embeddings import Keys, Vectors

PassageKey = tuple[str, int, int]
"""A passage of a note: "", vault and key; of a hit: its id, 0 and its ordinal."""
_PASSAGES_EXPECTED, _MEAN_EXPECTED, _DEVIATION_EXPECTED = 50, 0.1, 0.09
"""How like a question passages are that do not answer it: a few notes do not say."""


@dataclass(slots=True)
class VectorTable:
    """The vectors of a vault in memory, by ascending keys."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    version: int = -1
    keys: "Keys | None" = None
    matrix: "Vectors | None" = None

    def refreshed(self, session: Session, vault: int) -> "VectorTable":
        """A table as the index is now: only what is new is read."""
        import numpy as np  # noqa: PLC0415 - comes with the extra

        with self.lock:
            version = version_of(session, vault)
            if version != self.version:
                last = 0 if self.keys is None or not len(self.keys) else int(self.keys[-1])
                new = vectors_after(session, vault, last)
                keys = np.array([key for key, _ in new], dtype=np.int64)
                matrix = embeddings.unpacked([vector for _, vector in new])
                if self.keys is not None and self.matrix is not None:
                    kept = np.isin(self.keys, np.array(passage_keys(session, vault), dtype=np.int64))
                    keys = np.concatenate([self.keys[kept], keys])
                    matrix = np.concatenate([self.matrix[kept], matrix])
                self.keys, self.matrix, self.version = keys, matrix, version
            return VectorTable(self.lock, self.version, self.keys, self.matrix)


@dataclass(slots=True)
class Likeness:
    """How like a question every passage is: one product for all passages of a vault."""

    question: "Vectors"
    scores: "dict[int, tuple[Keys, Vectors]]"
    """By vault: keys in ascending order, and the cosine of each."""
    mean: float
    deviation: float
    others: dict[PassageKey, float] = field(default_factory=dict[PassageKey, float])

    @classmethod
    def of(cls, question: str, tables: Mapping[int, VectorTable]) -> "Likeness":
        vector = embeddings.embed([question])[0]
        scores = {
            vault: (table.keys, table.matrix @ vector)
            for vault, table in tables.items()
            if table.keys is not None and table.matrix is not None
        }
        number, summed, squared = _PASSAGES_EXPECTED, _PASSAGES_EXPECTED * _MEAN_EXPECTED, 0.0
        for _, values in scores.values():
            number, summed = number + len(values), summed + float(values.sum())
        mean = summed / number
        for _, values in scores.values():
            squared += float(((values - mean) ** 2).sum())
        deviation = math.sqrt((squared + _PASSAGES_EXPECTED * _DEVIATION_EXPECTED**2) / number)
        return cls(vector, scores, mean, deviation)

    def best(self, most: int | None) -> list[tuple[int, int]]:
        """Vault and key, the most alike first; all of them without a limit."""
        import numpy as np  # noqa: PLC0415 - comes with the extra

        best: list[tuple[float, int, int]] = []
        for vault, (keys, values) in self.scores.items():
            number = len(keys) if most is None else min(most, len(keys))
            if number:
                first = np.argpartition(-values, number - 1)[:number]
                best += [(-float(values[index]), vault, int(keys[index])) for index in first]
        return [(vault, key) for _, vault, key in sorted(best)[:most]]

    def add(self, keys: Sequence[PassageKey], vectors: "Vectors") -> None:
        """Compare other texts, too."""
        self.others.update(zip(keys, map(float, vectors @ self.question), strict=True))

    def of_key(self, key: PassageKey) -> float:
        return self.others[key]

    def beyond_others(self, key: PassageKey) -> float | None:
        """By how many standard deviations a passage is more like the question than passages are."""
        import numpy as np  # noqa: PLC0415 - comes with the extra

        if key in self.others:
            return (self.others[key] - self.mean) / self.deviation
        _, vault, passage = key
        if vault not in self.scores:
            return None
        keys, values = self.scores[vault]
        index = int(np.searchsorted(keys, passage))
        if index == len(keys) or int(keys[index]) != passage:
            return None
        return (float(values[index]) - self.mean) / self.deviation


_vectors: "weakref.WeakKeyDictionary[Store, dict[int, VectorTable]]" = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def vectors_of(store: Store, vault: int) -> VectorTable:
    with _guard:
        return _vectors.setdefault(store, {}).setdefault(vault, VectorTable())
