"""Serve the sample grove and open it in a browser: what `make run` does.

    python examples/run.py [FOLDER]

The grove is planted on the first visit, in .sample below the repository's root unless another folder is named.
"""

import sys
import threading
from pathlib import Path

import weft
from weft.cli.app import app
from weft.cli.session import Settings
from weft.errors import WeftError
from weft.sample.harbour import plant_samples
from weft.sample.lowmoor import continue_lowmoor, plant_lowmoor

ROOT = Path(__file__).resolve().parent.parent


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "web.db"
    if not path.exists():
        print("planting the sample grove…", file=sys.stderr)
        with weft.open(path, background=False) as grove:
            plant_samples(grove)
            story = plant_lowmoor(grove).id
        # The embedded model goes on by itself while the page is being looked at.
        threading.Thread(target=_go_on, args=(path, story), daemon=True).start()
    app([], obj=Settings(address=path, terminal=True))


def _go_on(path: Path, story: str) -> None:
    try:
        with weft.open(path, background=False) as grove:
            continue_lowmoor(grove.tree(story))
    except WeftError as error:
        print(f"the embedded model did not answer: {error.message}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".sample")
