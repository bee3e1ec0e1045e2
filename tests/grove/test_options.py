"""Options of the Python face: one description gives keywords, signatures, checks, help and docs."""

import dataclasses
import inspect
import pydoc

import pytest
from tests.covers import covers

from weft.errors import InvalidInputError
from weft.grove.agent import AgentHandle, AgentRunOptions, ResumeOptions
from weft.grove.grove import Grove
from weft.grove.node import NodeHandle
from weft.grove.tree import CollaborateOptions, TreeHandle
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.runners.options import AskOptions, GroveAskOptions, PreviewOptions

METHODS = [
    (NodeHandle.context, PreviewOptions),
    (NodeHandle.manifest, PreviewOptions),
    (NodeHandle.envelope, PreviewOptions),
    (NodeHandle.prepare, PreviewOptions),
    (NodeHandle.generate, GenerationOptions),
    (NodeHandle.stream, GenerationOptions),
    (NodeHandle.preflight, GenerationOptions),
    (TreeHandle.context, PreviewOptions),
    (TreeHandle.envelope, PreviewOptions),
    (TreeHandle.stats, ContextOptions),
    (TreeHandle.generate, GenerationOptions),
    (TreeHandle.stream, GenerationOptions),
    (TreeHandle.ask, AskOptions),
    (TreeHandle.ask_stream, AskOptions),
    (Grove.ask, GroveAskOptions),
    (Grove.ask_stream, GroveAskOptions),
    (TreeHandle.collaborate, CollaborateOptions),
    (AgentHandle.run, AgentRunOptions),
    (AgentHandle.resume, ResumeOptions),
]


@covers("face.options-described-once")
@pytest.mark.parametrize(("method", "options"), METHODS, ids=[method.__qualname__ for method, _ in METHODS])
def test_a_method_shows_every_option_in_its_signature_and_help(method, options):
    parameters = inspect.signature(method).parameters
    assert set(parameters) == {"self", *(each.name for each in dataclasses.fields(options))}
    assert all(each.kind is not each.VAR_KEYWORD for each in parameters.values())
    shown = pydoc.plain(pydoc.render_doc(method))
    for name, spec in options.specs().items():
        assert f"{name}: " in shown
        assert spec.help.endswith((".", "`."))


@covers("face.options-described-once")
def test_an_unknown_option_is_refused_with_the_nearest_one(loom):
    tree = loom.plant("Marie", "root")
    for call, name, near in [
        (tree.context, "limits", "limit"),
        (tree.root.envelope, "libary", "library"),
        (tree.generate, "max_prise", "max_price"),
        (tree.collaborate, "turn", "turns"),
    ]:
        with pytest.raises(InvalidInputError, match=f"^unknown option '{name}'") as caught:
            call(**{name: 1})
        assert caught.value.hint == f"did you mean {near}?"
        assert caught.value.path == name
    with pytest.raises(InvalidInputError, match="unknown option 'zzzz'") as caught:
        tree.context(zzzz=1)
    assert caught.value.hint.startswith("options: limit, window")


@covers("face.wrong-types", "face.options-described-once")
@pytest.mark.parametrize("number", [10**30, -(10**30), -1, float("nan"), True, "7", 1.5])
@pytest.mark.parametrize("name", ["limit", "window", "max_tokens"])
def test_absurd_numbers_are_refused_by_the_options_name(loom, name, number):
    tree = loom.plant("Marie", "root")
    for call in (tree.context, tree.root.manifest, tree.envelope, tree.generate, tree.root.preflight):
        with pytest.raises(InvalidInputError, match=f"^{name} must be ") as caught:
            call(**{name: number})
        assert caught.value.path == name
        assert caught.value.hint == GenerationOptions.specs()[name].help or name == "max_tokens"
