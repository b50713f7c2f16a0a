"""The tools as listed in docs/mcp.md: names, arguments, keys of results."""

import os
import re
from pathlib import Path

PAGE = Path(os.environ["EMPIRICA_ROOT"]) / "docs" / "mcp.md"


def rows() -> list[dict]:
    """The tools of the page's table."""
    out = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 4 and (found := re.fullmatch(r"`([a-z_]+)`( \*)?", cells[0])):
            arguments = [(name, bool(must)) for name, must in re.findall(r"`([a-z_]+)`( \(required\))?", cells[2])]
            keys = re.findall(r"`([a-z_]+)`", cells[3])
            out.append({"name": found[1], "core": bool(found[2]), "arguments": dict(arguments), "keys": keys})
    assert len(out) == 45, len(out)
    return out
