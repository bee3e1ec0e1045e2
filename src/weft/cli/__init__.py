"""The command line: parse, call one runtime function, print."""

__all__ = ["main"]


def main() -> None:
    """Run `weft` with what the shell gave it."""
    # Imported here: whoever only asks for the name does not pay for the commands.
    from weft.cli.app import run  # noqa: PLC0415

    run()
