"""`python -m weft.cli` is `weft`."""

from weft.cli import main

if __name__ == "__main__":
    main()
