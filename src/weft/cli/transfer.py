"""Move groves between files and databases, and check them: export, import, backup, migrate, doctor."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.arguments import argument, flag, option
from weft.cli.output import Piece, progress_bar, quoted, wire_object
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, read_text
from weft.error_hints import Face, hint_on
from weft.errors import ConflictError, InvalidInputError, NotFoundError, StorageError
from weft.interop.importer import ImporterRegistry, require_known
from weft.interop.source_file import opened_files
from weft.interop.weft_json import begins_as_weft, open_file
from weft.tree.node import counted

_FILES = (".json", ".gz", ".md")
_LEVELS = {"good": ("✓", "green"), "note": ("!", "yellow"), "wrong": ("✗", "red")}


def export(
    session: CliSession,
    names: Annotated[
        list[str] | None, argument("[TREE]...", "Titles or ids; default: the whole grove.")
    ] = None,
    *,
    out: Annotated[str, option("--out -o FILE", "The file; .gz compresses it; - is stdout.")] = STDIN,
    force: Annotated[bool, flag("--force -f", "Overwrite the file.")] = False,
    chat: Annotated[
        bool, flag("--chat", "As a Markdown chat: the path to a NODE, or to a tree's current node.")
    ] = False,
    format: Annotated[  # noqa: A002 - the name of the option
        str | None,
        option(
            "--format NAME",
            "markdown, messages, html, chatgpt, open-webui, pairs, trace; default: Weft's own.",
        ),
    ] = None,
    path: Annotated[str | None, option("--path NODE", "Only the path to this node.")] = None,
) -> None:
    """Export trees, or the whole grove, as one JSON file that can be imported again.

    Everything is exported except users, tokens and mounted folders, which belong to this machine.
    With --format, one tree in another shape: Markdown, one HTML page, messages for training, and so on.
    """
    if chat:
        _export_chat(session, names or (), out, force=force)
        return
    if format is not None or path is not None:
        _export_as(session, names or (), format or "markdown", path, out, force=force)
        return
    if out == STDIN and session.out.as_json:
        raise InvalidInputError("the export itself is JSON", hint="name a file for it with --out")
    chosen = list(names or ()) or ([session.options.tree] if session.options.tree is not None else None)
    target = sys.stdout.buffer if out == STDIN else Path(out)
    try:
        with progress_bar("exporting") as progress:
            done = session.grove.export(target, chosen, overwrite=force, progress=progress)
    except NotFoundError as error:
        file = next((name for name in chosen or () if name.lower().endswith(_FILES)), None)
        if file is None:
            raise
        raise NotFoundError(error.message, hint=f"to write to a file: --out {file}") from error
    session.out.notes(done.notes)
    place = "" if out == STDIN else f" to {out}"
    message = f"exported {counted(done.trees, 'tree')} with {counted(done.nodes, 'node')}{place}"
    if out == STDIN:
        session.out.message(message)
    else:
        session.out.result(wire_object(done, file=out), out, message)


def import_(
    session: CliSession,
    file: Annotated[str, argument("FILE", "A file, a folder or a zip; - is stdin.")],
    *,
    chat: Annotated[bool, flag("--chat", "It is a Markdown chat. Default for .md files.")] = False,
    agent: Annotated[str | None, option("--agent AGENT", "The author of a chat's answers.")] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str | None, option("--format NAME", "The program it comes from; default: by its content.")
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Report what would be imported; write nothing.")] = False,
    strict: Annotated[bool, flag("--strict", "Import nothing if one conversation cannot be read.")] = False,
) -> None:
    """Import what weft export wrote, or conversations of another program.

    A file of weft export is imported whole or not at all, with every hash checked. Of other programs
    (ChatGPT, Claude, Claude Code, Open WebUI and more) each conversation is; a second time, only what
    is new is added. Prints the ids of the trees.
    """
    if (chat or file.lower().endswith((".md", ".markdown"))) and format is None and not dry_run:
        _import_chat(session, file, agent)
        return
    if format is not None or dry_run or strict or not _is_weft(file):
        _import_conversations(session, file, format, dry_run=dry_run, strict=strict)
        return
    with progress_bar("importing") as progress:
        done = session.grove.import_(sys.stdin.buffer if file == STDIN else Path(file), progress=progress)
    session.out.notes(done.notes)
    titles = [session.grove.tree(tree).title for tree in done.trees[:3]]
    named = ", ".join(quoted(title) for title in titles) + (" …" if len(done.trees) > len(titles) else "")
    message = f"imported {counted(len(done.trees), 'tree')} with {counted(done.nodes, 'node')}"
    message += f": {named}" if titles else ""
    session.out.result(done, "\n".join(done.trees) if done.trees else None, message)


def _is_weft(file: str) -> bool:
    """Whether it is a file of weft export, or a stream that may be one; checked before a grove is created."""
    path = Path(file)
    if file == STDIN or path.is_fifo():
        return True
    if path.is_dir() or not (path.exists() and begins_as_weft(path)):
        return False
    with open_file(path):
        return True


def _import_conversations(
    session: CliSession, file: str, name: str | None, *, dry_run: bool, strict: bool
) -> None:
    source = sys.stdin.buffer if file == STDIN else Path(file)
    if isinstance(source, Path) and name is None:
        # Before a grove is created for it.
        with opened_files(source) as files:
            require_known(files, ImporterRegistry.installed())
    with progress_bar("reading" if dry_run else "importing") as progress:
        report = session.grove.import_conversations(
            source, format=name, dry_run=dry_run, strict=strict, progress=progress
        )
    for each in report.conversations:
        where = f"{each.file} {each.place}".strip()
        if each.error is not None:
            session.out.message(f"not imported: {where}, line {each.line:,}: {each.error}")
        for key in each.keys:
            place = f"message {key.message:,}" if key.message is not None else key.kind
            session.out.message(f"API key found and not kept: {quoted(each.title)}, {place} ({where})")
    session.out.notes(list(map(str, report.losses)))
    read = [each for each in report.conversations if each.error is None]
    nodes = sum(each.nodes for each in read)
    what = f"{counted(len(read), 'conversation')} with {counted(nodes, 'node')}"
    if dry_run:
        message = f"would import {what}, {report.new_nodes:,} of them new (dry run: nothing was written)"
    else:
        message = f"imported {what}, {report.new_nodes:,} of them new"
    if report.failed:
        message += f"; {counted(len(report.failed), 'conversation')} could not be read"
    session.out.result(report, "\n".join(report.trees) if report.trees else None, message)


def _export_chat(session: CliSession, names: Sequence[str], out: str, *, force: bool) -> None:
    """One path as a chat, to a file or to stdout."""
    if len(names) > 1:
        raise InvalidInputError("a chat is one path", hint="name one node, or one tree")
    tree, node = session.place(names[0] if names else None)
    text = tree.chat() if node is None else node.chat()
    if out == STDIN:
        if session.out.as_json:
            session.out.json({"chat": text})
        else:
            session.out.exact(text)
        return
    path = Path(out)
    if path.exists() and not force:
        raise ConflictError(f"{out} already exists", hint="overwrite it with --force")
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}") from error
    session.out.result({"file": out}, out, f"wrote the chat {quoted(tree.title)} to {out}")


def _export_as(
    session: CliSession, names: Sequence[str], name: str, path: str | None, out: str, *, force: bool
) -> None:
    """One tree, or one path of it, in another shape."""
    if len(names) > 1:
        raise InvalidInputError("one tree is exported at a time in this format", hint="name one tree")
    tree, node = session.place(path or (names[0] if names else None))
    if name == "trace":
        if node is None:
            raise InvalidInputError("a trace is of one generated node", hint="name it with --path NODE")
        pieces = iter([json.dumps(node.provenance().trace(), ensure_ascii=False, indent=1), "\n"])
    else:
        pieces = tree.export(name, node=node if path is not None else None)
    if out == STDIN:
        for piece in pieces:
            session.out.exact(piece)
        return
    target = Path(out)
    if target.exists() and not force:
        raise ConflictError(f"{out} already exists", hint="overwrite it with --force")
    try:
        with target.open("w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}") from error
    session.out.result({"file": out}, out, f"wrote {quoted(tree.title)} to {out}")


def _import_chat(session: CliSession, file: str, agent: str | None) -> None:
    """A new tree from a chat; notes name what could not be read."""
    from weft.runtime.transfer.markdown_chats import load_chat  # noqa: PLC0415 - loads with the grove

    done = load_chat(session.grove.caller, read_text(file), agent=agent)
    session.out.notes(done.warnings)
    message = f"imported {quoted(done.tree.title)} with {counted(done.messages, 'message')}"
    session.out.result(done, done.tree.id, message)


def backup(
    session: CliSession,
    file: Annotated[str, argument("FILE", "The copy; its blobs go to FILE-blobs.")],
    *,
    force: Annotated[bool, flag("--force -f", "Overwrite an older backup.")] = False,
    verify: Annotated[bool, flag("--verify", "Recompute every hash in the copy, too.")] = False,
) -> None:
    """Copy the grove to a file while other programs write to it.

    To restore it, open it: --grove FILE; or weft migrate FILE ELSEWHERE.
    """
    with progress_bar("backing up") as progress:
        done = session.grove.backup(file, overwrite=force, verify=verify, progress=progress)
    session.out.notes(done.notes)
    checked = "every hash recomputed" if verify else "checked"
    message = f"backed up to {file}: {done.bytes:,} bytes, {counted(done.blobs, 'blob')}, {checked}"
    session.out.result(done, file, message)


def migrate(
    session: CliSession,
    source: Annotated[str, argument("FROM", "A file, or postgresql://…")],
    target: Annotated[str, argument("TO", "A new file, or an empty database.")],
) -> None:
    """Copy a whole grove to another database, and compare every row.

    All or nothing; the source is not changed. Prints the number of rows copied.
    """
    from weft.runtime.transfer.copy_backup import migrate_grove  # noqa: PLC0415 - loads with the grove

    with progress_bar("copying") as progress:
        done = migrate_grove(source, target, progress=progress)
    session.out.notes(done.notes)
    tables = [
        {"table": name, "rows": count, "sha256": digest} for name, (count, digest) in done.tables.items()
    ]
    value = {"rows": done.rows, "blobs": done.blobs, "tables": tables, "notes": done.notes}
    message = f"copied {counted(done.rows, 'row')} and {counted(done.blobs, 'blob')}; both sides are equal"
    session.out.result(value, str(done.rows), message)


def doctor(
    session: CliSession,
    *,
    repair: Annotated[
        bool, flag("--repair", "Delete unused files and recount; change nothing else.")
    ] = False,
) -> None:
    """Check the grove: the database, the files, the chains.

    Changes nothing without --repair. The exit code is 1 if there is a problem.
    """
    from weft.runtime.transfer.doctor import examine  # noqa: PLC0415 - loads with the grove

    with progress_bar("checking") as progress:
        report = examine(session.address, repair=repair, clock=session.settings.clock, progress=progress)
    if session.out.as_json:
        session.out.json(wire_object(report, sound=report.sound))
    else:
        for message in report.repaired:
            session.out.message(message)
        for finding in report.findings:
            mark, style = _LEVELS[finding.level.value]
            session.out.pieces([Piece(mark, style), Piece(f" {finding.about}: {finding.words}")])
            if finding.hint is not None:
                session.out.pieces([Piece(f"  hint: {hint_on(Face.CLI, finding.hint)}", "dim")])
        session.out.message("no problems" if report.sound else "there are problems")
    if not report.sound:
        session.out.flush()
        raise typer.Exit(1)
