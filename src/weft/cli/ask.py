"""Ask a question: ask."""

import os
import stat
import sys
from typing import Annotated

import typer

from weft.cli.answer_display import approver_of, show_answer
from weft.cli.arguments import argument, flag, option
from weft.cli.session import CliSession
from weft.cli.text_input import STDIN, read_stdin
from weft.errors import InvalidInputError
from weft.runtime.runners.options import AskOptions, GroveAskOptions

_INTERRUPTED = 130
_BETWEEN = "\n\n"


def ask(
    session: CliSession,
    words: Annotated[
        list[str] | None, argument("TEXT", "The question; what a pipe brings is put before it.")
    ] = None,
    *,
    new: Annotated[bool, flag("--new -n", GroveAskOptions)] = False,
    model: Annotated[str | None, option("--model -m PROVIDER:MODEL", AskOptions)] = None,
    agent: Annotated[str | None, option("--agent -a AGENT", AskOptions)] = None,
    runner: Annotated[str | None, option("--runner -r NAME", AskOptions)] = None,
    vault: Annotated[list[str] | None, option("--vault NAME", AskOptions, name="vaults")] = None,
    use: Annotated[list[str] | None, option("--use TOOL", AskOptions, name="tool_names")] = None,
    planner: Annotated[str, option("--planner NAME", AskOptions)] = "auto",
    attach: Annotated[
        list[str] | None, option("--attach WHAT", "A note, document or node for the question. Repeatable.")
    ] = None,
    composer: Annotated[str, option("--composer TEXT", AskOptions)] = "",
    max_tokens: Annotated[int | None, option("--max-tokens TOKENS", AskOptions)] = None,
    temperature: Annotated[float | None, option("--temperature", AskOptions)] = None,
    turns: Annotated[int, option("--turns N", AskOptions)] = 12,
    seconds: Annotated[float, option("--seconds S", AskOptions)] = 300.0,
    dollars: Annotated[str | None, option("--max-price DOLLARS", AskOptions, name="dollars")] = None,
    record_payload: Annotated[bool, flag("--record-payload", AskOptions)] = False,
    resume: Annotated[bool, flag("--resume", AskOptions)] = False,
    key: Annotated[str | None, option("--key TEXT", AskOptions, name="idempotency_key")] = None,
    approval_seconds: Annotated[float | None, option("--approval-seconds S", AskOptions)] = None,
) -> None:
    """Ask a model and print its answer as it comes. Continues the last tree; plants one if there is none.

    The answer goes to stdout; messages name its node, and the tools that ran.
    """
    options = GroveAskOptions(
        text=None if resume else _question(words),
        new=new,
        tree=session.options.tree,
        model=model,
        agent=agent,
        runner=runner,
        vaults=vault or (),
        tool_names=use or None,
        planner=planner,
        attachments=attach or (),
        composer=composer,
        max_tokens=max_tokens,
        temperature=temperature,
        dollars=dollars,
        record_payload=record_payload or None,
        resume=resume,
        idempotency_key=key,
        approval_seconds=approval_seconds,
        turns=turns,
        seconds=seconds,
    )
    from weft.grove.answer import start_in_grove  # noqa: PLC0415 - loads with the grove

    # With a time limit another face may decide, so the terminal is not asked.
    approver = approver_of(session) if approval_seconds is None else None
    with start_in_grove(session.grove, options, approver) as stream:
        _, stopped = show_answer(session, stream)
    if stopped:
        raise typer.Exit(_INTERRUPTED)


def _question(words: list[str] | None) -> str:
    """The words, after what a pipe or file brings."""
    said = [] if words in (None, [], [STDIN]) else [" ".join(words or ())]
    piped = read_stdin().strip("\r\n") if words == [STDIN] or _is_piped() else ""
    text = _BETWEEN.join(filter(str.strip, [piped, *said]))
    if not text:
        raise InvalidInputError("ask what?", hint='weft ask "why is the sky blue?"')
    return text


def _is_piped() -> bool:
    """True if stdin is a pipe or a file: what it holds belongs to the question."""
    if sys.stdin is None:
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return not sys.stdin.isatty()
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)
