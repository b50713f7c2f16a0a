"""A language model that is a script: it answers each request with the next turn of the scenario."""

import json
import re
import threading
import time
from pathlib import Path

from tools import Call, NoTool, Tools, calls, completion

SUMMARY = "Summary: the work so far is done as asked; go on with the next step."
SIDE_TOKENS = {"in": 7, "out": 3, "cached": 0}


class Script:
    """The turns that answer one prompt, of a run or of a sub-agent."""

    def __init__(self, run: str, prompt: str, turns: list[dict], is_agent: bool = False):
        self.run, self.prompt, self.turns, self.is_agent = run, prompt, turns, is_agent
        self.next, self.memory = 0, {}


class Answer:
    """A text, calls of tools with their ids, and the tokens that the client is told."""

    def __init__(self, number: int, text: str, tokens: dict, called: list[tuple[str, Call]]):
        self.number, self.text, self.tokens, self.calls = number, text, tokens, called


class Model:
    """Answers requests, and keeps what it served; thread-safe."""

    def __init__(self, runs: list[dict], folder: Path, requests: Path):
        self.lock, self.scripts, self.served = threading.RLock(), [], []
        self.folder, self.requests, self.barriers = str(folder), requests, {}
        self.answers, self.called, self.last = 0, 0, None
        requests.mkdir(parents=True)
        for run in runs:
            self.add(run["name"], run["prompt"], run["turns"])

    def add(self, run: str, prompt: str, turns: list[dict], is_agent: bool = False) -> None:
        self.scripts.append(Script(run, prompt, turns, is_agent))
        for act in (act for turn in turns for act in turn.get("do", [])):
            if "agent" in act:
                self.add(run, act["agent"], act["turns"], True)

    def script(self, texts: list[str]) -> Script | None:
        """The script whose prompt is the newest of the user's texts that has one, with nothing of the user after it."""
        for text in reversed(texts):
            # what hooks tell names the tasks of earlier runs
            text = re.sub("<hook_context>.*?</hook_context>", "", text, flags=re.DOTALL)
            # after a compaction the prompt is not in the conversation, or beside others
            if (SUMMARY in text or text.startswith("Continue if you have next steps")) and self.last.next < len(self.last.turns):
                return self.last
            found = [script for script in self.scripts if script.prompt in text]
            if found:
                return max(found, key=lambda script: len(script.prompt))
            if not is_aside(text):
                return None
        return None

    def answer(self, request: dict, texts: list[str], tools: Tools, agents: list[str] = ()) -> Answer:
        """Answers a request whose user said `texts`. `agents` are the ids of sub-agents it names."""
        with self.lock:
            self.answers += 1
            number = self.answers
            text = json.dumps(request, ensure_ascii=False)
            (self.requests / f"{number:03}.json").write_text(text)
            script = self.script(texts) if tools.names else None
            row = {"number": number, "request": text, "run": script and script.run, "side": script is None}
            self.served.append(row)
            if script is None:
                row["tokens"] = SIDE_TOKENS
                row["summary"] = is_summary(texts)
                return Answer(number, SUMMARY if row["summary"] else "A short title", SIDE_TOKENS, [])
            turn = script.turns[script.next] if script.next < len(script.turns) else {"say": "There is nothing more to do.", "beyond": True}
            n, script.next, self.last = script.next, script.next + 1, script
        if "meet" in turn:
            self.meet(turn["meet"])
        made, lacks = [], []
        for act in turn.get("do", []):
            try:
                made += calls(act, tools, self.folder, script.memory, agents)
            except NoTool as tool:
                lacks.append(str(tool))
        if script.is_agent and not turn.get("do"):
            made = completion(turn["say"], tools)
        with self.lock:
            called = []
            for call in made:
                self.called += 1
                called.append((f"call_{self.called:06}", call))
            tokens = {"in": 1000 + 10 * n, "out": 50 + n, "cached": 200} | turn.get("tokens", {})
            row |= {"turn": n, "agent": script.is_agent, "tokens": tokens, "calls": made, "lacks": lacks, "beyond": turn.get("beyond", False), "at": time.time()}
        return Answer(number, turn.get("say", ""), tokens, called)

    def meet(self, place: str) -> None:
        """Waits until two scripts are at the same place; in vain after a minute."""
        with self.lock:
            barrier = self.barriers.setdefault(place, threading.Barrier(2))
        try:
            barrier.wait(60)
        except threading.BrokenBarrierError:
            pass

    def left(self) -> list[str]:
        """The runs with turns that were not served."""
        return [script.run for script in self.scripts if script.next < len(script.turns)]


def is_summary(texts: list[str]) -> bool:
    """Whether the newest text asks for a summary of the conversation."""
    newest = texts[-1].lower() if texts else ""
    return any(word in newest for word in ("summar", "compact", "snapshot", "checkpoint", "handoff"))


def is_aside(text: str) -> bool:
    """Whether agents add such a text after the user's prompt of their own accord."""
    start = text.lstrip()[:60]
    return not start or start[0] in "<[" or start.startswith(("git empirica", "Current", "# ", "Tool", "Please continue", "Continue"))
