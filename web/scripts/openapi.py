"""Print the OpenAPI document of the server, for the types of the web app."""

import json
import tempfile
from pathlib import Path

import weft
from weft.server import create_app

with tempfile.TemporaryDirectory() as folder, weft.open(Path(folder) / "grove.db") as grove:
    print(json.dumps(create_app(grove).openapi()))
