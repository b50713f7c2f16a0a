"""A raw client: bytes to the server's input, frames from its output; anything but frames fails."""

import contextlib
import json
import queue
import signal
import subprocess
import threading
import time

from place import Repo

# How long an answer may take, in seconds.
LIMIT = 120
CRASHES = {101, 134, 139, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGILL, -signal.SIGBUS}


class Raw:
    """A server, spoken to in bytes. On leaving, it must end by itself when its input ends."""

    def __init__(self, repo: Repo, *arguments: str, cwd: object = None, crash_only: bool = False, **env: str):
        command, rest = repo.place.command("mcp", *arguments, **env)
        self.process = subprocess.Popen(
            [command, *rest],
            cwd=str(cwd or repo.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self.frames: queue.Queue[dict | None] = queue.Queue()
        self.wrong: list[str] = []
        self.errors = b""
        self.next_id = 100
        self.crash_only = crash_only
        self.threads = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._err, daemon=True)]
        for thread in self.threads:
            thread.start()

    def _read(self) -> None:
        # closed under the reader's hands when a test does so
        with contextlib.suppress(ValueError, OSError):
            for line in self.process.stdout or ():
                try:
                    frame = json.loads(line)
                    assert isinstance(frame, dict) and frame.get("jsonrpc") == "2.0"
                    self.frames.put(frame)
                except (ValueError, AssertionError):
                    self.wrong.append(repr(line[:300]))
        self.frames.put(None)

    def _err(self) -> None:
        self.errors = (self.process.stderr.read() if self.process.stderr else b"") or b""

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            code = self.end()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        if kind is None:
            assert code not in CRASHES, f"it crashed with {code}: {self.errors[-500:]!r}"
            assert not self.wrong, f"what is no frame on standard output: {self.wrong}"
            if not self.crash_only:
                assert code == 0, f"it ended with {code}: {self.errors[-500:]!r}"

    def end(self, limit: float = LIMIT) -> int:
        """Closes its input and waits for its end."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"it did not end {limit} s after its input did") from error
        for thread in self.threads:
            thread.join(5)
        return code

    def bytes(self, data: bytes) -> None:
        """Sends all of these bytes."""
        assert self.process.stdin
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) or 0 :]

    def send(self, message: object) -> None:
        self.bytes(json.dumps(message).encode() + b"\n")

    def frame(self, limit: float = LIMIT) -> dict:
        """The next frame."""
        try:
            frame = self.frames.get(timeout=limit)
        except queue.Empty:
            raise AssertionError(f"no answer in {limit} s") from None
        assert frame is not None, f"its output ended; {self.process.poll()}: {self.errors[-500:]!r}"
        return frame

    def answer(self, identity: object, limit: float = LIMIT) -> dict:
        """The answer to a request; others before it are an error."""
        frame = self.frame(limit)
        assert frame.get("id") == identity and type(frame.get("id")) is type(identity), f"not for {identity!r}: {frame}"
        return frame

    def silent(self, seconds: float = 0.3) -> None:
        """Nothing comes."""
        with contextlib.suppress(queue.Empty):
            raise AssertionError(f"it said {self.frames.get(timeout=seconds)}")

    def initialize(self, version: str = "2025-11-25", name: str = "raw") -> dict:
        about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        self.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
        result = self.answer(1)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def request(self, method: str, params: dict | None = None) -> int:
        """Sends a request, and does not wait for its answer."""
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return self.next_id

    def ask(self, method: str, params: dict | None = None) -> dict:
        return self.answer(self.request(method, params))

    def call(self, tool: str, **arguments: object) -> dict:
        """The result of a call."""
        frame = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in frame, frame
        return frame["result"]

    def document(self, tool: str, **arguments: object) -> dict:
        """The document of a call's result, in success or in failure."""
        return json.loads(self.call(tool, **arguments)["content"][0]["text"])

    def alive(self) -> None:
        """It still answers."""
        assert self.ask("ping")["result"] == {}

    def dies(self, limit: float = LIMIT) -> int:
        """It ends by itself."""
        until = time.monotonic() + limit
        while self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        assert self.process.poll() is not None, f"it did not end in {limit} s"
        return int(self.process.returncode)
