"""Arguments and options of commands, with shell completion."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from weft.argument_checks import Options
from weft.cli.output import shortened, visible
from weft.cli.session import CliSession, options_of, settings_of
from weft.errors import WeftError
from weft.ids import typable

_NODES = 500
_OFFER_WIDTH = 60
_Offers = list[tuple[str, str]]
_Completer = Callable[[typer.Context], _Offers]


def _completer(read: Callable[[CliSession], Iterable[tuple[str, str, str]]]) -> _Completer:
    """Complete with the name (else the id, where a shell would split the name) and text that `read` gives.

    Nothing is offered if there is no grove or no access; completion creates no grove.
    """

    def complete(ctx: typer.Context) -> _Offers:
        from weft.store.addresses import default_address, path_of  # noqa: PLC0415 - loads with the store

        session = CliSession(settings_of(ctx), options_of(ctx))
        file = path_of(str(session.address or default_address()))
        if file is None or file.exists():
            with contextlib.suppress(WeftError), session:
                return [
                    (
                        name if name.replace("-", "").replace("_", "").isalnum() else identity,
                        visible(shortened(text, _OFFER_WIDTH)),
                    )
                    for name, identity, text in read(session)
                ]
        return []

    return complete


complete_nodes = _completer(
    lambda session: (
        ("", typable(row.node.local_id), row.node.text)
        for row in session.grove.read.outline(session.tree.id, limit=_NODES)
    )
)


def complete_places(ctx: typer.Context) -> _Offers:
    """Nodes, and the steps from the current one."""
    from weft.runtime.operations.cursors import Direction  # noqa: PLC0415 - loads with the grove

    return [*((step.value, "one step") for step in Direction), *complete_nodes(ctx)]


_COMPLETERS: Mapping[str, _Completer] = {
    **dict.fromkeys(
        ("NODE", "NODE|TREE", "TARGET", "OTHER", "FIRST", "LAST", "NEXT", "A", "B"), complete_nodes
    ),
    "TREE": _completer(
        lambda session: ((each.title, each.id, each.title) for each in session.grove.read.trees())
    ),
    "AGENT": _completer(
        lambda session: (
            (each.name, each.id, each.model_ref or each.type) for each in session.grove.read.agents()
        )
    ),
    "DOC": _completer(
        lambda session: (
            (each.title, each.id, each.title) for each in session.grove.read.documents(contents=False)
        )
    ),
    "PROJECT": _completer(
        lambda session: ((each.name, each.id, each.system_prompt) for each in session.grove.projects())
    ),
}
"""What completes a value, by the word that help shows for it."""


def argument(word: str, help: str, *, complete: _Completer | None = None, **limits: Any) -> Any:  # noqa: A002 - typer's word
    """An argument, by the word that help shows for it: `NODE`, or `[TREE]...`."""
    completer = complete or _COMPLETERS.get(word.strip("[]."))
    return typer.Argument(metavar=word, help=help, autocompletion=completer, **limits)


def option(
    usage: str,
    help: str | type[Options] | None = None,  # noqa: A002 - typer's word
    *,
    name: str = "",
    panel: str | None = None,
    **limits: Any,
) -> Any:
    """An option with a value, as help shows it: `--session -s ID`; `limits` are `min` and `max`.

    An options class as `help` describes its own option, of the same name or of `name`.
    """
    names = [word for word in usage.split() if word.startswith("-")]
    word = usage.removeprefix(" ".join(names)).strip()
    return typer.Option(
        *names,
        metavar=word or None,
        help=_help(name or names[0], help),
        autocompletion=_COMPLETERS.get(word),
        rich_help_panel=panel,
        **limits,
    )


def flag(
    usage: str,
    help: str | type[Options],  # noqa: A002 - typer's word
    *,
    name: str = "",
    panel: str | None = None,
) -> Any:
    """An option without a value, by its names: `--archived -a`."""
    names = usage.split()
    # Without a metavar, help would show <bool>.
    return typer.Option(*names, help=_help(name or names[0], help), metavar="", rich_help_panel=panel)


def _help(name: str, described: str | type[Options] | None) -> str | None:
    if not isinstance(described, type):
        return described
    return described.specs()[name.strip("-").replace("-", "_")].help


NodeName = Annotated[str, argument("NODE", "a7x2, TREE/a7x2, a ULID, or . for the current node.")]
TreeName = Annotated[str | None, argument("TREE", "A title or id.")]
AgentName = Annotated[str, argument("AGENT", "A name or id.")]
Words = Annotated[list[str] | None, argument("TEXT", "The text; - or a pipe for stdin; default: $EDITOR.")]
ContextNodes = Annotated[
    list[str] | None, option("--context NODE", "A further source, as context. Repeatable.")
]
InstructionNodes = Annotated[
    list[str] | None, option("--instruction NODE", "A further source, as instruction. Repeatable.")
]
SettingValues = Annotated[
    list[str] | None, option("--set NAME=VALUE", "A preference, for this command only. Repeatable.")
]
StartingRevision = Annotated[int | None, option("--revision -r", "The revision you started from.", min=1)]
Archived = Annotated[bool, flag("--archived -a", "Include archived ones.")]
Restore = Annotated[bool, flag("--undo", "Restore it from the archive.")]
Yes = Annotated[bool, flag("--yes -y", "Do not ask for confirmation.")]
