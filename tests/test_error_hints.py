"""Hints by kind: each face shows what its callers can type."""

import ast
import pickle
import shlex
import string

import pytest
from tests.covers import covers
from typer.main import get_command

from weft import errors
from weft.cli.app import app
from weft.commands.parse import parse_strictly
from weft.error_hints import Face, Hint, HintKind, hint_on

VALUES = {
    "command": "ls",
    "effect": "remove it",
    "first": "a7x2",
    "flags": "--may doc_read --may loom_aware",
    "host": "example.org",
    "last": "9",
    "line": 'drop stash:"theme"',
    "model": "anthropic:claude",
    "name": "Muse",
    "names": "a7x2, b3k9",
    "provider": "anthropic",
    "text": "pip install something",
    "type": "url",
    "use": " first",
    "value": "7",
    "verb": "say",
    "variable": "ANTHROPIC_API_KEY",
}


def hint_of(kind):
    names = {name for form in kind.value for _, name, _, _ in string.Formatter().parse(form) if name}
    return Hint(kind, **{name: VALUES[name] for name in names})


def call_in(text, begins):
    """The call that a hint ends in."""
    _, found, call = text.rpartition(f": {begins}")
    return begins + call if found else None


@covers("errors.hints-by-kind")
@pytest.mark.parametrize("kind", list(HintKind), ids=lambda kind: kind.name)
def test_each_kind_has_a_rendering_on_every_face_that_its_callers_can_type(kind):
    hint = hint_of(kind)
    assert all(hint.on(face) for face in Face)
    assert str(hint) == hint.on(Face.PYTHON)
    for face in (Face.PYTHON, Face.AGENT, Face.HTTP):
        assert ": weft " not in hint.on(face), "only a shell takes commands"
        assert face is Face.PYTHON or "(" not in hint.on(face)
    assert ": →" not in "".join(hint.on(face) for face in (Face.PYTHON, Face.CLI, Face.HTTP))
    if (command := call_in(hint.on(Face.CLI), "weft ")) is not None:
        reads_as_a_command(command)
    if (line := call_in(hint.on(Face.AGENT), "→ ")) is not None:
        assert parse_strictly(line.removeprefix("→ "))
    if hint.on(Face.PYTHON).endswith((")", "]")):
        ast.parse(hint.on(Face.PYTHON).rpartition(": ")[2] if "{" not in str(hint) else "0")


def reads_as_a_command(line):
    """Parse a command line as `weft` does, without running it."""
    command, words = get_command(app), shlex.split(line)[1:]
    context = command.make_context("weft", list(words))
    while getattr(command, "commands", None) and context._protected_args:
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    assert not context._protected_args


@covers("errors.hints-by-kind")
def test_kinds_differ_and_a_hint_keeps_its_kind_wherever_it_is_handed_on():
    assert len(HintKind) == len(HintKind.__members__)
    error = errors.NotFoundError("no vault 'x'", hint=Hint(HintKind.LIST_VAULTS))
    again = errors.InvalidInputError(error.message, hint=error.hint)
    assert str(again) == "no vault 'x' (hint: to list them: grove.vaults.all())"
    assert hint_on(Face.CLI, again.hint) == "to list them: weft vault ls"
    assert hint_on(Face.AGENT, pickle.loads(pickle.dumps(again.hint))) == "ask the human"
    assert hint_on(Face.HTTP, "use fewer words") == "use fewer words"
    assert hint_on(Face.HTTP, None) is None


@covers("errors.hints-by-kind")
@pytest.mark.parametrize(
    "line", ["weft nosuch", "weft vault nosuch", "weft ls --nosuch", "weft archive a b c"]
)
def test_a_command_that_does_not_exist_would_be_noticed(line):
    with pytest.raises(Exception, match="No such|unexpected extra"):
        reads_as_a_command(line)
