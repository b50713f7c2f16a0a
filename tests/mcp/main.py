"""Runs the tests and counts them: `main.py [FILTER]`. Those of the client's next generation run in its own interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import suite

NEXT = os.environ.get("EMPIRICA_NEXT_PYTHON")
REPORT = "--counts "


def main() -> int:
    wanted = next(iter(sys.argv[1:]), "")
    if os.environ.get("EMPIRICA_IS_NEXT"):
        import test_next  # noqa: F401

        case = suite.run(wanted)
        print(REPORT + json.dumps([case.passed, case.failed]))
        return 0
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        if file.stem != "test_next":
            __import__(file.stem)
    case = suite.run(wanted)
    passed, failed = case.passed, case.failed
    if NEXT:
        ran = subprocess.Popen([NEXT, *sys.argv], env={**os.environ, "EMPIRICA_IS_NEXT": "1"}, stdout=subprocess.PIPE, text=True)
        counts = None
        for line in ran.stdout or ():
            if line.startswith(REPORT):
                counts = json.loads(line.removeprefix(REPORT))
            else:
                print(line, end="", flush=True)
        ran.wait()
        passed, failed = (passed + counts[0], failed + counts[1]) if counts else (passed, failed + 1)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
