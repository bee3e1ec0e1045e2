"""The list of rules and the tests agree, both ways."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("requirements")  # the files are read once

HERE = Path(__file__).parent
RULES = tomllib.loads((HERE / "requirements.toml").read_text())["rule"]


@cache
def named_rules() -> dict[str, set[str]]:
    """Every rule that a test says it covers, with the files that say so."""
    found: dict[str, set[str]] = {}
    for path in HERE.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in definitions(ast.parse(text)) if "@covers(" in text else ():
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "covers":
                    for argument in call.args:
                        assert isinstance(argument, ast.Constant), path
                        found.setdefault(str(argument.value), set()).add(path.name)
    return found


def definitions(scope: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """What may be a test or a class of tests; no test stands within a function."""
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node)


def test_every_rule_is_well_formed_and_named_once():
    ids = [rule["id"] for rule in RULES]
    assert len(ids) == len(set(ids))
    for rule in RULES:
        assert re.fullmatch(r"[a-z0-9-]+\.[a-z0-9-]+", rule["id"])
        assert rule["status"] in {"built", "pending"}
        assert 0 <= rule["chapter"] <= 9
        assert rule["rule"].endswith(".")
    assert {rule["chapter"] for rule in RULES} == set(range(10))


def test_every_built_rule_is_named_by_a_test():
    built = {rule["id"] for rule in RULES if rule["status"] == "built"}
    assert built - named_rules().keys() == set()


def test_every_rule_that_a_test_names_is_on_the_list_and_built():
    built = {rule["id"] for rule in RULES if rule["status"] == "built"}
    unknown = {rule: files for rule, files in named_rules().items() if rule not in built}
    assert unknown == {}
