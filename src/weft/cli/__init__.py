"""The command line: parse arguments, call the runtime, print the result."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run `weft` with the arguments of the shell."""
    if sys.argv[1:] == ["--version"]:
        # Answered here: the parser alone takes longer to import than Python takes to start.
        from weft import __version__  # noqa: PLC0415 - as above

        sys.stdout.write(f"weft {__version__}\n")
        return
    from weft.cli.app import run  # noqa: PLC0415 - as above

    run()
