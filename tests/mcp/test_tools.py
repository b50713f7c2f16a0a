"""Every tool in success: its answer, the promised keys, and the stored records."""

import re

from client import Client, alone, connected
from page import rows
from place import Sandbox
from suite import test

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VECTORS = "engagement know do context clarity coherence signal density state change completion impact uncertainty".split()
KEYS = {row["name"]: row["keys"] for row in rows()}


class Checked:
    """Calls that count as cases, and the tools that were called."""

    def __init__(self, client: Client, case):
        self.client, self.case, self.called = client, case, set()

    async def __call__(self, tool: str, about: str = "", **arguments: object) -> dict:
        said: dict = {}
        with self.case(f"{tool} {about}".strip()):
            said = await self.client.ok(tool, **arguments)
            self.called.add(tool)
            lacking = [key for key in KEYS[tool] if key not in said and (tool, key) not in ABSENT]
            assert not lacking, f"{lacking} are promised: {sorted(said)}"
        return said


# Keys that are there only in some forms: the report is that of format=markdown.
ABSENT = {("generate_efficiency_report", "report")}


@test
async def a_session_from_begin_to_end(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        origin = place.path / "origin.git"
        repo.git("init", "-q", "--bare", str(origin))
        repo.git("remote", "add", "origin", str(origin))
        repo.git("push", "-q", "origin", "main")
        async with connected(repo) as client:
            await session(client, Checked(client, case), case)
        with case("git fsck is content"):
            repo.fsck()
        with case("sync_notes pushed the notes"):
            refs = repo.git("ls-remote", "origin", "refs/notes/empirica/*")
            assert "refs/notes/empirica/data/journal" in refs, refs


async def session(client: Client, call: Checked, case) -> None:
    begun = await call("bootstrap_session", ai_id="claude-code", task="Make it so", session_type="development", external_id="ext-1")
    own = begun["session_id"]
    with case("the session's id is a UUID, and who and what are said back"):
        assert UUID.fullmatch(own) and (begun["ai_id"], begun["task"]) == ("claude-code", "Make it so")

    said = await call("execute_preflight", prompt="Make it so, at once")
    with case("execute_preflight explains the 13 vectors"):
        assert said["session_id"] == own and said["phase"] == "PREFLIGHT" and said["task"] == "Make it so, at once"
        assert [vector["name"] for vector in said["vectors"]] == VECTORS
    said = await call("submit_preflight_assessment", vectors={"know": 0.5, "uncertainty": 0.7, "state": 0.5}, reasoning="Unread")
    with case("the prompt of execute_preflight is the task of the assessment"):
        assert said["recommendation"] == "investigate" and "make it so, at once" in said["auto_generated_goals"][0]["description"]

    said = await call("generate_goals", conversation_context="porting", use_epistemic_state=True)
    with case("generate_goals proposes for the weak vectors"):
        assert said["session_id"] == own and any("porting" in goal["description"] for goal in said["goals"]), said["goals"]
    again = await call("generate_goals", "again", conversation_context="porting")
    with case("generate_goals again adds nothing"):
        assert [goal["id"] for goal in again["goals"]] == [goal["id"] for goal in said["goals"]]

    finding = await call("log_finding", finding="The parser keeps tokens", impact=0.8, **{"as": "pattern"})
    question = await call("log_unknown", unknown="Who calls it?")
    await call("log_unknown", "again", unknown="Why is it slow?")
    await call("resolve_unknown", unknown_id=question["id"], answer="The runner")
    await call("log_dead_end", approach="A global", why="Threads")
    await call("log_decision", decision="Pass it", why="Simple", alternatives=["A global"])
    await call("log_mistake", mistake="Tested the old build", prevention="Build first")
    await call("log_evidence", command="make check", exit_code=0, files=["README.md"])
    wrong = await call("log_finding", "wrong", finding="The parser keeps no tokens")
    said = await call("replace_claim", claim_id=wrong["id"], text="The parser keeps two tokens", why="Read it")
    with case("replace_claim stores one of the same kind, and says of whom the old one is"):
        assert (said["kind"], said["of"], said["of_ai_id"]) == ("finding", wrong["id"], "claude-code") and said["id"] != wrong["id"]
    await call("retract_claim", claim_id=said["id"], why="It keeps one")
    await call("confirm_claim", claim_id=finding["id"])
    said = await call("undo_last")
    with case("undo_last takes the confirmation back"):
        assert said["kind"] == "confirm"
    with case("an entry's kind and session are said"):
        assert finding["kind"] == "finding" and finding["session_id"] == own and UUID.fullmatch(finding["id"])

    said = await call("execute_check", findings=["It is read once"], remaining_unknowns=["Is it thread-safe?"], confidence_to_proceed=0.75)
    with case("execute_check stores findings and unknowns, and knows what was answered"):
        texts = [item["text"] for item in said["remaining_unknowns"]]
        assert texts == ["Why is it slow?", "Is it thread-safe?"], texts
        assert "It is read once" in [item["text"] for item in said["key_findings"]]
    said = await call("submit_check_assessment", vectors={"know": 0.7, "uncertainty": 0.5}, decision="proceed", reasoning="Read", investigation_cycle=1)
    with case("confidence_to_proceed of execute_check counts for the CHECK that follows"):
        assert said["confidence"] == 0.75 and said["decision"] == "proceed" and said["safe_to_proceed"] is True

    said = await call("search_history", query="parser tokens", kinds=["finding"], limit=5)
    with case("search_history finds"):
        assert said["total_found"] == 1 and said["hits"][0]["id"] == finding["id"]
    await call("search_history", "of a plan", query="use a global", plan=True, ai_id="claude-code")
    await call("log_finding", finding="It is short", at=["README.md:1"])
    said = await call("explain_code", place="README.md:1")
    with case("explain_code knows what was said of the line"):
        assert [one["text"] for one in said["known"]][0] == "It is short" and said["omitted"] == 0
    said = await call("bootstrap_project", budget=800)
    with case("bootstrap_project keeps its budget"):
        assert 0 < said["token_count"] <= 800 and said["active_sessions"][0]["own"] is True
    said = await call("list_sessions", active=True, ai_id="claude-code")
    with case("list_sessions lists"):
        assert [one["session_id"] for one in said["sessions"]] == [own] and said["total_sessions"] == 1
    said = await call("get_session_summary")
    with case("get_session_summary has all kinds"):
        assert [one["phase"] for one in said["assessments"]] == ["PREFLIGHT", "CHECK"] and len(said["findings"]) == 3
        assert said["resolved"] == [{"question": "Who calls it?", "answer": "The runner"}] and said["external_id"] == "ext-1"
    said = await call("get_epistemic_state")
    with case("get_epistemic_state has the last vectors"):
        assert said["vectors"] == {"know": 0.7, "uncertainty": 0.5} and said["overall_confidence"] > 0 and said["safe_to_proceed"] is True
    said = await call("check_drift_monitor", window_size=2)
    with case("check_drift_monitor looks at the window"):
        assert said["drift_analysis"]["window_size"] == 2 and said["drift_analysis"]["severity"] == "none"
    await call("get_calibration_report", session_id="latest", ai_id="claude-code")
    await call("query_bayesian_beliefs")

    stored = await call("create_git_checkpoint", phase="ACT", round_num=2, vectors={"know": 0.7}, reasoning="Half", metadata={"part": "parser", "n": 1})
    with case("a checkpoint has its phase, round, vectors and metadata"):
        assert (stored["phase"], stored["round"]) == ("ACT", 2) and stored["degraded_mode"] is False and stored["token_count"] <= 450
    said = await call("load_git_checkpoint", phase="ACT", max_age_hours=24)
    with case("load_git_checkpoint loads it"):
        assert said["checkpoint_id"] == stored["checkpoint_id"] and said["metadata"] == {"part": "parser", "n": "1"}
        assert said["vectors"] == {"know": 0.7, "uncertainty": 0.5, "state": 0.5}, said["vectors"]
    await call("get_vector_diff", "without vectors of now")
    said = await call("get_vector_diff", "with vectors of now", current_vectors={"know": 0.9})
    with case("get_vector_diff compares with current_vectors"):
        assert abs(said["vector_deltas"]["know"] - 0.2) < 1e-9, said
    await call("get_vector_diff", "from and to", **{"from": own, "to": stored["checkpoint_id"]})

    cascade = await call("create_cascade", task="Port it")
    criteria = ["The tests pass", {"description": "It is fast", "is_required": True}]
    goal = await call("create_goal", objective="Everything is ported", success_criteria=criteria, priority="high")
    step = await call("add_subtask", goal_id=goal["goal_id"], description="The first half")
    said = await call("query_goal_orchestrator", session_id="latest", open=True)
    with case("query_goal_orchestrator lists goals with steps"):
        listed = {one["id"]: one for one in said["goals"]}
        assert {goal["goal_id"], cascade["cascade_id"]} <= set(listed) and len(listed) == said["total_found"]
        assert listed[goal["goal_id"]]["subtasks"][0]["id"] == step["subtask_id"]
    await call("complete_subtask", subtask_id=step["subtask_id"], evidence="a commit")
    said = await call("get_goal_progress", goal_id=goal["goal_id"])
    with case("get_goal_progress counts steps"):
        assert said["goal"]["progress"] == "1/1 subtasks" and said["goal"]["subtasks"][0]["status"] == "done"
    said = await call("complete_subtask", "of a goal", subtask_id=cascade["cascade_id"])
    with case("a cascade is a goal that can be done"):
        assert said["goals"][0]["status"] == "done"

    await call("execute_postflight", task_summary="It is so")
    said = await call("submit_postflight_assessment", vectors={"know": 0.8, "uncertainty": 0.4}, reasoning="Learned")
    with case("POSTFLIGHT compares with PREFLIGHT and hands over"):
        assert said["calibration_status"] == "well_calibrated" and abs(said["deltas"]["know"] - 0.3) < 1e-9
        assert said["handoff"]["stored"] is True and "markdown" not in said["handoff"]
    await handing_over(call, case, own)
    await call("sync_notes", dry_run=True)
    said = await call("sync_notes", remote="origin")
    with case("sync_notes names the remote"):
        assert said["dry_run"] is False and len(said["remotes"]) == 1
    said = await call("end_session", reason="done")
    with case("end_session knows that a handoff was written"):
        assert said["session_id"] == own and said["handoff"] is True
    with case("every tool was called in success"):
        assert call.called == set(client.tools), set(client.tools) - call.called


async def handing_over(call: Checked, case, own: str) -> None:
    report = await call(
        "generate_handoff_report",
        task_summary="It is so",
        key_findings=["One more thing"],
        remaining_unknowns=["What comes next?"],
        next_session_context="The old one still runs",
        artifacts_created=["README.md"],
        next_steps=["Stop it"],
    )
    with case("a handoff report has its keys"):
        assert report["session_id"] == own and report["report_id"] == report["handoff_id"] and report["token_count"] > 0
        assert report["storage_location"].startswith("git:refs/notes/empirica/") and report["missing"] == []
        for text in ["It is so", "One more thing", "What comes next?", "The old one still runs", "README.md", "Stop it"]:
            assert text in report["markdown"], text
    managed = await call(
        "generate_handoff_report", "of a managed type", handoff_type="progress", to="bob", task_id="T-1", task_summary="Half way",
        payload={"worker_report": {"status": "PARTIAL", "accomplished": ["a"]}},
    )
    with case("a managed handoff has its type and task"):
        assert managed["type"] == "progress" and managed["task_id"] == "T-1"
    said = await call("query_handoff_reports", ai_id="claude-code", since="7 days ago", task_pattern="half|so", limit=5)
    with case("query_handoff_reports finds by task"):
        assert said["total_found"] >= 1 and managed["report_id"] in [one["handoff_id"] for one in said["reports"]]
    said = await call("measure_token_efficiency", handoff_id=managed["report_id"])
    with case("measure_token_efficiency measures the forms"):
        assert said["tokens"]["summary"]["json"] > 0
    await call("measure_token_efficiency", "of the session")
    said = await call("generate_efficiency_report", format="text", since="2020-01-01", ai_id="claude-code")
    with case("generate_efficiency_report has a report"):
        assert "claude-code" in said["report"]
    await call("generate_efficiency_report", "of one session", session_id=own)
    for detail in ["summary", "detailed", "full"]:
        said = await call("resume_previous_session", detail, ai_id="claude-code", detail_level=detail)
        with case(f"resume_previous_session {detail} has its keys"):
            assert said["total_sessions"] == 1 and said["token_estimate"] == said["token_count"] > 0
            one = said["sessions"][0]
            wanted = "session_id ai_id timestamp duration task epistemic_deltas key_findings remaining_unknowns next_steps calibration_status"
            assert set(wanted.split()) <= set(one), sorted(one)
            assert detail == "summary" or {"investigation_tools", "artifacts_created"} <= set(one), sorted(one)
            assert detail != "full" or "full_markdown" in one, sorted(one)
    said = await call("resume_previous_session", "last_n", resume_mode="last_n", count=5)
    with case("resume_previous_session takes last_n"):
        assert said["total_sessions"] == 1
    await call("resume_previous_session", "session_id", resume_mode="session_id", session_id=own[:8])
    await call(
        "accept_handoff", handoff_id=managed["report_id"], understanding="Half is done", decision="REFINE",
        instructions="Do the rest", questions=["Which half?"], gaps=["The tests"],
    )


@test
async def aliases_of_arguments(case) -> None:
    """Other names of arguments that the documents use."""
    async with alone() as client:
        await client.ok("bootstrap_session", ai_id="a")
        question = await client.ok("log_unknown", unknown="q?")
        goal = await client.ok("create_goal", objective="g")
        step = await client.ok("add_subtask", goal_id=goal["goal_id"], description="s")
        report = await client.ok("generate_handoff_report", task_summary="t")
        for tool, arguments in [
            ("resolve_unknown", {"unknown_id": question["id"], "resolution": "r"}),
            ("log_dead_end", {"approach": "a", "why_failed": "w"}),
            ("log_decision", {"decision": "d", "rationale": "r"}),
            ("complete_subtask", {"task_id": step["subtask_id"]}),
            ("submit_postflight_assessment", {"vectors": {"know": 0.5}, "changes_noticed": "c"}),
            ("accept_handoff", {"report_id": report["report_id"]}),
            ("create_git_checkpoint", {"phase": "act"}),
            ("log_finding", {"finding": "f", "impact": None, "as": None, "session_id": None}),
        ]:
            with case(f"{tool} takes {sorted(arguments)}"):
                await client.ok(tool, **arguments)


@test
async def short_ids(case) -> None:
    """Where a tool takes an id, it takes the short one that lists show."""
    async with alone() as client:
        await client.ok("bootstrap_session", ai_id="a")
        question = await client.ok("log_unknown", unknown="q?")
        goal = await client.ok("create_goal", objective="g")
        step = await client.ok("add_subtask", goal_id=goal["goal_id"][-8:], description="s")
        report = await client.ok("generate_handoff_report", task_summary="t")
        for tool, arguments in [
            ("resolve_unknown", {"unknown_id": question["id"][-8:], "answer": "r"}),
            ("complete_subtask", {"subtask_id": step["subtask_id"][-8:]}),
            ("get_goal_progress", {"goal_id": goal["goal_id"][-8:]}),
            ("accept_handoff", {"handoff_id": report["report_id"][-8:]}),
            ("measure_token_efficiency", {"handoff_id": report["report_id"][-4:]}),
        ]:
            with case(f"{tool} takes a short id"):
                await client.ok(tool, **arguments)


@test
async def texts_are_kept(case) -> None:
    """What is written is read again, whatever characters it has."""
    async with alone() as client:
        await client.ok("bootstrap_session", ai_id="a")
        for text in ["“ÄÖÜ” — 漢字 🦀", "two\nlines", 'quotes " and \\ backslashes', "<b>&amp;</b> ${x} {{ y }} %s", "-v --flag", "'"]:
            with case(f"the finding {text!r} is kept as it is"):
                logged = await client.ok("log_finding", finding=text)
                said = await client.ok("get_session_summary")
                assert {"id": logged["id"], "text": text} in said["findings"], said["findings"][-1]
