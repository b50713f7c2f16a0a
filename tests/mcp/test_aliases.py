"""Every tool that takes `session_id` accepts every form of it, and an invalid one fails clearly."""

from client import Client, alone, connected
from place import Sandbox
from suite import some, test

# What else a call needs; ids are filled in.
NEEDS: dict[str, dict] = {
    "submit_preflight_assessment": {"vectors": {"know": 0.5, "uncertainty": 0.5}},
    "submit_check_assessment": {"vectors": {"know": 0.5}},
    "submit_postflight_assessment": {"vectors": {"know": 0.5}},
    "log_finding": {"finding": "f"},
    "log_unknown": {"unknown": "u"},
    "resolve_unknown": {"unknown_id": "UNKNOWN", "answer": "a"},
    "log_dead_end": {"approach": "a", "why": "w"},
    "log_decision": {"decision": "d", "why": "w"},
    "log_mistake": {"mistake": "m"},
    "log_evidence": {"command": "c", "exit_code": 0},
    "replace_claim": {"claim_id": "FINDING", "text": "t"},
    "retract_claim": {"claim_id": "FINDING", "why": "w"},
    "confirm_claim": {"claim_id": "FINDING"},
    "create_cascade": {"task": "t"},
    "create_goal": {"objective": "o"},
    "add_subtask": {"goal_id": "GOAL", "description": "d"},
    "complete_subtask": {"subtask_id": "SUBTASK"},
    "accept_handoff": {"handoff_id": "HANDOFF"},
}
IDS = {"FINDING", "UNKNOWN", "GOAL", "SUBTASK", "HANDOFF"}
# Tools whose answers do not say one session.
OF_MANY = {"resume_previous_session", "bootstrap_project", "get_calibration_report", "query_bayesian_beliefs", "query_goal_orchestrator"}
OF_MANY |= {"query_handoff_reports", "get_vector_diff", "generate_efficiency_report"}


async def of_two_agents(client: Client) -> dict[str, str]:
    """An ended session of `old`, an active one of `ada` with an id of its own, and then one of `bob`: the client's own."""
    old = await client.ok("bootstrap_session", ai_id="old", task="before")
    await client.ok("submit_preflight_assessment", vectors={"know": 0.5})
    await client.ok("generate_handoff_report", task_summary="before")
    await client.ok("end_session")
    ada = await client.ok("bootstrap_session", ai_id="ada", task="t", external_id="agent-own-id-7")
    await client.ok("submit_preflight_assessment", vectors={"know": 0.5, "uncertainty": 0.7})
    await client.ok("create_git_checkpoint", phase="ACT")
    await client.ok("generate_handoff_report", task_summary="half")
    bob = await client.ok("bootstrap_session", ai_id="bob", task="another")
    await client.ok("submit_preflight_assessment", vectors={"know": 0.5, "uncertainty": 0.7})
    await client.ok("create_git_checkpoint", phase="ACT")
    await client.ok("generate_handoff_report", task_summary="of bob")
    return {"old": old["session_id"], "ada": ada["session_id"], "bob": bob["session_id"]}


async def made(client: Client, session: str) -> dict[str, str]:
    """One of each that a call needs, in a session."""
    finding = await client.ok("log_finding", session_id=session, finding="f")
    unknown = await client.ok("log_unknown", session_id=session, unknown="u?")
    goal = await client.ok("create_goal", session_id=session, objective="g")
    step = await client.ok("add_subtask", session_id=session, goal_id=goal["goal_id"], description="s")
    reports = await client.ok("query_handoff_reports", session_id=session)
    return {"FINDING": finding["id"], "UNKNOWN": unknown["id"], "GOAL": goal["goal_id"], "SUBTASK": step["subtask_id"], "HANDOFF": reports["reports"][0]["handoff_id"]}


def session_of(name: str, said: dict) -> str | None:
    """The session that an answer is about, where it says one."""
    if name == "resume_previous_session":
        return said["sessions"][0]["session_id"]
    if name == "query_handoff_reports":
        assert len({one["session_id"] for one in said["reports"]}) == 1, said["reports"]
        return said["reports"][0]["session_id"]
    if name == "query_goal_orchestrator":
        assert len({one["session_id"] for one in said["goals"]}) == 1, said["goals"]
        return said["goals"][0]["session_id"]
    if name == "get_calibration_report":
        assert len(said["sessions"]) == 1, said["sessions"]
        return said["sessions"][0]["session_id"]
    if name == "get_vector_diff":
        assert said["a"]["session_id"] == said["b"]["session_id"]
        return said["a"]["session_id"]
    return said.get("session_id")


@test
async def every_tool_and_form(case) -> None:
    async with alone() as client:
        ids = await of_two_agents(client)
        forms = {
            "the whole id": (ids["ada"], "ada"),
            "8 characters": (ids["ada"][:8], "ada"),
            "4 characters": (ids["ada"][:4], "ada"),
            "capitals": (ids["ada"].upper(), "ada"),
            "latest": ("latest", "bob"),
            "latest:active": ("latest:active", "bob"),
            "latest:<ai>": ("latest:ada", "ada"),
            "latest:active:<ai>": ("latest:active:ada", "ada"),
            "the agent's own id": ("agent-own-id-7", "ada"),
        }
        takes = [name for name, tool in client.tools.items() if "session_id" in tool.inputSchema["properties"]]
        with case("all tools that work in a session take session_id"):
            assert len(takes) >= 34, takes
        invalid = ["latest:nobody", "latest:active:old", "latest:", "newest", "ffffffff", "abc", "", "latest:active:"]
        for number, name in enumerate(takes):
            # one ends the session, the other needs something to take back
            if name in ("end_session", "undo_last"):
                continue
            needs = NEEDS.get(name, {})
            for form, (alias, owner) in some(forms.items(), number):
                with case(f"{name} takes {form}"):
                    given = await made(client, ids[owner]) if any(str(value) in IDS for value in needs.values()) else {}
                    arguments = {key: given.get(str(value), value) for key, value in needs.items()}
                    said = await client.ok(name, session_id=alias, **arguments)
                    about = session_of(name, said)
                    assert about == ids[owner] or (about is None and name in OF_MANY), f"{alias} is {about}, not {ids[owner]}"
            for alias in some(invalid, number):
                with case(f"{name} refuses {alias!r}"):
                    arguments = {key: "ffffffff" if str(value) in IDS else value for key, value in needs.items()}
                    said = await client.fails(name, {**arguments, "session_id": alias}, recover=False)
                    assert alias in said["error"] and said["recovery_commands"], said


@test
async def ends(case) -> None:
    for form in ["id", "short", "latest", "latest:active", "latest:ada", "latest:active:ada", "own"]:
        with case(f"end_session takes {form}"):
            async with alone() as client:
                session = (await client.ok("bootstrap_session", ai_id="ada", external_id="own"))["session_id"]
                alias = {"id": session, "short": session[:8]}.get(form, form)
                assert (await client.ok("end_session", session_id=alias))["session_id"] == session
                after = await client.ok("log_finding", finding="f")
                assert after["session_started"]["session_id"] == after["session_id"] != session, after
    with case("end_session refuses what is not there"):
        async with alone() as client:
            await client.ok("bootstrap_session", ai_id="ada")
            await client.fails("end_session", {"session_id": "latest:active:bob"})


@test
async def left_out(case) -> None:
    """What is meant when `session_id` is left out."""
    with Sandbox() as place:
        repo = place.repo()
        async with connected(repo) as one, connected(repo) as two:
            ada = (await one.ok("bootstrap_session", ai_id="ada"))["session_id"]
            bob = (await two.ok("bootstrap_session", ai_id="bob"))["session_id"]
            with case("each client means the session it began"):
                assert (await one.ok("log_finding", finding="f"))["session_id"] == ada
                assert (await two.ok("log_finding", finding="f"))["session_id"] == bob
            with case("to name another does not change whose it is"):
                assert (await one.ok("log_finding", finding="f", session_id="latest:bob"))["session_id"] == bob
                assert (await one.ok("log_finding", finding="f"))["session_id"] == ada
            with case("tools that list do not filter by the own session"):
                await one.ok("create_goal", objective="of ada")
                await two.ok("create_goal", objective="of bob")
                assert (await one.ok("query_goal_orchestrator"))["total_found"] == 2
            with case("after its end, it is not meant any more"):
                await one.ok("end_session")
                assert (await one.ok("get_epistemic_state"))["session_id"] == bob
        async with connected(repo) as three:
            with case("a new client means the active session of the worktree"):
                assert (await three.ok("log_finding", finding="f"))["session_id"] == bob
        async with connected(repo, EMPIRICA_SESSION=ada) as four:
            with case("EMPIRICA_SESSION is meant before the active one"):
                assert (await four.ok("get_session_summary"))["session_id"] == ada


@test
async def ambiguous(case) -> None:
    """Four characters that more than one id begins with, and ids that agents give themselves."""
    async with alone() as client:
        begun = [(await client.ok("bootstrap_session", ai_id="a", external_id=f"run {n}"))["session_id"] for n in range(3)]
        with case("an own id with a space"):
            assert (await client.ok("get_session_summary", session_id="run 1"))["session_id"] == begun[1]
        with case("the same own id again goes on with the session"):
            again = await client.ok("bootstrap_session", ai_id="a", external_id="run 1")
            assert again["resumed"] is True and again["session_id"] == begun[1]
        with case("it is then the client's own"):
            assert (await client.ok("log_finding", finding="f"))["session_id"] == begun[1]
