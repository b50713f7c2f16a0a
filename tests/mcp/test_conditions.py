"""Faults around the server: the client is killed; the repository is gone, not writable, bare or unborn; git is missing."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from client import alone, connected, document_of
from place import Sandbox
from raw import Raw
from suite import test

# A client that sends ten findings, says which process the server is, and waits to be killed.
DOOMED = """
import json, subprocess, sys, time
command = json.loads(sys.argv[1])
server = subprocess.Popen(command, cwd=sys.argv[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(identity, method, params):
    message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if identity is None else {"id": identity})}
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
send(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})
server.stdout.readline()
send(None, "notifications/initialized", {})
send(2, "tools/call", {"name": "bootstrap_session", "arguments": {"ai_id": "a"}})
server.stdout.readline()
for number in range(10):
    send(3 + number, "tools/call", {"name": "log_finding", "arguments": {"finding": f"doomed {number}"}})
print(server.pid, flush=True)
time.sleep(60)
"""


def runs(process: int) -> bool:
    """Whether a process is still at work; one that waits to be fetched by its parent is not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


@test
def the_client_is_killed(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        command, rest = place.command("mcp")
        arguments = [sys.executable, "-c", DOOMED, json.dumps([command, *rest]), str(repo.path)]
        client = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        server = int(client.stdout.readline())
        client.send_signal(signal.SIGKILL)
        client.wait()
        client.stdout.close()
        until = time.monotonic() + 30
        while runs(server) and time.monotonic() < until:
            time.sleep(0.05)
        with case("the server ends"):
            assert not runs(server)
        with case("what was asked for is done"):
            texts = [row["text"] for row in repo.journal() if str(row.get("text", "")).startswith("doomed")]
            assert texts == [f"doomed {number}" for number in range(10)], texts
        with case("git fsck is content"):
            repo.fsck()


@test
def the_server_is_killed(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        for number in range(5):
            raw = Raw(repo)
            raw.initialize()
            raw.call("bootstrap_session", ai_id="a")
            acknowledged = raw.call("log_finding", finding=f"said {number}")["structuredContent"]["id"]
            raw.request("tools/call", {"name": "log_finding", "arguments": {"finding": f"maybe {number}"}})
            time.sleep(0.005 * number)
            raw.process.kill()
            raw.process.wait()
            raw.end()
            with case(f"kill {number}: what was acknowledged is stored"):
                assert acknowledged in [row["id"] for row in repo.journal()]
        with case("a server after it works"), Raw(repo) as raw:
            raw.initialize()
            assert raw.call("log_finding", finding="after")["isError"] is False
        with case("git fsck is content"):
            repo.fsck()


@test
async def the_repository_goes(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo) as client:
            await client.ok("bootstrap_session", ai_id="a")
            shutil.rmtree(repo.path)
            for tool, arguments in [("log_finding", {"finding": "f"}), ("list_sessions", {}), ("bootstrap_session", {"ai_id": "b"})]:
                with case(f"{tool} in a repository that was deleted fails with what to do"):
                    said = await client.fails(tool, arguments, recover=False)
                    assert "panic" not in json.dumps(said) and "internal error" not in json.dumps(said), said
            with case("the lists of tools and prompts are still answered"):
                assert len((await client.session.list_tools()).tools) == 45
                assert len((await client.session.list_prompts()).prompts) == 2
            with case("a repository that comes back at the same path is used, or the failure says what to do"):
                repo.path.mkdir()
                repo.git("init", "-q", "-b", "main")
                result = await client.raw("bootstrap_session", {"ai_id": "a"})
                assert document_of(result)["ok"] or document_of(result)["suggestion"]
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo) as client:
            await client.ok("bootstrap_session", ai_id="a")
            await client.ok("log_finding", finding="f")
            shutil.rmtree(repo.path / ".git" / "empirica", ignore_errors=True)
            with case("without .git/empirica, what is in the notes is there, and writing works"):
                await client.ok("log_finding", finding="g", session_id="latest") if await reads(client) else None
            shutil.rmtree(repo.path / ".git")
            with case("without .git it fails with what to do"):
                await client.fails("log_finding", {"finding": "f"}, recover=False)


async def reads(client) -> bool:
    """Whether the session is still known: what was not written to the notes yet went with its log."""
    result = await client.raw("get_session_summary", {"session_id": "latest"})
    assert document_of(result)["ok"] or document_of(result)["recovery_commands"], result
    return bool(document_of(result)["ok"])


@test
async def what_cannot_be_written(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo) as client:
            await client.ok("bootstrap_session", ai_id="a")
            await client.ok("submit_preflight_assessment", vectors={"know": 0.5})
            folder = repo.path / ".git" / "empirica"
            os.chmod(folder, 0)
            try:
                for tool, arguments in [("log_finding", {"finding": "shut"}), ("get_session_summary", {}), ("list_sessions", {})]:
                    with case(f"{tool} with .git/empirica at 000 answers"):
                        result = await client.raw(tool, arguments)
                        assert result.isError or document_of(result)["ok"], result
                        if result.isError:
                            await client.fails(tool, arguments, recover=False)
                        elif os.geteuid() != 0:
                            # root reads it all the same
                            assert document_of(result).get("warning"), f"what cannot be read is not told: {result}"
            finally:
                os.chmod(folder, 0o755)
            with case("afterwards it works again"):
                await client.ok("log_finding", finding="open")
        with case("a file in place of .git/empirica is told, or worked around"):
            shutil.rmtree(folder)
            folder.write_text("not a folder")
            async with connected(repo) as client:
                result = await client.raw("bootstrap_session", {"ai_id": "a"})
                assert document_of(result)["ok"] or document_of(result)["suggestion"], result
            folder.unlink()
        with case("notes that are locked are no failure: the record waits"):
            async with connected(repo) as client:
                repo.git("config", "empirica.lockTimeout", "300ms")
                await client.ok("bootstrap_session", ai_id="b")
                lock = repo.path / ".git" / "refs" / "notes" / "empirica" / "data" / "journal.lock"
                lock.parent.mkdir(parents=True, exist_ok=True)
                lock.write_text("")
                said = await client.ok("log_finding", finding="locked out")
                handed = await client.ok("generate_handoff_report", task_summary="t")
                assert said["id"] and handed["report_id"]
                lock.unlink()
                found = (await client.ok("get_session_summary"))["findings"]
                assert [one["text"] for one in found] == ["locked out"]


async def in_no_repository(case, repo, where: str, folder: Path) -> None:
    async with connected(repo, cwd=folder) as client:
        with case(f"{where} the lists are answered"):
            assert len(client.tools) == 45 and len((await client.session.list_prompts()).prompts) == 2
        for name, arguments in [("bootstrap_session", {"ai_id": "a"}), ("list_sessions", {}), ("sync_notes", {})]:
            with case(f"{where} {name} fails with what to do"):
                said = await client.fails(name, arguments, recover=False)
                assert "repository" in said["error"] + said["reason"] and "git init" in json.dumps(said), said


@test
async def where_it_is_started(case) -> None:
    with Sandbox() as place, contextlib.ExitStack() as stack:
        repo = place.repo()
        # places are within the repository of the program: beyond the ceiling there is none, and in the system's folder neither
        beyond = place.path / "beyond"
        beyond.mkdir()
        outside = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for where, folder in [("outside a repository", outside), ("below GIT_CEILING_DIRECTORIES", beyond)]:
            await in_no_repository(case, repo, where, folder)
        bare = place.path / "bare.git"
        repo.git("clone", "-q", "--bare", str(repo.path), str(bare))
        async with connected(repo, cwd=bare) as client:
            with case("in a bare repository a session is kept, or refused with what to do"):
                result = await client.raw("bootstrap_session", {"ai_id": "a"})
                if result.isError:
                    await client.fails("bootstrap_session", {"ai_id": "a"}, recover=False)
                else:
                    await client.ok("log_finding", finding="f")
                    await client.ok("submit_preflight_assessment", vectors={"know": 0.5})
                    assert (await client.ok("generate_handoff_report", task_summary="t"))["stored"] is True
        unborn = place.init("unborn")
        async with connected(unborn) as client:
            with case("before the first commit a session is kept"):
                await client.ok("bootstrap_session", ai_id="a", task="t")
                await client.ok("submit_preflight_assessment", vectors={"know": 0.5, "uncertainty": 0.5})
                await client.ok("log_finding", finding="f")
                await client.ok("create_git_checkpoint")
            with case("before the first commit, what is handed over waits or fails with what to do"):
                result = await client.raw("generate_handoff_report", {"task_summary": "t"})
                assert document_of(result)["ok"] or document_of(result)["suggestion"], result
                await client.ok("resume_previous_session")
                await client.ok("bootstrap_project")
                await client.session.list_resources()
            unborn.commit("a.txt", "a\n", "First")
            with case("after the first commit nothing is lost"):
                said = await client.ok("get_session_summary")
                assert [one["text"] for one in said["findings"]] == ["f"] and len(said["assessments"]) == 1
                assert (await client.ok("generate_handoff_report", task_summary="t"))["stored"] is True
        detached = place.repo("detached")
        detached.git("checkout", "-q", "--detach")
        async with connected(detached) as client:
            with case("on a detached HEAD"):
                await client.ok("bootstrap_session", ai_id="a")
                await client.ok("generate_handoff_report", task_summary="t")
        shallow = place.path / "shallow"
        repo.commit("b.txt", "b\n", "Second")
        repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(shallow))
        async with connected(repo, cwd=shallow) as client:
            with case("in a shallow clone, without an identity"):
                result = await client.raw("bootstrap_session", {"ai_id": "a"})
                assert document_of(result)["ok"] or document_of(result)["suggestion"], result
                result = await client.raw("generate_handoff_report", {"task_summary": "t"})
                assert document_of(result)["ok"] or document_of(result)["suggestion"], result


@test
async def programs_that_lack(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        empty = place.path / "empty"
        empty.mkdir()
        with case("without git in PATH the lists are answered, and calls work or fail with what to do"):
            async with connected(repo, PATH=str(empty)) as client:
                for name, arguments in [
                    ("bootstrap_session", {"ai_id": "a"}), ("log_finding", {"finding": "f"}),
                    ("submit_preflight_assessment", {"vectors": {"know": 0.5}}), ("generate_handoff_report", {"task_summary": "t"}),
                    ("get_session_summary", {}), ("sync_notes", {"remote": "origin"}), ("bootstrap_project", {}),
                ]:
                    result = await client.raw(name, arguments)
                    if result.isError:
                        said = await client.fails(name, arguments, recover=False)
                        assert "panic" not in json.dumps(said), said
        with case("without HOME"):
            async with connected(repo, HOME="") as client:
                await client.ok("bootstrap_session", ai_id="a")
                await client.ok("log_finding", finding="f")
        with case("with a configuration of git that cannot be read"):
            async with connected(repo) as client:
                config = repo.path / ".git" / "config"
                kept = config.read_text()
                config.write_text(kept + "[broken\n")
                said = await client.fails("log_finding", {"finding": "f"}, recover=False)
                assert "config" in json.dumps(said), said
                config.write_text(kept)
                await client.ok("log_finding", finding="f", session_id="latest")
    async with alone(EMPIRICA_NOW="nonsense") as client:
        with case("with a clock that cannot be read"):
            result = await client.raw("bootstrap_session", {"ai_id": "a"})
            assert document_of(result)["ok"] or document_of(result)["suggestion"], result
    with Sandbox() as place:
        repo = place.repo()
        for arguments in [["--tools", "nonsense"], ["--nonsense"], ["extra"]]:
            with case(f"mcp {arguments} ends with 2 and says nothing on standard output"):
                command, rest = place.command("mcp", *arguments)
                ran = subprocess.run([command, *rest], cwd=repo.path, capture_output=True, text=True, input="", timeout=30)
                assert ran.returncode == 2 and ran.stdout == "" and ran.stderr, ran
