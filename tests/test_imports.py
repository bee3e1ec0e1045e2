"""What an import costs: the pure parts load no database, no terminal, no server."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.covers import covers

import weft.context

HEAVY = {"sqlalchemy", "alembic", "psycopg", "typer", "rich", "sqlite3"}


@pytest.mark.parametrize(
    "module",
    [
        "weft",
        "weft.context",
        "weft.context.recipes.filters.pipeline",
        "weft.context.recipes.recipe_run",
        "weft.interop.chat_file",
        "weft.context.conversation",
        "weft.context.engine",
        "weft.tree.tree",
        "weft.tree.json_names",
        "weft.errors",
        "weft.provenance.chain",
    ],
)
def test_pure_modules_load_nothing_heavy(module):
    script = f"import sys, {module}; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_fitting_plain_messages_loads_no_machinery_for_making_classes():
    script = "import sys, weft.context; print(sorted({'dataclasses', 'inspect', 'json'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PROVIDERS = re.compile("anthropic|openai|google|gemini|claude|gpt", re.IGNORECASE)
VOCABULARIES = {"tokens.py"}
"""The estimators that count with a published vocabulary have the name of its publisher."""
DIALECTS = {"openai", "anthropic"}
"""Shapes of messages that SDKs take: what writes them has their names, and decides nothing by them."""


@covers("engine.no-provider-names")
def test_the_engine_names_no_provider_and_no_model():
    root = Path(weft.context.__file__).parent
    found = set()
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        sentences = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            words = [getattr(node, name, None) for name in ("id", "attr", "arg", "name", "module")]
            if isinstance(node, ast.Constant) and node not in sentences:
                words.append(node.value)
            found |= {(path.name, word) for word in words if isinstance(word, str) and PROVIDERS.search(word)}
    named = {
        (name, word)
        for name, word in found
        if name not in VOCABULARIES and not (word.isidentifier() and DIALECTS & set(word.lower().split("_")))
    }
    assert named == set()
