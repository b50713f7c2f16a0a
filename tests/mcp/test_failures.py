"""Every tool in failure: a result with the cause, the remedy, and recovery commands that can be called."""

import jsonschema

from client import Client, alone
from suite import some, test

# What each tool needs at least; ids are those of a session made by `prepared`.
NEEDS: dict[str, dict] = {
    "submit_preflight_assessment": {"vectors": {"know": 0.5}},
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
    "search_history": {"query": "q"},
    "explain_code": {"place": "README.md"},
    "create_cascade": {"task": "t"},
    "create_goal": {"objective": "o"},
    "add_subtask": {"goal_id": "GOAL", "description": "d"},
    "complete_subtask": {"subtask_id": "SUBTASK"},
    "get_goal_progress": {"goal_id": "GOAL"},
    "accept_handoff": {"handoff_id": "HANDOFF"},
}

# Calls that fail, each with a word that the answer must say.
WRONG: list[tuple[str, dict, str]] = [
    ("bootstrap_session", {"ai_id": ""}, "ai_id"),
    ("bootstrap_session", {"ai_id": "a", "from": "ffffffff"}, "ffffffff"),
    ("bootstrap_session", {"ai_id": "a", "task": "  "}, "task"),
    ("resume_previous_session", {"count": 0}, "1 to 5"),
    ("resume_previous_session", {"count": 0}, "1 to 5"),
    ("resume_previous_session", {"count": 300}, "count"),
    ("resume_previous_session", {"count": -1}, "count"),
    ("resume_previous_session", {"resume_mode": "first"}, "last_n"),
    ("resume_previous_session", {"resume_mode": "session_id"}, "session_id"),
    ("resume_previous_session", {"resume_mode": "last", "session_id": "latest"}, "contradict"),
    ("resume_previous_session", {"resume_mode": "last", "count": 3}, "contradict"),
    ("resume_previous_session", {"detail_level": "everything"}, "detailed"),
    ("execute_preflight", {"prompt": {}}, "prompt"),
    ("submit_preflight_assessment", {"vectors": {}}, "vector"),
    ("submit_preflight_assessment", {"vectors": {"knwo": 0.5}}, "know"),
    ("submit_preflight_assessment", {"vectors": {"know": 1.5}}, "know"),
    ("submit_preflight_assessment", {"vectors": {"know": -0.1}}, "know"),
    ("submit_preflight_assessment", {"vectors": {"know": "high"}}, "know"),
    ("submit_preflight_assessment", {"vectors": {"know": None}}, "know"),
    ("submit_preflight_assessment", {"vectors": {"know": [0.5]}}, "know"),
    ("submit_preflight_assessment", {"vectors": [0.5]}, "vectors"),
    ("submit_preflight_assessment", {"vectors": "know=0.5"}, "vectors"),
    ("submit_preflight_assessment", {"vectors": {"know": 0.5}, "reasoning": {}}, "reasoning"),
    ("log_finding", {"finding": ""}, "finding"),
    ("log_finding", {"finding": " \n"}, "finding"),
    ("log_finding", {"finding": "f", "impact": 1.01}, "impact"),
    ("log_finding", {"finding": "f", "impact": "high"}, "impact"),
    ("log_finding", {"finding": "f", "as": "nonsense"}, "pattern"),
    ("log_unknown", {"unknown": ""}, "unknown"),
    ("resolve_unknown", {"unknown_id": "ffffffff", "answer": "a"}, "ffffffff"),
    ("resolve_unknown", {"unknown_id": "xyz", "answer": "a"}, "xyz"),
    ("resolve_unknown", {"unknown_id": "FINDING", "answer": "a"}, "finding"),
    ("resolve_unknown", {"unknown_id": "UNKNOWN", "answer": ""}, "answer"),
    ("log_dead_end", {"approach": "a", "why": ""}, "why"),
    ("log_decision", {"decision": "d", "why": "w", "alternatives": "x"}, "alternatives"),
    ("log_decision", {"decision": "d", "why": "w", "alternatives": [""]}, "alternative"),
    ("log_mistake", {"mistake": "m", "prevention": " "}, "prevention"),
    ("replace_claim", {"claim_id": "ffffffff", "text": "t"}, "ffffffff"),
    ("replace_claim", {"claim_id": "FINDING", "text": " "}, "text"),
    ("replace_claim", {"claim_id": "FINDING", "text": "t", "until": "2000-01-01"}, "past"),
    ("retract_claim", {"claim_id": "FINDING", "why": ""}, "why"),
    ("retract_claim", {"claim_id": "GOAL", "why": "w"}, "goal"),
    ("confirm_claim", {"claim_id": "xyz"}, "xyz"),
    ("confirm_claim", {"claim_id": "FINDING", "at": ["nowhere.rs:1"]}, "nowhere.rs:1"),
    ("log_finding", {"finding": "f", "at": ["nowhere.rs:1"]}, "nowhere.rs:1"),
    ("explain_code", {"place": "nowhere.rs:1"}, "nowhere.rs:1"),
    ("undo_last", {"session_id": "latest:active:nobody"}, "nobody"),
    ("log_finding", {"finding": "f", "until": "soon"}, "soon"),
    ("log_evidence", {"command": "c", "exit_code": "0"}, "exit_code"),
    ("log_evidence", {"command": "c", "exit_code": 0.5}, "exit_code"),
    ("log_evidence", {"command": "c", "exit_code": 99999999999}, "exit_code"),
    ("log_evidence", {"command": "c", "exit_code": 0, "files": [1]}, "files"),
    ("execute_check", {"confidence_to_proceed": 2}, "confidence_to_proceed"),
    ("execute_check", {"findings": "x"}, "findings"),
    ("execute_check", {"findings": ["fine", ""]}, "finding"),
    ("submit_check_assessment", {"vectors": {"know": 0.5}, "confidence_to_proceed": -1}, "confidence_to_proceed"),
    ("submit_check_assessment", {"vectors": {"know": 0.5}, "investigation_cycle": -1}, "investigation_cycle"),
    ("execute_postflight", {"task_summary": []}, "task_summary"),
    ("submit_postflight_assessment", {"vectors": {"nothing": 1}}, "nothing"),
    ("submit_postflight_assessment", {"vectors": {"know": 0.5}, "task_summary": ""}, "task"),
    ("generate_handoff_report", {"task_summary": ""}, "task"),
    ("generate_handoff_report", {"key_findings": [""]}, "finding"),
    ("generate_handoff_report", {"handoff_type": "nonsense"}, "progress"),
    ("generate_handoff_report", {"handoff_type": "progress"}, "task_id"),
    ("generate_handoff_report", {"handoff_type": "progress", "task_id": "t", "payload": {"nonsense": 1}}, "worker_report"),
    ("generate_handoff_report", {"payload": {"a": 1}}, "handoff_type"),
    ("end_session", {"session_id": "latest:active:nobody"}, "nobody"),
    ("end_session", {"reason": 1}, "reason"),
    ("search_history", {"query": ""}, "search"),
    ("search_history", {"query": "x", "kinds": ["nonsense"]}, "dead_end"),
    ("search_history", {"query": "x", "limit": -1}, "limit"),
    ("search_history", {"query": 'session:ffffffff x'}, "ffffffff"),
    ("bootstrap_project", {"budget": 10}, "budget"),
    ("bootstrap_project", {"budget": 1e30}, "budget"),
    ("list_sessions", {"active": "yes"}, "active"),
    ("get_session_summary", {"session_id": "abc"}, "abc"),
    ("get_epistemic_state", {"session_id": ""}, "session"),
    ("check_drift_monitor", {"window_size": 1}, "window_size"),
    ("check_drift_monitor", {"window_size": 2.5}, "window_size"),
    ("get_calibration_report", {"session_id": "latest:active:nobody"}, "nobody"),
    ("query_bayesian_beliefs", {"ai_id": 5}, "ai_id"),
    ("create_git_checkpoint", {"phase": "SLEEP"}, "POSTFLIGHT"),
    ("create_git_checkpoint", {"round_num": -2}, "round_num"),
    ("create_git_checkpoint", {"vectors": {"know": 7}}, "know"),
    ("create_git_checkpoint", {"metadata": "x"}, "metadata"),
    ("load_git_checkpoint", {"phase": "CHECK"}, "checkpoint"),
    ("load_git_checkpoint", {"max_age_hours": -1}, "max_age_hours"),
    ("get_vector_diff", {"from": "ffffffff"}, "ffffffff"),
    ("get_vector_diff", {"to": "FINDING"}, "checkpoint"),
    ("get_vector_diff", {"current_vectors": {"know": 2}}, "know"),
    ("measure_token_efficiency", {"handoff_id": "ffffffff"}, "ffffffff"),
    ("generate_efficiency_report", {"format": "xml"}, "text"),
    ("generate_efficiency_report", {"since": "the day after wild"}, "since"),
    ("generate_efficiency_report", {"session_id": "latest", "ai_id": "a"}, "session_id"),
    ("create_cascade", {"task": ""}, "task"),
    ("generate_goals", {"use_epistemic_state": False}, "use_epistemic_state"),
    ("query_goal_orchestrator", {"open": 1}, "open"),
    ("create_goal", {"objective": " "}, "objective"),
    ("create_goal", {"objective": "o", "priority": "urgent"}, "medium"),
    ("create_goal", {"objective": "o", "success_criteria": [5]}, "success_criteria"),
    ("create_goal", {"objective": "o", "success_criteria": [{"is_required": True}]}, "description"),
    ("add_subtask", {"goal_id": "ffffffff", "description": "d"}, "ffffffff"),
    ("add_subtask", {"goal_id": "GOAL", "description": ""}, "description"),
    ("add_subtask", {"goal_id": "FINDING", "description": "d"}, "goal"),
    ("complete_subtask", {"subtask_id": "ffffffff"}, "ffffffff"),
    ("get_goal_progress", {"goal_id": "ffffffff"}, "ffffffff"),
    ("query_handoff_reports", {"task_pattern": "("}, "task_pattern"),
    ("query_handoff_reports", {"since": "neverday"}, "since"),
    ("query_handoff_reports", {"limit": "ten"}, "limit"),
    ("accept_handoff", {"handoff_id": "ffffffff"}, "ffffffff"),
    ("accept_handoff", {"handoff_id": "HANDOFF", "decision": "MAYBE"}, "REFINE"),
    ("accept_handoff", {"handoff_id": "HANDOFF", "questions": ["", "x"]}, "question"),
    ("sync_notes", {}, "remote"),
    ("sync_notes", {"remote": "nowhere"}, "nowhere"),
    ("sync_notes", {"remote": "--upload-pack=x"}, "remote"),
    ("no_such_tool", {}, "no_such_tool"),
    ("log_findings", {"finding": "x"}, "log_finding"),
    ("", {}, "tool"),
]


async def prepared(client: Client) -> dict[str, str]:
    """A session with one of each, by the names that stand for their ids."""
    session = await client.ok("bootstrap_session", ai_id="a", task="t")
    finding = await client.ok("log_finding", finding="f")
    unknown = await client.ok("log_unknown", unknown="u")
    goal = await client.ok("create_goal", objective="g")
    step = await client.ok("add_subtask", goal_id=goal["goal_id"], description="s")
    report = await client.ok("generate_handoff_report", task_summary="t")
    ids = {"FINDING": finding["id"], "UNKNOWN": unknown["id"], "GOAL": goal["goal_id"], "SUBTASK": step["subtask_id"]}
    return {**ids, "HANDOFF": report["report_id"], "SESSION": session["session_id"]}


def filled(arguments: dict, ids: dict[str, str]) -> dict:
    return {key: ids.get(value, value) if isinstance(value, str) else value for key, value in arguments.items()}


def says(document: dict, word: str) -> None:
    """The answer has the word in what a reader is told."""
    parts = [document[key] for key in ["error", "suggestion"]] + document["alternatives"]
    # the list of all arguments says every name
    parts += [document["reason"]] if not document["reason"].startswith("the arguments of ") else []
    assert any(word in part for part in parts), f"{word!r} is not said: {document}"


WRONG_TYPE = {"string": 5, "object": [], "array": "x", "integer": "x", "number": "x", "boolean": "x"}


@test
async def without_a_session(case) -> None:
    async with alone() as client:
        for name, tool in client.tools.items():
            if name == "bootstrap_session":
                continue
            arguments = filled(NEEDS.get(name, {}), {key: "ffffffff" for key in ["FINDING", "UNKNOWN", "GOAL", "SUBTASK", "HANDOFF"]})
            with case(f"{name} where nothing is stored answers, and what it recommends is not itself"):
                result = await client.raw(name, arguments)
                if result.isError:
                    said = await client.fails(name, arguments, recover=False)
                    assert not any(command == f"{name}()" for command in said["recovery_commands"]), said
                    assert name in ("sync_notes",) or said["recovery_commands"], said
                assert tool


@test
async def arguments_that_do_not_fit(case) -> None:
    async with alone() as client:
        ids = await prepared(client)
        for number, (name, tool) in enumerate(client.tools.items()):
            needs = filled(NEEDS.get(name, {}), ids)
            with case(f"{name} with an argument that it does not have"):
                says(await client.fails(name, {**needs, "nonsense": 1}), "nonsense")
            with case(f"{name}: a failure fits the output schema, which some clients check then, too"):
                said = (await client.raw(name, {**needs, "nonsense": 1})).structuredContent
                check = jsonschema.Draft202012Validator(tool.outputSchema)
                wrong = [error.message for error in check.iter_errors(said)] if said is not None else []
                assert not wrong, wrong
            for lacking in needs:
                with case(f"{name} without {lacking}"):
                    says(await client.fails(name, {key: value for key, value in needs.items() if key != lacking}), lacking)
            with case(f"{name} with a wrong type names the argument, for each"):
                unsaid = []
                for key, schema in some(tool.inputSchema["properties"].items(), number):
                    said = await client.fails(name, {**needs, key: WRONG_TYPE[schema.get("type") or "string"]})
                    # the list of all arguments, as the reason, does not say which
                    told = " ".join([said["error"].split(" do not fit: ")[-1], said["suggestion"], *said["alternatives"]])
                    unsaid += [] if key in told else [key]
                assert not unsaid, f"not named: {unsaid}"
            for key in some(tool.inputSchema["properties"], number):
                near = key[:-1] + "x" if len(key) > 4 else key + "s"
                if near not in tool.inputSchema["properties"] and key not in needs:
                    with case(f"{name} with the misspelled {near} proposes {key}"):
                        said = await client.fails(name, {**needs, near: "x"})
                        assert key in said["alternatives"], said


@test
async def values_that_are_wrong(case) -> None:
    async with alone() as client:
        ids = await prepared(client)
        tools, commands = set(), set()
        for name, arguments, word in WRONG:
            with case(f"{name}({arguments}) fails and says {word}"):
                said = await client.fails(name, filled(arguments, ids), recover=False)
                says(said, word)
                told = " ".join([said["error"], said["reason"], said["suggestion"]])
                assert "git empirica" not in told and " --" not in told.replace(str(arguments), ""), f"words of the shell: {told}"
            commands.update(said["recovery_commands"])
            tools.add(name)
        with case("every tool fails at least once"):
            assert set(client.tools) <= tools, set(client.tools) - tools
        with case("nothing of it was stored"):
            stored = await client.ok("get_session_summary", session_id=ids["SESSION"])
            assert len(stored["findings"]) == 1 and stored["assessments"] == [] and stored["checkpoints"] == [], stored
            assert len(stored["goals"]) == 1 and stored["active"], stored
            assert (await client.ok("list_sessions"))["total_sessions"] == 1
        for command in sorted(commands):
            with case(f"the recovery command {command} can be called"):
                await client.recovers(command)


@test
async def without_arguments(case) -> None:
    """`arguments` that are left out are none, for every tool."""
    async with alone() as client:
        await prepared(client)
        for name in client.tools:
            with case(f"{name} without arguments"):
                result = await client.raw(name, None)
                if name in NEEDS:
                    says(await client.fails(name, None), next(iter(NEEDS[name])))
                assert result.isError == (name in NEEDS or name in ("sync_notes", "generate_goals")), result


@test
async def warnings(case) -> None:
    """A warning that names a call names all of it."""
    async with alone() as client:
        first = await client.ok("bootstrap_session", ai_id="a")
        with case("to end the other session is said with its id"):
            said = await client.ok("bootstrap_session", ai_id="b")
            assert f"end_session(session_id='{first['session_id'][:8]}')" in said["warning"], said["warning"]
        with case("what an empty text lacks is said in the words of tools"):
            said = await client.fails("log_finding", {"finding": ""})
            assert "@FILE" not in said["suggestion"] and "standard input" not in said["suggestion"], said["suggestion"]


@test
async def endings(case) -> None:
    async with alone() as client:
        await client.ok("bootstrap_session", ai_id="a")
        with case("end_session of an agent that has no session here ends nobody else's"):
            said = await client.fails("end_session", {"ai_id": "nobody"}, recover=False)
            assert "nobody" in said["error"] + said["reason"], said
    async with alone() as client:
        await client.ok("bootstrap_session", ai_id="a")
        with case("a session that has ended cannot be ended again"):
            await client.ok("end_session", session_id="latest:a")
            said = await client.fails("end_session", {"session_id": "latest:a"})
            assert "ended" in said["error"] + said["reason"], said


@test
async def sessions_that_are_not_there(case) -> None:
    """Recovery commands are calls of tools."""
    async with alone() as client:
        with case("a recovery that begins a session lets the call succeed"):
            said = await client.fails("get_session_summary", {}, recover=False)
            await client.recovers(said["recovery_commands"][0])
            await client.ok("get_session_summary")
        with case("no session for latest:active:claude-code"):
            said = await client.fails("log_finding", {"finding": "f", "session_id": "latest:active:claude-code"})
            assert "latest:active:claude-code" in said["error"] and "claude-code" in said["reason"]
            assert "bootstrap_session(ai_id='claude-code'" in said["suggestion"], said["suggestion"]
            assert any(command.startswith("bootstrap_session(ai_id='claude-code'") for command in said["recovery_commands"])
        with case("an agent's name with a quote is quoted"):
            said = await client.fails("log_finding", {"finding": "f", "session_id": "latest:active:o'neill"})
            assert said["recovery_commands"], said
        with case("text that looks like a call is quoted"):
            alias = "latest:active:x', task='y"
            said = await client.fails("log_finding", {"finding": "f", "session_id": alias})
            assert not any("task='y'" in command and "\\'" not in command for command in said["recovery_commands"]), said
