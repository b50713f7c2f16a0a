"""A sandbox to run the program in: its own home, no system configuration, no variables of the machine."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAM = os.environ["EMPIRICA_PROGRAM"]
WORK = Path(os.environ["EMPIRICA_WORK"])
ENV = shutil.which("env") or "env"


def path_with_program() -> str:
    """PATH, with the folder of the program in front: no other copy of it is meant."""
    return os.pathsep.join([str(Path(PROGRAM).parent), os.environ.get("PATH", os.defpath)])


class Repo:
    """A repository in a place."""

    def __init__(self, place: "Sandbox", path: Path):
        self.place, self.path = place, path

    def git(self, *arguments: str, check: bool = True, text: str | None = None) -> str:
        ran = subprocess.run(
            ["git", *arguments], cwd=self.path, env=self.place.env, capture_output=True, text=True, input=text
        )
        if check and ran.returncode != 0:
            raise AssertionError(f"git {arguments}: {ran.returncode} {ran.stderr}")
        return ran.stdout.rstrip("\n")

    def run(self, *arguments: str, text: str | None = None) -> dict:
        """Runs `git empirica … --json`, which must succeed, and reads its document."""
        ran = subprocess.run(
            [PROGRAM, *arguments, "--json"],
            cwd=self.path,
            env=self.place.env,
            capture_output=True,
            text=True,
            input=text or "",
        )
        assert ran.returncode == 0, f"{arguments}: {ran.returncode} {ran.stdout} {ran.stderr}"
        return json.loads(ran.stdout)

    def commit(self, name: str, content: str, message: str) -> str:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        self.git("add", "--", name)
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def journal(self) -> list[dict]:
        """Every record of the journal, as git reads its notes; what waits is written first."""
        self.run("flush")
        notes = self.git("notes", "--ref", "refs/notes/empirica/data/journal", "list", check=False)
        rows = []
        for line in notes.splitlines():
            blob = self.git("cat-file", "blob", line.split(" ")[0])
            rows += [json.loads(row) for row in blob.splitlines() if row.startswith("{")]
        return rows

    def fsck(self) -> None:
        """`git fsck --strict` must be content."""
        ran = subprocess.run(
            ["git", "fsck", "--strict", "--no-dangling"], cwd=self.path, env=self.place.env, capture_output=True, text=True
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode == 0 and "error" not in said and "warning" not in said, said


class Sandbox:
    """A folder with a home and repositories, removed at the end."""

    def __init__(self) -> None:
        WORK.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="place-", dir=WORK)).resolve()
        (self.path / "home").mkdir()
        self.env = {
            "PATH": path_with_program(),
            "HOME": str(self.path / "home"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            # a repository that is deleted is not looked for further up
            "GIT_CEILING_DIRECTORIES": str(self.path),
            "TZ": "UTC",
            "LANG": "C.UTF-8",
        }

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        for folder, _names, _files in os.walk(self.path):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.path, ignore_errors=True)

    def init(self, name: str = "repo") -> Repo:
        """A repository with an identity, and no commit."""
        repo = Repo(self, self.path / name)
        repo.path.mkdir()
        repo.git("init", "-q", "-b", "main")
        repo.git("config", "user.name", "Test")
        repo.git("config", "user.email", "test@example.com")
        return repo

    def repo(self, name: str = "repo") -> Repo:
        """A repository with one commit."""
        repo = self.init(name)
        repo.commit("README.md", "hello\n", "Begin")
        return repo

    def command(self, *arguments: str, **more: str) -> tuple[str, list[str]]:
        """The program as a command that sees this place's variables and no others."""
        env = {**self.env, **more}
        return ENV, ["-i", *(f"{key}={value}" for key, value in env.items()), PROGRAM, *arguments]
