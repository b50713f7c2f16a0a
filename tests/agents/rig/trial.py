"""A trial: the runs of a scenario by an agent in a fresh repository, with its own home."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import protocols
from clis import AGENTS, CLIS, OTHER, Cli
from model import Model
from state import state

PROGRAM = os.environ["EMPIRICA_PROGRAM"]
TRIALS = Path(os.environ["EMPIRICA_TRIALS"])
# A repository whose notes each trial begins with, to measure hooks in a long history.
HISTORY = os.environ.get("EMPIRICA_HISTORY")
# The longest that a run may take, in seconds.
LIMIT = 150


@dataclass
class Ran:
    """A run that ended: the agent's own id of its session, what it printed on standard error, and its exit code."""

    run: dict
    cli: Cli
    exit: int | str
    session: str | None
    begun: float
    ended: float
    error: str


def rows(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class Trial:
    """Made by `run`; afterwards `ran`, `hooks` and `frames` say what happened, and `ask` what the program knows."""

    def __init__(self, agent: str, scenario: str, runs: list[dict]):
        self.agent, self.scenario = agent, scenario
        self.runs = [{"name": f"run{n}", **run} for n, run in enumerate(runs, 1)]
        self.folder = TRIALS / f"{agent}-{scenario}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.repo, self.home, self.notes = (self.folder / name for name in ("repo", "home", "notes"))
        for folder in (self.repo, self.home, self.notes, self.folder / "bin", self.folder / "tmp"):
            folder.mkdir(parents=True)
        self.model = Model(self.runs, self.repo, self.folder / "requests")
        self.ran: list[Ran] = []
        # the sessions of the history
        self.known: set[str] = set()
        # the transcripts after each run; once, where they ran together
        self.states: list[dict] = []
        path = f"{self.folder / 'bin'}:{AGENTS / 'bin'}:{os.environ['PATH']}"
        self.env = {"PATH": path, "HOME": str(self.home), "TMPDIR": str(self.folder / "tmp"), "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C.UTF-8"}
        self.env |= {"TERM": "dumb", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        self.env["GIT_CEILING_DIRECTORIES"] = str(self.folder)

    def agents(self) -> list[str]:
        return list(dict.fromkeys(self.agent_of(run) for run in self.runs))

    def agent_of(self, run: dict) -> str:
        return OTHER[self.agent] if run.get("other") else self.agent

    def git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.repo, env=self.env, check=True, capture_output=True, text=True).stdout

    def ask(self, *arguments: str) -> dict:
        """The document of `git empirica … --json`."""
        done = subprocess.run([PROGRAM, *arguments, "--json"], cwd=self.repo, env=self.env, capture_output=True, text=True)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"{arguments}: {done.returncode} {done.stdout[:200]} {done.stderr[:200]}") from None

    def prepare(self) -> None:
        constants = f"#!{sys.executable}\nPROGRAM, NOTES = {PROGRAM!r}, {str(self.notes)!r}\n"
        shim = self.folder / "bin/git-empirica"
        shim.write_text(constants + Path(__file__).with_name("shim.py").read_text())
        shim.chmod(0o755)
        (self.repo / "src/deep").mkdir(parents=True)
        (self.repo / "README.md").write_text("# A project\n\nIt has a parser and a printer.\n")
        (self.repo / "src/deep/lib.txt").write_text("parser\nprinter\n")
        self.git("init", "-q", "-b", "main")
        for key, value in (("user.name", "A User"), ("user.email", "user@example.org"), ("gc.auto", "0")):
            self.git("config", key, value)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A project")
        if HISTORY:
            self.borrow(Path(HISTORY))
        more = ["--all-tools"] if any(run.get("all_tools") for run in self.runs) else []
        subprocess.run([PROGRAM, "init", "--agent", ",".join(self.agents()), *more], cwd=self.repo, env=self.env, check=True, capture_output=True)

    def borrow(self, history: Path) -> None:
        """Takes over the notes of another repository, without copies of its objects, and makes their index."""
        objects = self.git("-C", str(history), "rev-parse", "--path-format=absolute", "--git-path", "objects")
        (self.repo / ".git/objects/info/alternates").write_text(objects)
        refs = self.git("-C", str(history), "for-each-ref", "--format=update %(refname) %(objectname)", "refs/notes/empirica")
        subprocess.run(["git", "update-ref", "--stdin"], cwd=self.repo, env=self.env, check=True, input=refs, text=True)
        self.known = {session["session_id"] for session in self.ask("session", "list")["sessions"]}

    def start(self, run: dict, port: int):
        cli = CLIS[self.agent_of(run)](self.repo, self.home, port)
        cli.set_up()
        if not self.ran and self.git("status", "--porcelain"):
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "Hooks of agents")
        command = cli.command(run, self.ran[-1].session if self.ran else None)
        files = [open(self.folder / f"{run['name']}.{kind}", "w+") for kind in ("out", "err")]
        child = subprocess.Popen(
            command, cwd=self.repo / run.get("inside", "."), env=self.env | cli.env(), stdin=subprocess.DEVNULL,
            stdout=files[0], stderr=files[1], start_new_session=True,
        )  # fmt: skip
        return run, cli, command, child, files, time.time()

    def finish(self, run, cli, command, child, files, begun) -> None:
        try:
            code = child.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = f"killed after {LIMIT} s"
        ended, printed = time.time(), []
        for file in files:
            file.seek(0)
            printed.append(file.read())
            file.close()
        self.ran.append(Ran(run, cli, code, cli.session(printed[0], command), begun, ended, printed[1]))

    def run(self) -> "Trial":
        self.prepare()
        server = protocols.listening(self.model)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        try:
            if any("meet" in turn for run in self.runs for turn in run["turns"]):
                for agent in self.agents():
                    cli = CLIS[agent](self.repo, self.home, port)
                    cli.before_several(self.env | cli.env())
                for started in [self.start(run, port) for run in self.runs]:
                    self.finish(*started)
                self.states.append(state(self.transcripts()))
            else:
                for run in self.runs:
                    self.finish(*self.start(run, port))
                    self.states.append(state(self.transcripts()))
            time.sleep(0.5)  # what goes on beside the agent
        finally:
            server.shutdown()
            server.server_close()
        self.hooks, self.frames = rows(self.notes / "hooks.jsonl"), rows(self.notes / "mcp.jsonl")
        return self

    def transcripts(self) -> list[Path]:
        return [file for agent in self.agents() for file in CLIS[agent](self.repo, self.home, 0).transcripts()]
