"""What a turn can use: attach, detach, vault, remember; and --tool."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from weft.cli.arguments import NodeName, Words, argument, flag, option
from weft.cli.output import Column, progress_bar, quoted, where
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, read_setting, read_stdin, text_given
from weft.errors import InvalidInputError
from weft.knowledge.embeddings import MISSING
from weft.tree.node import counted

if TYPE_CHECKING:
    from weft.context.items.blocks import ToolOutput
    from weft.grove.node import NodeHandle
    from weft.grove.tree import TreeHandle
    from weft.knowledge.tools.base import AnyTool
    from weft.runtime.search.vault_status import VaultStatus
    from weft.tree.content import ToolCall
    from weft.tree.item import Item
    from weft.tree.json import JsonValue

_SKIPPED_SHOWN = 20
_VaultName = Annotated[str, argument("VAULT", "A name or id.")]
ToolCalls = Annotated[
    list[str] | None,
    option("--tool 'NAME WORDS'", "Run a tool for this turn first: 'localSearch the lamp'. Repeatable."),
]


def read_attachments(session: CliSession, references: Sequence[str], tree: str) -> "list[Item]":
    """Read the named items now; a message says what of a tag or folder could not be read."""
    from weft.runtime.contexts.items import read_items  # noqa: PLC0415 - loads with the grove

    with progress_bar("reading notes") as progress:
        reading = read_items(session.grove.caller, list(references), tree=tree, progress=progress)
    session.out.notes(reading.warnings)
    return list(reading.items)


def attach(
    session: CliSession,
    reference: NodeName,
    names: Annotated[
        list[str], argument("WHAT...", "PATH, PATH#L3-L9, active:PATH, #tag, folder:…, doc:…, [node].")
    ],
    *,
    text: Annotated[
        str | None, option("--text -t TEXT", "The text of one page or note; - for stdin.")
    ] = None,
    pin: Annotated[bool, flag("--pin", "Keep it whole in the library from this turn on.")] = False,
) -> None:
    """Attach notes, pages, documents or nodes to a turn not yet answered.

    Notes are read now. Prints the ids of the turn's attachments.
    """
    from weft.runtime.contexts.items import given_item  # noqa: PLC0415 - loads with the grove

    node = session.node(reference)
    attached = {item.id for item in node.value.attachments}
    if text is None:
        named = {name.strip() for name in names}
        # An item of a tag or folder may be attached already; one that was named itself may not.
        items = [
            item
            for item in read_attachments(session, names, node.value.tree_id)
            if item.id not in attached or item.id in named
        ]
    elif len(names) != 1:
        raise InvalidInputError("--text is the text of one item", hint="attach the others separately")
    else:
        items = [given_item(names[0], read_stdin() if text == STDIN else text)]
    node = node.attach(*(replace(item, pinned=True) if pin else item for item in items))
    message = f"attached {counted(len(items), 'item')} to [{node.local_id}] {where(node.tree.title)}"
    session.out.result(node.value, "\n".join(each.id for each in node.value.attachments), message)


def detach(
    session: CliSession,
    reference: NodeName,
    names: Annotated[list[str], argument("ID...", "Ids of attachments.")],
) -> None:
    """Remove attachments from a turn not yet answered."""
    node = session.node(reference)
    for name in names:
        node = node.detach(name)
    left = "\n".join(each.id for each in node.value.attachments)
    session.out.result(
        node.value, left or None, f"detached {counted(len(names), 'item')} from [{node.local_id}]"
    )


def vault_ls(session: CliSession) -> None:
    """Folders of notes that can be attached; they are read, never written. Alone: list them.

    In a pipe: id, name and folder, separated by tabs.
    """
    session.out.listing(
        [each.value for each in session.grove.vaults],
        Column(None, lambda vault: vault.id),
        Column("name", lambda vault: vault.name),
        Column("folder", lambda vault: vault.path, shrinks=True),
        Column("since", lambda vault: vault.created_at, piped=False),
        empty="no vaults; mount a folder: weft vault add FOLDER",
    )


def vault_add(
    session: CliSession,
    folder: Annotated[str, argument("FOLDER", "A folder of notes.")],
    *,
    name: Annotated[str | None, option("--name -n NAME", "Default: the folder's name.")] = None,
) -> None:
    """Mount a folder read-only.

    Links are resolved now; nothing outside the folder is ever read. Prints its id.
    """
    with progress_bar("indexing notes") as progress:
        vault = session.grove.vaults.mount(folder, name, progress=progress)
    status = vault.status()
    notes = counted(status.notes, "note")
    session.out.result(vault.value, vault.id, f"mounted {quoted(vault.name)} with {notes}")
    _say_skipped(session, status)


def vault_show(
    session: CliSession,
    name: _VaultName,
    folder: Annotated[str, argument("[FOLDER]", "One of its folders.")] = "",
) -> None:
    """List a vault's notes by the paths that attach them."""
    vault = session.grove.vaults[name]
    notes = vault.notes(folder)
    if session.out.as_json:
        session.out.json({"vault": vault.value, "notes": list(notes.paths), "leftOut": notes.left_out})
        return
    for path in notes.paths:
        session.out.text(path)
    if notes.left_out:
        session.out.message(f"left out {counted(notes.left_out, 'link')} to files outside the folder")
    if not notes.paths:
        session.out.message("no notes")


def vault_index(
    session: CliSession,
    name: _VaultName,
    *,
    rebuild: Annotated[bool, flag("--rebuild", "Make the whole index again.")] = False,
) -> None:
    """Index what was changed in a vault's folder; searching does it, too.

    Prints what `weft vault status` prints.
    """
    vault = session.grove.vaults[name]
    with progress_bar("indexing notes") as progress:
        status = vault.index(rebuild=rebuild, progress=progress)
    _show_status(session, [status])


def vault_status(
    session: CliSession,
    name: Annotated[str | None, argument("[VAULT]", "A name or id; default: all.")] = None,
) -> None:
    """How much of the vaults is indexed, and what was skipped.

    In a pipe: name, notes, passages, passages found by meaning, files behind; separated by tabs.
    """
    vaults = list(session.grove.vaults) if name is None else [session.grove.vaults[name]]
    _show_status(session, [vault.status() for vault in vaults])


def _show_status(session: CliSession, statuses: "Sequence[VaultStatus]") -> None:
    session.out.listing(
        statuses,
        Column("name", lambda status: status.name),
        Column("notes", lambda status: status.notes),
        Column("passages", lambda status: status.passages),
        Column("by meaning", lambda status: status.embedded),
        Column("behind", lambda status: status.behind),
        empty="no vaults; mount a folder: weft vault add FOLDER",
    )
    for status in statuses:
        _say_skipped(session, status)
        if status.problem:
            session.out.message(f"{status.name}: {status.problem}")
    if statuses and not statuses[0].semantic:
        session.out.message(MISSING)


def _say_skipped(session: CliSession, status: "VaultStatus") -> None:
    session.out.notes(
        [f"{each.path} is not indexed: {each.reason}" for each in status.skipped[:_SKIPPED_SHOWN]]
    )
    left = len(status.skipped) - _SKIPPED_SHOWN
    if left > 0:
        session.out.message(f"{counted(left, 'more file')} not indexed: weft vault status --json lists all")


def vault_rm(session: CliSession, name: _VaultName) -> None:
    """Unmount a folder; attachments from it stay."""
    vault = session.grove.vaults[name]
    vault.unmount()
    session.out.result(vault.value, vault.id, f"unmounted {quoted(vault.name)}")


def remember(session: CliSession, text: Words = None) -> None:
    """Add a line to the user memory, which begins every request.

    The first line creates the document 'Memory'; weft prefer userMemory=TITLE chooses another.
    """
    with text_given(text) as words:
        saved = session.grove.remember(words)
    message = f"added to {quoted(saved.title)}, revision {saved.revision}"
    session.out.result(saved.value, saved.id, message)


def tool_outputs(
    session: CliSession, wanted: Sequence[str] | None, tree: "TreeHandle", node: "NodeHandle | None"
) -> "Sequence[ToolOutput]":
    """The outputs of the tools named by `--tool`, for a turn at this place."""
    if not wanted:
        return ()
    calls: list[ToolCall] = []
    for each in wanted:
        words = _words(each)
        if not words:
            raise InvalidInputError(f"{each!r} names no tool", hint="--tool 'localSearch the lamp'")
        calls.append(tool_call(session, words[0], words[1:]))
    return session.grove.tools.run_all(calls, at=tree.cursor if node is None else node)


def _words(text: str) -> list[str]:
    """Split as a shell does; at spaces, where a quote is an apostrophe: `localSearch what's new`."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def tool_call(session: CliSession, name: str, given: Sequence[str]) -> "ToolCall":
    """A tool with its arguments: plain words are its first one, others are NAME=VALUE."""
    from weft.tree.content import ToolCall  # noqa: PLC0415 - loads with the grove

    tool = session.grove.tools.service.tool(name)
    names = [each.rstrip("?") for each in tool.argument_names]
    arguments: dict[str, JsonValue] = {}
    words: list[str] = []
    for each in given:
        key, equals, value = each.partition("=")
        if equals and key in names:
            arguments[key] = _value(tool, key, value)
        else:
            words.append(each)
    if words:
        arguments.setdefault(names[0] if names else "words", " ".join(words))
    return ToolCall(id=name, name=name, arguments=arguments)


def _value(tool: "AnyTool", name: str, text: str) -> "JsonValue":
    """The value of an argument: text where it takes text, a list also with commas, else JSON."""
    about: Any = tool.schema["properties"]
    ways = about[name].get("anyOf", [about[name]])
    named: list[Any] = [way["type"] for way in ways if "type" in way]
    types = {kind for each in named for kind in ([each] if isinstance(each, str) else each)}
    value = read_setting(f"{name}={text}")[1]
    if "string" in types:
        return value if isinstance(value, str) else text
    if "array" in types and isinstance(value, str):
        return [each.strip() for each in value.split(",") if each.strip()]
    return value
