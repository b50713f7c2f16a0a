"""A long conversation: open files, threads and memory do not grow, and the repository stays sound."""

import os
import time
from pathlib import Path

from place import Sandbox
from raw import Raw
from suite import long_test

CALLS, WARM = 1_000, 100
# How much resident memory may grow after the warm-up, in KiB.
MAY_GROW = 6 << 10


def server_of(raw: Raw) -> Path:
    return Path(f"/proc/{raw.process.pid}")


def state(folder: Path) -> dict[str, int]:
    lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    return {"files": len(os.listdir(folder / "fd")), "threads": int(lines["Threads"]), "memory": int(lines["VmRSS"].split()[0])}


@long_test
def a_thousand_findings(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        with Raw(repo) as raw:
            raw.initialize()
            own = raw.call("bootstrap_session", ai_id="a")["structuredContent"]["session_id"]
            texts = [f"finding number {number} says word{number}" for number in range(CALLS)]
            ids, measured, took = [], [], []
            for number, text in enumerate(texts):
                began = time.monotonic()
                ids.append(raw.call("log_finding", finding=text)["structuredContent"]["id"])
                took.append(time.monotonic() - began)
                if number >= WARM and number % 100 == 99 and Path("/proc").is_dir():
                    measured.append(state(server_of(raw)))
            if measured:
                for key in ["files", "threads"]:
                    with case(f"the number of {key} does not grow"):
                        assert measured[-1][key] <= measured[0][key] + 1, measured
                with case("the memory does not grow"):
                    assert measured[-1]["memory"] - measured[0]["memory"] <= MAY_GROW, measured
            with case("the last calls take no longer than the first, nearly"):
                first, last = sorted(took[WARM : 2 * WARM])[WARM // 2], sorted(took[-WARM:])[WARM // 2]
                assert last < 3 * first + 0.01, f"median {first:.4f} s, then {last:.4f} s"
            with case("all are found again by the server"):
                found = raw.call("get_session_summary", session_id=own)["structuredContent"]["findings"]
                assert found == [{"id": identity, "text": text} for identity, text in zip(ids, texts, strict=True)]
            for number in [0, 499, 999]:
                with case(f"finding {number} is searched"):
                    hits = raw.call("search_history", query=f"word{number}")["structuredContent"]["hits"]
                    assert [hit["id"] for hit in hits] == [ids[number]]
        with case("all are in the notes of git"):
            rows = {row["id"]: row["text"] for row in repo.journal() if row.get("text")}
            assert [rows.get(identity) for identity in ids] == texts
        with case("git fsck is content"):
            repo.fsck()
        with case("a clone that fetches the notes has them all"):
            clone = place.path / "clone"
            repo.git("clone", "-q", str(repo.path), str(clone))
            repo.git("-C", str(clone), "fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*")
            with Raw(repo, cwd=clone) as raw:
                raw.initialize()
                assert len(raw.call("get_session_summary", session_id=own)["structuredContent"]["findings"]) == CALLS


@long_test
def reads_over_and_over(case) -> None:
    """Reading tools, lists, resources and prompts, 60 times each: nothing grows."""
    with Sandbox() as place, Raw(place.repo()) as raw:
        raw.initialize()
        raw.call("bootstrap_session", ai_id="a", task="t")
        raw.call("submit_preflight_assessment", vectors={"know": 0.5})
        handoff = raw.call("generate_handoff_report", task_summary="t")["structuredContent"]["report_id"]
        measured = []
        for number in range(60):
            for tool in ["bootstrap_project", "resume_previous_session", "get_epistemic_state", "query_handoff_reports", "list_sessions"]:
                assert raw.call(tool)["isError"] is False
            assert raw.call("nonsense")["isError"] is True
            assert raw.ask("tools/list")["result"] and raw.ask("prompts/get", {"name": "take-up"})["result"]
            assert raw.ask("resources/list")["result"] and raw.ask("resources/read", {"uri": f"empirica://handoff/{handoff}"})["result"]
            if number >= 15 and Path("/proc").is_dir():
                measured.append(state(server_of(raw)))
        if measured:
            for key, more in [("files", 1), ("threads", 1), ("memory", MAY_GROW)]:
                with case(f"reading does not grow {key}"):
                    assert measured[-1][key] - measured[0][key] <= more, (measured[0], measured[-1])
