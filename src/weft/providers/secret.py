"""A key that cannot be printed by accident."""

__all__ = ["Secret"]


class Secret:
    """A key. Only `reveal` gives it; its representation and its pickle do not."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "<Secret>"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")
