"""What an import costs: the pure parts load no database, no terminal, no server."""

import subprocess
import sys

import pytest

HEAVY = {"sqlalchemy", "alembic", "psycopg", "typer", "rich", "sqlite3"}


@pytest.mark.parametrize(
    "module",
    [
        "weft",
        "weft.context",
        "weft.context.filters",
        "weft.context.recipe_run",
        "weft.interop.chat_file",
        "weft.context.layers.conversation",
        "weft.context.render",
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
