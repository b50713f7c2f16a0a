"""Cancellation, several clients on one repository, and the command line at the same time."""

import asyncio

import anyio

from client import connected, document_of
from place import Sandbox
from raw import Raw
from suite import test


@test
async def canceled_by_the_client(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo) as client:
            await client.ok("bootstrap_session", ai_id="a")
            with case("a call whose wait is given up does not stop the next"):
                with anyio.move_on_after(0.001):
                    await client.raw("log_finding", {"finding": "given up"})
                assert (await client.ok("log_finding", finding="next"))["kind"] == "finding"
            with case("a time limit of the client is an error of the client alone"):
                from datetime import timedelta

                try:
                    await client.session.call_tool("bootstrap_project", {}, read_timeout_seconds=timedelta(microseconds=1))
                    raise AssertionError("the limit was not kept")
                except Exception as error:
                    assert "Timed out" in str(error) or "timeout" in str(error).lower(), error
                await client.ok("log_finding", finding="after it")
        texts = [row["text"] for row in repo.journal() if row.get("text")]
        with case("what was asked for is stored at most once"):
            assert texts.count("next") == texts.count("after it") == 1 and texts.count("given up") <= 1, texts


@test
def canceled_before_its_turn(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        with Raw(repo) as raw:
            raw.initialize()
            raw.call("bootstrap_session", ai_id="a")
            calls = [raw.request("tools/call", {"name": "log_finding", "arguments": {"finding": f"f{n}"}}) for n in range(30)]
            for number in calls[20:]:
                raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "r"}})
            ping = raw.request("ping")
            answered = {}
            while True:
                frame = raw.frame()
                if frame["id"] == ping and len(answered) >= 20:
                    break
                if frame["id"] != ping:
                    answered[frame["id"]] = frame
                elif len(answered) < 20:
                    ping = raw.request("ping")
            with case("those that were not canceled are answered with success"):
                assert all(answered[number]["result"]["isError"] is False for number in calls[:20])
            with case("a cancellation of what is not there changes nothing"):
                raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 999999}})
                raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "no"}})
                raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
                raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
                raw.alive()
            with case("a cancellation of what is answered changes nothing"):
                raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": calls[0]}})
                raw.alive()
        texts = [row["text"] for row in repo.journal() if row.get("text")]
        with case("each that was not canceled is stored once"):
            assert [text for text in texts if text in {f"f{n}" for n in range(20)}] == [f"f{n}" for n in range(20)], texts
        with case("those canceled before their turn are not stored"):
            assert len(texts) == len(set(texts)) and len(texts) < 30, texts


@test
async def two_clients(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo, name="one") as one, connected(repo, name="two") as two:
            clients = {"ada": one, "bob": two}
            sessions = {}
            for ai, client in clients.items():
                sessions[ai] = (await client.ok("bootstrap_session", ai_id=ai, task=f"of {ai}"))["session_id"]

            async def writes(ai: str) -> None:
                client = clients[ai]
                for number in range(25):
                    said = await client.ok("log_finding", finding=f"{ai} {number}")
                    assert said["session_id"] == sessions[ai], said
                    if number % 5 == 0:
                        await client.ok("submit_check_assessment", vectors={"know": 0.5}, confidence_to_proceed=0.8)
                        await client.ok("log_unknown", unknown=f"{ai} asks {number}")
                        await client.ok("create_goal", objective=f"{ai} wants {number}")

            async def commands() -> None:
                for number in range(8):
                    await asyncio.to_thread(repo.run, "finding", f"shell {number}", "--session", sessions["ada"])

            await asyncio.gather(writes("ada"), writes("bob"), commands())
            for ai, client in clients.items():
                with case(f"nothing of {ai} is lost, and nothing of another's is in its session"):
                    said = await client.ok("get_session_summary")
                    texts = [finding["text"] for finding in said["findings"]]
                    own = [text for text in texts if text.startswith(ai)]
                    assert own == [f"{ai} {number}" for number in range(25)], texts
                    others = [text for text in texts if not text.startswith(ai)]
                    assert sorted(others) == (sorted(f"shell {number}" for number in range(8)) if ai == "ada" else []), others
                    assert len(said["assessments"]) == 5 and len(said["goals"]) == 5 and len(said["unknowns"]) == 5, said
                    rounds = [one["round"] for one in said["assessments"]]
                    assert rounds == [1, 2, 3, 4, 5], rounds
            with case("a write of the command line is seen at the next call"):
                entry = repo.run("finding", "from the shell", "--session", sessions["bob"])
                said = await two.ok("get_session_summary")
                assert entry["id"] in [finding["id"] for finding in said["findings"]]
            with case("a session of the command line is seen at the next call"):
                begun = repo.run("session", "start", "--ai", "eve", "--task", "t")
                assert (await one.ok("get_session_summary", session_id="latest:eve"))["session_id"] == begun["session_id"]
            with case("a session that the command line ended is told"):
                repo.run("session", "end", "--session", sessions["bob"])
                said = document_of(await two.raw("log_finding", {"finding": "late"}))
                assert (said["ok"] is False and said["recovery_commands"]) or "ended" in str(said.get("warning")), said
            with case("a commit meanwhile is seen"):
                commit = repo.commit("new.txt", "x\n", "More")
                assert (await one.ok("generate_handoff_report", task_summary="t"))["commit"] == commit
        with case("git fsck is content"):
            repo.fsck()


@test
async def five_clients_at_once(case) -> None:
    """Each begins, writes and hands over, all at the same time."""
    with Sandbox() as place:
        repo = place.repo()

        async def whole(ai: str) -> None:
            async with connected(repo) as client:
                await client.ok("bootstrap_session", ai_id=ai, task=f"of {ai}")
                await client.ok("submit_preflight_assessment", vectors={"know": 0.6, "uncertainty": 0.5})
                for number in range(5):
                    await client.ok("log_finding", finding=f"{ai} {number}")
                await client.ok("submit_postflight_assessment", vectors={"know": 0.9, "uncertainty": 0.2})
                await client.ok("end_session")

        names = [f"agent{number}" for number in range(5)]
        await asyncio.gather(*(whole(name) for name in names))
        async with connected(repo) as client:
            with case("all sessions ended, each with a handoff"):
                listed = (await client.ok("list_sessions"))["sessions"]
                assert sorted(one["ai_id"] for one in listed) == names and not any(one["active"] for one in listed)
                assert (await client.ok("query_handoff_reports"))["total_found"] == 5
            for name in names:
                with case(f"nothing of {name} is lost"):
                    said = await client.ok("get_session_summary", session_id=f"latest:{name}")
                    assert [one["text"] for one in said["findings"]] == [f"{name} {number}" for number in range(5)]
        with case("git fsck is content"):
            repo.fsck()


@test
async def calls_at_once(case) -> None:
    """Calls of one client that do not wait for each other are done in their order."""
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo) as client:
            await client.ok("bootstrap_session", ai_id="a")
            done = await asyncio.gather(*(client.ok("log_finding", finding=f"f{number}") for number in range(100)))
            with case("each has its own answer"):
                assert len({one["id"] for one in done}) == 100
            with case("they are stored in their order"):
                said = await client.ok("get_session_summary")
                assert [one["text"] for one in said["findings"]] == [f"f{number}" for number in range(100)]
                assert [one["id"] for one in said["findings"]] == [one["id"] for one in done]


@test
async def worktrees(case) -> None:
    """Each worktree has its own active session."""
    with Sandbox() as place:
        repo = place.repo()
        other = place.path / "other"
        repo.git("worktree", "add", "-q", str(other), "-b", "other")
        async with connected(repo) as one, connected(repo, cwd=other) as two:
            first = (await one.ok("bootstrap_session", ai_id="a"))["session_id"]
            with case("a session of another worktree is not the active one"):
                await two.fails("get_session_summary", {}, recover=False)
            second = (await two.ok("bootstrap_session", ai_id="b"))["session_id"]
            with case("each is active in its own"):
                assert (await one.ok("log_finding", finding="f"))["session_id"] == first
                assert (await two.ok("log_finding", finding="f"))["session_id"] == second
                assert (await one.ok("list_sessions"))["total_sessions"] == 2
        subfolder = repo.path / "sub" / "folder"
        subfolder.mkdir(parents=True)
        async with connected(repo, cwd=subfolder) as three:
            with case("a server that was started in a subfolder works on its repository"):
                assert (await three.ok("log_finding", finding="f"))["session_id"] == first
