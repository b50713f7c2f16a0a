"""What the transcripts of an agent hold at a moment."""

import json
import sqlite3
from pathlib import Path

TABLES = ("project", "session", "message", "part")


def tables_of(file: Path) -> dict[str, list[dict]]:
    """The rows of OpenCode's database."""
    with sqlite3.connect(file) as database:
        database.row_factory = sqlite3.Row
        out = {table: [dict(row) for row in database.execute(f"SELECT * FROM {table} ORDER BY id")] for table in TABLES}
    for row in out["message"] + out["part"]:
        row["data"] = json.loads(row["data"])
    return out


def state(files: list[Path]) -> dict[Path, bytes | dict]:
    """What the transcripts hold now."""
    return {file: tables_of(file) if file.suffix == ".db" else file.read_bytes() for file in files}
