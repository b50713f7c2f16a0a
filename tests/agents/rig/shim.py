"""Stands in for git-empirica on the PATH of an agent: runs the program, and notes what it was told and what it answered.

Python, the program and the folder of the notes stand in the first lines, which the rig writes: some agents pass little of the environment on.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

KEPT = ("SESSION", "CLAUDE", "CODEX", "COPILOT", "GEMINI", "OPENCODE", "CURSOR")


def note(name: str, row: dict) -> None:
    line = json.dumps(row) + "\n"
    file = os.open(os.path.join(NOTES, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, line.encode())
    os.close(file)


def variables() -> dict:
    return {key: value for key, value in os.environ.items() if any(part in key for part in KEPT)}


def size(payload: bytes) -> int:
    """Of the transcript that a hook names."""
    try:
        told = json.loads(payload)
        return os.stat(told.get("transcript_path") or told.get("transcriptPath")).st_size
    except (ValueError, AttributeError, TypeError, OSError):
        return 0


def hook(arguments: list[str]) -> int:
    # a wrapper, so that the process that the program finds above it is the agent
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as comm:
        comm.write("sh")
    told = sys.stdin.buffer.read()
    began = time.time()
    done = subprocess.run([PROGRAM, *arguments], input=told, capture_output=True)
    took = time.time() - began
    row = {"agent": arguments[2], "event": arguments[3], "at": began, "cwd": os.getcwd(), "env": variables(), "exit": done.returncode, "ms": round(1000 * took)}
    row |= {"size": size(told), "stdin": told.decode("utf-8", "replace"), "stdout": done.stdout.decode("utf-8", "replace"), "stderr": done.stderr.decode("utf-8", "replace")}
    note("hooks.jsonl", row)
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.flush()
    return done.returncode


def server(arguments: list[str]) -> None:
    """The program takes the place of this process, so that its parent is the agent; a child passes the frames on."""
    note("mcp.jsonl", {"at": time.time(), "server": os.getpid(), "cwd": os.getcwd(), "env": variables()})
    reads, writes = os.pipe()
    number = os.getpid()
    if os.fork() == 0:
        os.close(reads)
        # the answers are the program's own
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with os.fdopen(writes, "wb", buffering=0) as out:
            for line in sys.stdin.buffer:
                note("mcp.jsonl", {"at": time.time(), "server": number, "frame": line.decode("utf-8", "replace").rstrip("\n")})
                try:
                    out.write(line)
                except BrokenPipeError:
                    break
        os._exit(0)
    os.dup2(reads, 0)
    os.close(reads)
    os.close(writes)
    os.execv(PROGRAM, [PROGRAM, *arguments])


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:2] == ["hook", "agent"] and len(arguments) > 3:
        sys.exit(hook(arguments))
    if arguments[:1] == ["mcp"]:
        server(arguments)
    os.execv(PROGRAM, [PROGRAM, *arguments])


main()
