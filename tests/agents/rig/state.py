"""What the transcripts of an agent hold at a moment."""

import json
import sqlite3
from pathlib import Path

TABLES = ("project", "session", "message", "part", "todos")


def tables_of(file: Path) -> dict[str, list[dict]]:
    """The rows of OpenCode's database, or of the plan of Copilot CLI."""
    with sqlite3.connect(file) as database:
        database.row_factory = sqlite3.Row
        found = [name for (name,) in database.execute("SELECT name FROM sqlite_master") if name in TABLES]
        out = {table: [dict(row) for row in database.execute(f"SELECT * FROM {table} ORDER BY id")] for table in found}
    for row in out.get("message", []) + out.get("part", []):
        row["data"] = json.loads(row["data"])
    return out


def state(files: list[Path]) -> dict[Path, bytes | dict]:
    """What the transcripts hold now."""
    return {file: tables_of(file) if file.suffix == ".db" else file.read_bytes() for file in files}
