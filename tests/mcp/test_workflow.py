"""Drift is in every CHECK, and PREFLIGHT suggests goals."""

from client import Client, alone
from suite import test

PLAIN = {"know": 0.5, "do": 0.5, "context": 0.5, "uncertainty": 0.5}


def moved(by: float) -> dict[str, float]:
    return {"know": round(0.5 + by, 4), "do": 0.5, "context": 0.5, "uncertainty": 0.5}


async def begun(client: Client) -> None:
    await client.ok("bootstrap_session", ai_id="a", task="t")
    await client.ok("submit_preflight_assessment", vectors=PLAIN)


@test
async def severities(case) -> None:
    for by, severity, safe in [
        (0.0, "none", True),
        (0.05, "minor", True),
        (0.14, "minor", True),
        (0.15, "moderate", True),
        (0.25, "moderate", True),
        (0.30, "moderate", True),
        (0.31, "severe", False),
        (0.45, "severe", False),
        (-0.05, "minor", True),
        (-0.20, "moderate", True),
        (-0.40, "severe", False),
    ]:
        async with alone() as client:
            await begun(client)
            said: dict = {}
            with case(f"know moves by {by} without reason: {severity}"):
                said = await client.ok("submit_check_assessment", vectors=moved(by), confidence_to_proceed=0.8)
                drift = said["drift_analysis"]
                assert drift["severity"] == severity, drift
                assert said["safe_to_proceed"] is safe, said
                assert drift["detected"] is (severity != "none"), drift
                assert {"type", "pattern", "window_size", "assessments_analyzed"} <= set(drift), drift
                assert drift["window_size"] == 3 and drift["assessments_analyzed"] == 2 and drift["pattern"]
            with case(f"know moves by {by}: what is recommended"):
                if severity == "severe":
                    assert said["recommendation"] == "stop" and said["decision"] == "investigate", said
                elif severity == "moderate":
                    assert said["recommendation"] == "recalibrate_before_acting", said
                else:
                    assert said["recommendation"] == "proceed" and said["decision"] == "proceed", said
                assert "git empirica" not in said["next_step"] and said["next_step"], said["next_step"]
            with case(f"know moves by {by}: every tool that tells drift tells the same"):
                for tool in ["execute_check", "check_drift_monitor", "get_epistemic_state"]:
                    other = await client.ok(tool)
                    assert other["drift_analysis"]["severity"] == severity and other["safe_to_proceed"] is safe, (tool, other)


@test
async def what_is_learned_is_no_drift(case) -> None:
    for by in [0.1, 0.25]:
        async with alone() as client:
            await begun(client)
            with case(f"a gain of {by} with findings is no drift"):
                await client.ok("execute_check", findings=["found out"], confidence_to_proceed=0.8)
                said = await client.ok("submit_check_assessment", vectors=moved(by))
                assert said["drift_analysis"]["severity"] == "none" and said["safe_to_proceed"] is True, said["drift_analysis"]
                assert said["decision"] == "proceed" and said["confidence"] == 0.8
    async with alone() as client:
        await begun(client)
        with case("a gain above 0.30 with one finding is moderate overconfidence"):
            await client.ok("execute_check", findings=["found out"], confidence_to_proceed=0.8)
            said = await client.ok("submit_check_assessment", vectors=moved(0.45))
            assert said["drift_analysis"]["severity"] == "moderate" and said["safe_to_proceed"] is True, said["drift_analysis"]
            assert said["drift_analysis"]["type"] == "overconfidence", said["drift_analysis"]
    async with alone() as client:
        await client.ok("bootstrap_session", ai_id="a")
        with case("without assessments there is no drift"):
            said = await client.ok("check_drift_monitor")
            assert said["drift_analysis"]["severity"] == "none" and said["safe_to_proceed"] is True
            assert said["drift_analysis"]["assessments_analyzed"] == 0
    async with alone() as client:
        await begun(client)
        with case("confidence rising without evidence is overconfidence"):
            said = await client.ok("submit_check_assessment", vectors={**moved(0.2), "uncertainty": 0.3})
            assert said["drift_analysis"]["type"] == "overconfidence", said["drift_analysis"]
    async with alone() as client:
        await begun(client)
        with case("confidence below 0.70 means to investigate"):
            said = await client.ok("submit_check_assessment", vectors=PLAIN, confidence_to_proceed=0.69)
            assert said["decision"] == "investigate" and said["safe_to_proceed"] is True, said
        with case("the window takes the last assessments"):
            for _ in range(4):
                await client.ok("submit_check_assessment", vectors=PLAIN)
            assert (await client.ok("check_drift_monitor"))["drift_analysis"]["assessments_analyzed"] == 3
            assert (await client.ok("check_drift_monitor", window_size=5))["drift_analysis"]["assessments_analyzed"] == 5


@test
async def goals(case) -> None:
    good = {"know": 0.9, "state": 0.9, "uncertainty": 0.1}
    for change, wants in [
        ({}, False),
        ({"uncertainty": 0.60}, False),
        ({"uncertainty": 0.61}, True),
        ({"uncertainty": 0.70}, True),
        ({"know": 0.70}, False),
        ({"know": 0.69}, True),
        ({"know": 0.50}, True),
        ({"state": 0.60}, False),
        ({"state": 0.59}, True),
    ]:
        async with alone() as client:
            await client.ok("bootstrap_session", ai_id="a", task="Port the parser")
            with case(f"goals for {change or 'good vectors'}: {wants}"):
                said = await client.ok("submit_preflight_assessment", vectors={**good, **change}, reasoning="r")
                made = said["auto_generated_goals"]
                assert bool(made) is wants, made
                assert said["recommendation"] == ("investigate" if wants else "proceed"), said
                assert said["uncertainty_detected"] is (change.get("uncertainty", 0) > 0.6), said
                assert said["uncertainty_score"] == change.get("uncertainty", 0.1), said
                assert len(made) <= 5 and "git empirica" not in said["next_step"], said
                for goal in made:
                    assert {"description", "priority", "rationale"} <= set(goal) and goal["priority"] in ("high", "medium", "low"), goal
                    assert "port the parser" in goal["description"], goal
                weak = next(iter(change), "")
                assert not wants or any(weak.upper() in goal["rationale"] for goal in made), made
            with case(f"goals for {change or 'good vectors'} are stored"):
                listed = await client.ok("query_goal_orchestrator", open=True)
                assert {goal["id"] for goal in listed["goals"]} == {goal["id"] for goal in made}


@test
async def steps_say_what_to_call(case) -> None:
    """The next steps of the workflow name tools that exist, with no word of a shell."""
    async with alone() as client:
        steps = []
        await client.ok("bootstrap_session", ai_id="a", task="t")
        steps.append((await client.ok("submit_preflight_assessment", vectors={"know": 0.4, "uncertainty": 0.7}))["next_step"])
        await client.ok("log_finding", finding="f")
        steps.append((await client.ok("submit_check_assessment", vectors={"know": 0.6}, confidence_to_proceed=0.5))["next_step"])
        steps.append((await client.ok("submit_check_assessment", vectors={"know": 0.95}, confidence_to_proceed=0.9))["next_step"])
        steps.append((await client.ok("submit_postflight_assessment", vectors={"know": 0.6, "uncertainty": 0.4}))["next_step"])
        for step in steps:
            with case(f"the next step {step!r} names a tool"):
                assert any(name in step for name in client.tools), step
                assert "git empirica" not in step and "--" not in step and "<0..1>" not in step, step


@test
async def a_task_of_many_sessions(case) -> None:
    """The next session starts with what one hands over."""
    async with alone() as client:
        first = (await client.ok("bootstrap_session", ai_id="claude-code", task="Port the parser"))["session_id"]
        await client.ok("submit_preflight_assessment", vectors={"know": 0.6, "state": 0.7, "uncertainty": 0.5}, reasoning="r")
        await client.ok("log_finding", finding="Tokens are interned")
        await client.ok("log_dead_end", approach="Regex", why="too slow")
        await client.ok("submit_postflight_assessment", vectors={"know": 0.9, "state": 0.8, "uncertainty": 0.2}, reasoning="r")
        await client.ok(
            "generate_handoff_report", session_id=first[:8], task_summary="Half of the parser", key_findings=["Spans are bytes"],
            remaining_unknowns=["Are comments kept?"], next_session_context="Branch port", artifacts_created=["README.md"],
        )
        await client.ok("end_session")
        resumed = (await client.ok("resume_previous_session", ai_id="claude-code", resume_mode="last"))["sessions"][0]
        with case("what was handed over is resumed"):
            assert resumed["session_id"] == first and resumed["task"] == "Half of the parser"
            assert resumed["key_findings"] == ["Tokens are interned", "Spans are bytes"] and resumed["remaining_unknowns"] == ["Are comments kept?"]
            assert resumed["next_session_context"] == "Branch port" and resumed["calibration_status"] == "well_calibrated"
            assert abs(resumed["epistemic_deltas"]["know"] - 0.3) < 1e-9
        with case("a session can continue another"):
            second = await client.ok("bootstrap_session", ai_id="claude-code", task="The rest", **{"from": first[:8]})
            assert second["from"]["session_id"] == first and second["from"]["handoff_id"], second
        with case("before something is tried, what failed is found"):
            said = await client.ok("search_history", query="use a regex for the parser", plan=True)
            assert said["hits"][0]["kind"] == "dead_end", said["hits"]
        with case("reports by task"):
            found = await client.ok("query_handoff_reports", ai_id="claude-code", task_pattern="PARSER")
            assert found["total_found"] == 1 and {"session_id", "ai_id", "timestamp", "task", "key_findings", "epistemic_growth"} <= set(found["reports"][0])
            assert (await client.ok("query_handoff_reports", task_pattern="nothing like it"))["total_found"] == 0
        with case("nothing to resume is told, not failed"):
            said = await client.ok("resume_previous_session", ai_id="nobody")
            assert said["sessions"] == [] and said["total_sessions"] == 0 and "nobody" in said["message"], said
