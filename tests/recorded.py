"""Examples recorded from the service whose contract recipes keep."""

import json
from pathlib import Path

HERE = Path(__file__).parent / "data" / "vectors"


def rows(name: str) -> list[dict]:
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text().splitlines()]


def label(row: dict) -> str:
    return row["id"]
