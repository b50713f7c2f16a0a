"""Invalid frames get an error or are skipped, and the conversation continues."""

import json
import time

from place import Sandbox, Repo
from raw import LIMIT, Raw
from suite import long_test, test

PARSE, INVALID, NO_METHOD, WRONG_PARAMS = -32700, -32600, -32601, -32602
LONGEST = 16 << 20


def call_of(tool: str, arguments: object, identity: object) -> dict:
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def error_of(frame: dict, *codes: int) -> dict:
    assert "error" in frame and frame["error"]["code"] in codes and "message" in frame["error"], frame
    return frame["error"]


def refused(raw: Raw, data: bytes, identity: object, *codes: int) -> None:
    """These bytes are answered with an error for this id, and the next request as always."""
    raw.bytes(data)
    frame = raw.frame()
    assert frame.get("id") == identity, f"not for {identity!r}: {frame}"
    error_of(frame, *codes)
    raw.alive()


@test
def wrong_json(case) -> None:
    with Sandbox() as place, Raw(place.repo()) as raw:
        raw.initialize()
        for name, data, identity, codes in [
            ("no JSON", b"hello\n", None, [PARSE]),
            ("half an object", b'{"jsonrpc":"2.0","id":7,"method":"ping"\n', None, [PARSE]),
            ("a comma too many", b'{"jsonrpc":"2.0","id":"x","method":"ping",}\n', None, [PARSE]),
            ("single quotes", b"{'id': 3}\n", None, [PARSE]),
            ("two objects on a line", b'{"jsonrpc":"2.0","id":8,"method":"ping"}{"a":1}\n', None, [PARSE]),
            ("NaN", b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":NaN}}\n', None, [PARSE]),
            ("invalid UTF-8", b'{"jsonrpc":"2.0","id":10,"method":"ping","params":{"a":"\xff\xfe"}}\n', None, [PARSE]),
            ("half a surrogate", b'{"jsonrpc":"2.0","id":11,"method":"ping","params":{"a":"\\ud800"}}\n', None, [PARSE]),
            ("NUL bytes", b"\x00\x00\x00\n", None, [PARSE]),
            ("a NUL within a text", b'{"jsonrpc":"2.0","id":12,"method":"ping","params":{"a":"\x00"}}\n', None, [PARSE]),
            ("an array", b"[]\n", None, [INVALID]),
            ("a batch", b'[{"jsonrpc":"2.0","id":13,"method":"ping"}]\n', None, [INVALID]),
            ("a text", b'"ping"\n', None, [INVALID]),
            ("a number", b"5\n", None, [INVALID]),
            ("null", b"null\n", None, [INVALID]),
            ("true", b"true\n", None, [INVALID]),
            ("an empty object", b"{}\n", None, [INVALID]),
            ("no method", b'{"jsonrpc":"2.0","id":14}\n', 14, [INVALID]),
            ("a method that is no text", b'{"jsonrpc":"2.0","id":15,"method":5}\n', 15, [INVALID]),
            ("an id that is an object", b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', None, [INVALID]),
            ("an id that is null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', None, [INVALID]),
            ("an id that is true", b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', None, [INVALID]),
            ("an id that is a fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', 1.5, [INVALID]),
            ("an id that is huge", b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}\n', None, [INVALID, PARSE]),
            ("no version", b'{"id":16,"method":"ping"}\n', 16, [INVALID]),
            ("version 1.0", b'{"jsonrpc":"1.0","id":17,"method":"ping"}\n', 17, [INVALID]),
            ("nesting of 10,000", b'{"jsonrpc":"2.0","id":18,"method":"ping","params":{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}\n", None, [PARSE]),
            ("nesting of 1,000,000", b"[" * 1_000_000 + b"\n", None, [PARSE]),
            ("a key twice", b'{"jsonrpc":"2.0","id":19,"id":20,"method":"ping"}\n', 20, [INVALID, PARSE]),
        ]:
            with case(f"{name} is answered with an error"):
                if name == "a key twice":
                    # either one may count, and it may be answered: but once, and for one of the two
                    raw.bytes(data)
                    assert raw.frame().get("id") in (19, 20, None)
                    raw.alive()
                else:
                    refused(raw, data, identity, *codes)


@test
def forms_of_lines(case) -> None:
    with Sandbox() as place, Raw(place.repo()) as raw:
        raw.initialize()
        for name, data in [
            ("empty lines", b"\n\n  \n\t\n\r\n"),
            ("a notification that nobody knows", b'{"jsonrpc":"2.0","method":"notifications/nonsense"}\n'),
            ("a notification without a meaning", b'{"jsonrpc":"2.0","method":"nonsense","params":{"a":1}}\n'),
            ("roots that changed", b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n'),
            ("progress", b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}\n'),
            ("a second initialized", b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'),
            ("an answer to nothing", b'{"jsonrpc":"2.0","id":77,"result":{}}\n'),
            ("an error to nothing", b'{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}\n'),
        ]:
            with case(f"{name}: nothing is said, and the next request is answered"):
                raw.bytes(data)
                raw.alive()
        for name, data in [
            ("CRLF", b'{"jsonrpc":"2.0","id":50,"method":"ping"}\r\n'),
            ("a byte order mark", b'\xef\xbb\xbf{"jsonrpc":"2.0","id":50,"method":"ping"}\n'),
            ("blanks around", b'  \t{"jsonrpc":"2.0","id":50,"method":"ping"}  \t\n'),
            ("escapes", b'{"jsonrpc":"2.0","id":50,"\\u006dethod":"pin\\u0067"}\n'),
            ("keys in another order", b'{"params":{},"method":"ping","id":50,"jsonrpc":"2.0"}\n'),
            ("keys that nobody knows", b'{"jsonrpc":"2.0","id":50,"method":"ping","extra":[1,{}]}\n'),
        ]:
            with case(f"a request with {name} is answered"):
                raw.bytes(data)
                assert raw.answer(50)["result"] == {}
        with case("a request that comes in pieces is answered"):
            for byte in b'{"jsonrpc":"2.0","id":51,"method":"ping"}\n':
                raw.bytes(bytes([byte]))
            assert raw.answer(51)["result"] == {}
        with case("two requests at once are answered in their order"):
            raw.bytes(b'{"jsonrpc":"2.0","id":52,"method":"ping"}\n{"jsonrpc":"2.0","id":53,"method":"ping"}\n')
            assert raw.answer(52)["result"] == raw.answer(53)["result"] == {}
        for identity in ["text", "", "ä 漢 \"'", 0, -5, 2**53, 2**63 - 1, "1"]:
            with case(f"the id {identity!r} is said back as it is"):
                raw.send({"jsonrpc": "2.0", "id": identity, "method": "ping"})
                assert raw.answer(identity)["result"] == {}
        with case("an id that is used twice, one after the other"):
            for _ in range(2):
                raw.send(call_of("list_sessions", {}, 60))
                assert raw.answer(60)["result"]["isError"] is False
        with case("an id that is used twice at once is answered at least once"):
            raw.bytes(b"".join(json.dumps(call_of("list_sessions", {}, 61)).encode() + b"\n" for _ in range(2)))
            assert raw.frame()["id"] == 61
            raw.send({"jsonrpc": "2.0", "id": 62, "method": "ping"})
            assert {raw.frame()["id"]} <= {61, 62}


@test
def methods(case) -> None:
    with Sandbox() as place, Raw(place.repo()) as raw:
        raw.initialize()
        for method in ["nonsense", "tools/nonsense", "", "resources/subscribe", "completion/complete", "logging/setLevel", "sampling/createMessage"]:
            with case(f"the method {method!r} is not there"):
                error_of(raw.ask(method, {"uri": "empirica://handoff/x", "level": "info"}), NO_METHOD, WRONG_PARAMS, INVALID)
                raw.alive()
        for method, params in [
            ("tools/call", None), ("tools/call", {}), ("tools/call", {"name": 5}), ("tools/call", {"arguments": {}}),
            ("resources/read", {}), ("resources/read", {"uri": 5}), ("prompts/get", {}), ("prompts/get", {"name": []}),
            ("tools/call", {"name": "list_sessions", "arguments": "x"}), ("tools/call", {"name": "list_sessions", "arguments": [1]}),
            ("tools/call", {"name": "list_sessions", "arguments": 5}),
        ]:
            with case(f"{method} with {params} is an error"):
                error_of(raw.ask(method, params), NO_METHOD, WRONG_PARAMS, INVALID)
                raw.alive()
        with case("arguments that are null are none"):
            raw.send(call_of("list_sessions", None, 70))
            assert raw.answer(70)["result"]["isError"] is False
        with case("a second initialize is answered, and the conversation goes on"):
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            assert {"result", "error"} & set(raw.ask("initialize", about))
            raw.alive()
        for key in ["_meta", "progressToken"]:
            with case(f"a call with {key} is done"):
                params = {"name": "list_sessions", "arguments": {}, "_meta": {"progressToken": "p", "own": [1]}}
                assert raw.ask("tools/call", params)["result"]["isError"] is False


@test
def before_the_conversation(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        for name, data, answered in [
            ("a ping", {"jsonrpc": "2.0", "id": 5, "method": "ping"}, True),
            ("a notification", {"jsonrpc": "2.0", "method": "notifications/initialized"}, False),
            ("a cancellation", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, False),
            ("an answer", {"jsonrpc": "2.0", "id": 5, "result": {}}, False),
        ]:
            with case(f"{name} before initialize does not spoil it"), Raw(repo) as raw:
                raw.send(data)
                if answered:
                    assert raw.answer(5)
                assert raw.initialize()["protocolVersion"]
                raw.alive()
        with case("no JSON before initialize does not spoil it"), Raw(repo) as raw:
            raw.bytes(b"\xef\xbb\xbfhello\n\n[]\n")
            assert [error_of(raw.frame(), PARSE, INVALID) and True for _ in range(2)] == [True, True]
            assert raw.initialize()["protocolVersion"]
        for method in ["tools/list", "tools/call", "resources/list"]:
            with case(f"{method} before initialize is answered"), Raw(repo, crash_only=True) as raw:
                params = {"name": "list_sessions", "arguments": {}} if method == "tools/call" else {}
                raw.send({"jsonrpc": "2.0", "id": 5, "method": method, "params": params})
                assert {"error", "result"} & set(raw.answer(5))
        with case("a call right after initialize, without initialized, is answered"), Raw(repo) as raw:
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            raw.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
            raw.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
            assert raw.answer(1)["result"] and len(raw.answer(2)["result"]["tools"]) == 45
        for about in [{}, {"protocolVersion": "2025-06-18"}, {"protocolVersion": 5, "capabilities": {}, "clientInfo": {}}, None]:
            with case(f"initialize with {about} is an error, and a good one works after it"), Raw(repo) as raw:
                raw.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", **({} if about is None else {"params": about})})
                error_of(raw.answer(1), WRONG_PARAMS, INVALID, NO_METHOD)
                assert raw.initialize()["protocolVersion"]
                raw.alive()
        with case("nothing at all is an orderly end"), Raw(repo) as raw:
            assert raw.end() == 0
        with case("half a line is an orderly end"), Raw(repo) as raw:
            raw.bytes(b'{"jsonrpc":"2.0","id":1,')
            assert raw.end() == 0


@long_test
def long_frames(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        with Raw(repo) as raw:
            raw.initialize()
            raw.call("bootstrap_session", ai_id="a")
            with case("17 MB are refused"):
                data = json.dumps(call_of("log_finding", {"finding": "x" * (17 << 20)}, "big")).encode() + b"\n"
                refused(raw, data, None, INVALID)
            with case("17 MB without an end of line, then its end"):
                raw.bytes(b"y" * (17 << 20))
                refused(raw, b"\n", None, INVALID, PARSE)
            around = len(json.dumps(call_of("list_sessions", {"nonsense": ""}, 90)))
            with case("16 MiB are read"):
                raw.send(call_of("list_sessions", {"nonsense": "z" * (LONGEST - around)}, 90))
                said = json.loads(raw.answer(90)["result"]["content"][0]["text"])
                assert said["ok"] is False and len(json.dumps(said)) < 10_000, str(said)[:500]
            with case("a byte more is refused"):
                data = json.dumps(call_of("list_sessions", {"nonsense": "z" * (LONGEST + 1 - around)}, 90)).encode() + b"\n"
                refused(raw, data, None, INVALID)
            with case("a finding of 5 MB is stored or refused, with what to do"):
                raw.send(call_of("log_finding", {"finding": "some words " * 450_000}, 90))
                said = json.loads(raw.answer(90, 100)["result"]["content"][0]["text"])
                assert said["ok"] or (said["suggestion"] and len(json.dumps(said)) < 10_000), str(said)[:500]
                raw.alive()
            with case("a finding of 60 KB is stored whole"):
                text = "long " * 12_000
                identity = raw.document("log_finding", finding=text)["id"]
                found = raw.document("get_session_summary")["findings"]
                assert {"id": identity, "text": text.strip()} in found or {"id": identity, "text": text} in found
            with case("an unknown tool with a long name is told in short"):
                said = raw.document("t" * 100_000)
                assert len(json.dumps(said)) < 20_000, len(json.dumps(said))
            with case("10,000 unknown arguments are told in short"):
                said = raw.document("log_finding", finding="x", **{f"a{n}": n for n in range(10_000)})
                assert said["ok"] is False and len(json.dumps(said)) < 20_000, len(json.dumps(said))
        repo.fsck()


@test
def many_frames(case) -> None:
    with Sandbox() as place, Raw(place.repo()) as raw:
        raw.initialize()
        with case("2,000 requests at once are all answered"):
            began = time.monotonic()
            raw.bytes(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % n for n in range(10_000, 12_000)))
            assert sorted(raw.frame()["id"] for _ in range(2_000)) == list(range(10_000, 12_000))
            assert time.monotonic() - began < LIMIT
        with case("1,000 bad lines are all answered"):
            raw.bytes(b"nonsense\n" * 1_000)
            assert all(error_of(raw.frame(), PARSE) for _ in range(1_000))
            raw.alive()


def ten(raw: Raw, repo: Repo) -> list[str]:
    """Begins, and sends ten findings without waiting for an answer."""
    raw.initialize()
    raw.call("bootstrap_session", ai_id="a")
    texts = [f"of ten, {number}" for number in range(10)]
    raw.bytes(b"".join(json.dumps(call_of("log_finding", {"finding": text}, n + 200)).encode() + b"\n" for n, text in enumerate(texts)))
    assert repo
    return texts


@test
def the_client_goes(case) -> None:
    with Sandbox() as place:
        repo = place.repo()
        stored = lambda: [row["text"] for row in repo.journal() if str(row.get("text", "")).startswith("of ten")]  # noqa: E731
        with case("its input closed right after ten calls: all are answered and stored"):
            with Raw(repo) as raw:
                texts = ten(raw, repo)
                assert raw.end() == 0
                assert [raw.frame()["id"] for _ in range(10)] == list(range(200, 210))
            assert stored() == texts, stored()
        with case("its output closed: it ends without a crash"):
            with Raw(repo, crash_only=True) as raw:
                raw.initialize()
                raw.process.stdout.close()
                for _ in range(3):
                    try:
                        raw.request("tools/list")
                    except BrokenPipeError:
                        break
                    time.sleep(0.1)
                assert raw.end() in (0, 1), raw.process.returncode
        with case("both closed after ten calls: all are stored"):
            before = len(stored())
            with Raw(repo, crash_only=True) as raw:
                ten(raw, repo)
                raw.process.stdout.close()
                raw.end()
            assert len(stored()) == before + 10, len(stored()) - before
        with case("git fsck is content"):
            repo.fsck()
