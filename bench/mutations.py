"""`python -m bench.mutations`: small faults drawn by a fixed seed, and whether the tests notice them.

Each fault is put into a copy of the project, and the tests that could see it run there: those of its own room
first, and those of the rooms above it only if the first do not notice. It takes about an hour on one core, so it
is no part of `make bench`.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

__all__ = ["Mutation", "main", "mutations_of"]

_PROJECT = Path(__file__).parent.parent
_SOURCE, _TESTS = Path("src/weft"), _PROJECT / "tests"
_SEED, _COUNT = 16, 40
_SECONDS = 900
"""A fault may make a test wait for ever: that is noticed, too."""
_COPIED = ("src", "tests", "bench", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md")
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
_ROOMS = {
    "evidence": ("provenance", "cli"),
    "records": ("recipes", "grove"),
    "context": ("context", "recipes", "contexts"),
    "contexts": ("contexts", "generation"),
    "operations": ("operations", "undo", "grove"),
    "generation": ("generation", "runners"),
    "knowledge": ("knowledge", "tools", "search"),
    "interop": ("interop", "transfer"),
    "transfer": ("transfer", "cli"),
    "store": ("store", "search", "operations"),
    "tree": ("tree", "operations"),
}
"""Folders of tests of a room, where they are not just the one of its name."""


class Mutation(NamedTuple):
    """One fault: a piece of a module, and what it is replaced by."""

    module: Path
    line: int
    start: int
    stop: int
    """Offsets in the module's bytes."""
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.stop :]

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.module.relative_to(_SOURCE)}:{self.line}: {before}  →  {after}"


def mutations_of(module: Path, source: bytes) -> Iterator[Mutation]:
    """Every fault that can be made in a module, in the order of its lines."""
    text = source.decode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    for node in _running(ast.parse(text)):
        changed = _changed(node)
        if changed is None or node.end_lineno is None or node.end_col_offset is None:
            continue
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[node.end_lineno - 1] + node.end_col_offset
        after = "pass" if isinstance(changed, ast.Pass) else f"({ast.unparse(changed)})"
        yield Mutation(module, node.lineno, start, stop, source[start:stop].decode(), after)


def _running(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What is executed: no annotations, and nothing that only type checkers read."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list") or isinstance(tree, ast.JoinedStr):
            continue
        for node in cast("list[object]", value) if isinstance(value, list) else [value]:
            if not isinstance(node, ast.AST):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            if isinstance(node, ast.expr | ast.stmt):
                yield node
            yield from _running(node)


def _changed(node: ast.expr | ast.stmt) -> ast.AST | None:
    """The same with one fault; None where none is known."""
    other = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[operator]):
            other.ops = [_COMPARED[type(operator)]()]
        case ast.BoolOp(op=ast.And()):
            other.op = ast.Or()
        case ast.BoolOp(op=ast.Or()):
            other.op = ast.And()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.BinOp(op=operator) if type(operator) in _COMPUTED:
            other.op = _COMPUTED[type(operator)]()
        case ast.Constant(value=bool(value)):
            other.value = not value
        case ast.Constant(value=int(value)):
            other.value = value + 1
        case ast.IfExp(body=body, orelse=orelse):
            other.body, other.orelse = orelse, body
        case ast.Expr(value=ast.Call()):
            return ast.Pass()
        case _:
            return None
    return other


def drawn(seed: int, count: int) -> list[Mutation]:
    """So many faults, each as likely as any other; the same for the same source and seed."""
    modules = sorted(path for path in (_PROJECT / _SOURCE).rglob("*.py") if "migrations" not in path.parts)
    every = [each for path in modules for each in mutations_of(path.relative_to(_PROJECT), path.read_bytes())]
    return random.Random(seed).sample(every, count)


def tests_of(module: Path) -> list[list[str]]:
    """The tests that could see a fault, nearest first: those of its room, then of the rooms beside and above it."""
    parts = module.relative_to(_SOURCE).with_suffix("").parts
    room = parts[1] if parts[0] == "runtime" else parts[0]
    folders = [each for each in (*reversed(parts[:-1]), *_ROOMS.get(room, ()), "grove") if _is_tested(each)]
    named = [str(path.relative_to(_PROJECT)) for path in _TESTS.rglob(f"test_{parts[-1]}*.py")]
    return [each for each in (named, *([f"tests/{folder}"] for folder in dict.fromkeys(folders))) if each]


def _is_tested(room: str) -> bool:
    return (_TESTS / room).is_dir()


def noticed(mutation: Mutation, folder: Path) -> str | None:
    """The test that fails with a fault; None if all pass."""
    path = folder / mutation.module
    source = path.read_bytes()
    path.write_bytes(mutation.applied(source))
    try:
        for tests in tests_of(mutation.module):
            failed = _failure(tests, folder)
            if failed is not None:
                return failed
    finally:
        path.write_bytes(source)
    return None


def _failure(tests: Sequence[str], folder: Path) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": f"{folder / 'src'}:{folder}"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "does not end"
    if done.returncode in (0, 5):
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"pytest ends with {done.returncode}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.mutations", description=__doc__)
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--count", type=int, default=_COUNT)
    parser.add_argument(
        "--only", type=int, nargs="*", help="numbers of the drawn faults to try; all if not given"
    )
    parser.add_argument("--list", action="store_true", help="show what is drawn, and run nothing")
    options = parser.parse_args(arguments)
    chosen = dict(enumerate(drawn(options.seed, options.count), 1))
    if options.only:
        chosen = {number: each for number, each in chosen.items() if number in options.only}
    if options.list:
        for number, mutation in chosen.items():
            print(f"{number:3} {mutation}")
        return
    killed = 0
    with tempfile.TemporaryDirectory(prefix="weft-mutations-") as name:
        folder = Path(name)
        for part in _COPIED:
            copied = shutil.copytree if (_PROJECT / part).is_dir() else shutil.copy2
            copied(_PROJECT / part, folder / part)
        for number, mutation in chosen.items():
            test = noticed(mutation, folder)
            killed += test is not None
            print(f"{number:3} {'killed' if test else 'SURVIVED'} {mutation}  {test or ''}", flush=True)
    print(f"{killed} of {len(chosen)} killed (seed {options.seed})")


if __name__ == "__main__":
    main()
