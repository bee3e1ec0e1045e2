"""Names that load when they are first used, from a module's own `if TYPE_CHECKING:` imports."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import InspectLoader


def lazy_names(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a module that lists its names in `__all__`."""

    def get(name: str) -> object:
        if name not in vars(import_module(module))["__all__"]:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        vars(import_module(module))[name] = value = load_name(module, name)
        return value

    def names() -> list[str]:
        there = vars(import_module(module))
        return sorted({*(name for name in there if name.startswith("__")), *there["__all__"]})

    return get, names


def load_name(module: str, name: str) -> object:
    """What a module imports under that name for type checkers; KeyError if it does not."""
    source, original = _typing_imports(module)[name]
    return getattr(import_module(source), original)


@cache
def _typing_imports(module: str) -> dict[str, tuple[str, str]]:
    import ast  # noqa: PLC0415 - fitting plain messages needs none of it

    loader = cast("InspectLoader", import_module(module).__loader__)
    tree = ast.parse(loader.get_source(module) or "")
    return {
        name.asname or name.name: (line.module, name.name)
        for block in tree.body
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom) and line.module is not None
        for name in line.names
    }
