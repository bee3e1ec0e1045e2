"""How large the source is: lines of code, modules, and names that a reader would stumble over."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.report import Section, Table, at_most
from bench.scene import Scene

__all__ = ["run"]

_SOURCE = Path(__file__).parent.parent / "src" / "weft"
_LINES_BAR, _MODULES_BAR, _GERUNDS_BAR, _NAMES_BAR = 51_000, 400, 12, 15
_NOUNS = frozenset(
    [
        "testing",
        "setting",
        "string",
        "routing",
        "streaming",
        "pricing",
        "spending",
        "caching",
        "editing",
        "ranking",
        "chunking",
        "embedding",
    ]
)
"""Words in -ing that name a thing."""


def run(scene: Scene) -> Section:
    del scene
    modules = sorted(path for path in _SOURCE.rglob("*.py") if "migrations" not in path.parts)
    texts = {path: path.read_text(encoding="utf-8") for path in modules}
    lines = {path: len(set(_lines_of_code(text))) for path, text in texts.items()}
    gerunds = [path for path in modules if path.stem.endswith("ing") and path.stem not in _NOUNS]
    names = Counter(name for text in texts.values() for name in _public_classes(text))
    several = sorted(name for name, count in names.items() if count > 1)
    packages: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for path, count in lines.items():
        package = path.relative_to(_SOURCE).parts[0] if path.parent != _SOURCE else "(top level)"
        packages[package] += count
        counts[package] += 1
    section = Section(
        "Source",
        "`src/weft` without migrations. Lines of code are lines with a token that is no comment and no docstring.",
    )
    rows = [(name, f"{counts[name]:,}", f"{count:,}") for name, count in packages.most_common()]
    total = ("all", f"{len(modules):,}", f"{sum(lines.values()):,}")
    section.tables.append(Table("Packages", ("package", "modules", "lines of code"), [*rows, total]))
    section.hold(at_most("lines of code", sum(lines.values()), _LINES_BAR))
    section.hold(at_most("modules", len(modules), _MODULES_BAR))
    section.hold(at_most("modules named by a gerund", len(gerunds), _GERUNDS_BAR))
    section.hold(at_most("class names with several meanings", len(several), _NAMES_BAR))
    if gerunds:
        section.notes.append(
            "Gerunds: " + ", ".join(str(path.relative_to(_SOURCE)) for path in gerunds) + "."
        )
    if several:
        section.notes.append("Several meanings: " + ", ".join(several) + ".")
    return section


def _lines_of_code(text: str) -> Iterator[int]:
    """The numbers of the lines with a token that is no comment and no docstring."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    docstrings = set(_docstring_lines(text))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped and token.type != tokenize.ENDMARKER:
            lines = range(token.start[0], token.end[0] + 1)
            yield from (line for line in lines if line not in docstrings)


def _docstring_lines(text: str) -> Iterator[int]:
    """The lines of texts that stand alone as statements: docstrings, also those of attributes."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _public_classes(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
