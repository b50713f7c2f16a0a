//! Holds the token estimate against the real tokenizer, one kind of document at a time.

use git_empirica::epistemics::tokens::{estimate, truncate_to};

/// Estimates must not lie further below the count than this, in per cent.
const LOWEST: f64 = -2.0;

/// Compares whole documents with their counts; `highest` is the most an estimate may add, in per
/// cent.
fn check(kind: &str, highest: f64, texts: &[&str]) {
    let bpe = tiktoken_rs::o200k_base_singleton();
    let mut failures = Vec::new();
    for (nth, text) in texts.iter().enumerate() {
        let count = bpe.encode_ordinary(text).len();
        assert!((100..=1500).contains(&count), "{kind} {nth}: {count} tokens");
        let guess = estimate(text);
        let error = (guess as f64 / count as f64 - 1.0) * 100.0;
        let line = format!("{kind} {nth}: {count} tokens, estimated {guess}, {error:+.1} %");
        if !(LOWEST..=highest).contains(&error) {
            failures.push(line);
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

const ENGLISH: [&str; 5] = [
    r#"A commit names a tree, and a tree names blobs and other trees. Nothing in that chain knows why
the change was made, what the author tried first, or which question was still open when the branch
was pushed. The message can hold some of it, but a message is written once and cannot grow: to add
a line is to rewrite the commit, and to rewrite the commit is to break every reference to it.

Notes solve the second problem. A note is a blob filed under the name of the object it describes,
in a tree of its own, on a ref of its own. It can be added a week later, replaced, merged with the
note that somebody else wrote in the meantime, pushed or kept private, and the commit it talks
about never changes. The cost is that nobody sees notes by default. They are not fetched unless a
refspec says so, and most hosting services do not show them at all."#,
    r#"Before you change the retry policy, read how the queue decides that a worker is dead. Each worker
writes a heartbeat every two seconds. The scheduler considers a worker lost after three missed
heartbeats, returns its jobs to the queue, and increments the attempt counter of each job. A worker
that was merely slow, because of garbage collection or a stalled disk, will then finish a job that
another worker has already picked up. The result is written twice, which is harmless for idempotent
jobs and a disaster for the invoice exporter.

We looked at three remedies. Raising the timeout hides the problem and delays recovery. A fencing
token, handed out with the lease and checked on every write, is correct but needs support from the
storage layer. Making the exporter idempotent is the smallest change: it derives the invoice number
from the order, so a second run overwrites the same row. We chose the last option and left a note
in the design document for whoever adds the next exporter."#,
    r#"It's tempting to think that calibration is about being right. It isn't. A forecaster who says
"seventy percent" should be wrong three times in ten; if she's never wrong at seventy percent, she
doesn't know how much she knows. What we're measuring is the distance between stated confidence and
observed frequency, and that distance can't be read off a single answer. You'll need dozens of
them, and you'll need to have written the confidence down before the result was known, because
memory is generous to itself.

In practice people don't keep such records. They'd rather argue about the one prediction that
failed. A small habit helps: whenever you start a task, write one number for what you know and one
for what you don't, and when it's done, write them again. After a month you've got a curve, and the
curve won't flatter you."#,
    r#"The parser works in two passes. The first pass tokenizes the input and records the byte offset of
every token, so that error messages can point at the exact column even when the line contains
multibyte characters. The second pass builds the syntax tree with a hand-written recursive descent
parser; there is no generated code and no backtracking. Precedence is handled by a small table that
maps an operator to its binding power, which keeps the expression grammar to about sixty lines.

Errors do not stop the parser. When a statement cannot be parsed, the parser records a diagnostic,
skips ahead to the next semicolon or closing brace, and continues. This recovery strategy sometimes
produces a follow-up error that makes no sense, so diagnostics within the same statement are
suppressed after the first. Formatting is preserved by keeping whitespace and comments as trivia
attached to the following token."#,
    r#"Measurements were taken on an idle machine with frequency scaling disabled. Each benchmark ran for
ten seconds after a warm-up of three, and the median of five runs is reported. Throughput grew
almost linearly up to eight threads and then flattened, which is consistent with contention on the
allocator: replacing it improved the sixteen-thread result by 38 percent but made the
single-threaded case 4 percent slower. Latency at the 99th percentile was dominated by page faults
during the first second; locking the arena in memory removed the effect entirely. None of the
configurations reached the theoretical bandwidth of 25.6 GB/s. Profiling suggests that roughly a
fifth of the time is spent in hashing, where a vectorized implementation could help."#,
];

const HANDOFFS: [&str; 3] = [
    r#"# Handoff report

**Session:** 7c1e42d9
**Agent:** claude-code
**Date:** 2026-02-11T16:42:07Z
**Task:** Make the importer survive malformed rows without losing the batch
**Duration:** 94 minutes

## Epistemic trajectory

| Vector | Before | After | Delta | Status |
|--------|--------|-------|-------|--------|
| KNOW | 0.70 | 0.95 | +0.25 | Improved |
| DO | 0.85 | 0.90 | +0.05 | Improved |
| CONTEXT | 0.60 | 0.85 | +0.25 | Improved |
| CLARITY | 0.80 | 0.80 | +0.00 | Unchanged |
| COHERENCE | 0.75 | 0.85 | +0.10 | Improved |
| SIGNAL | 0.65 | 0.80 | +0.15 | Improved |
| DENSITY | 0.50 | 0.40 | -0.10 | Reduced |
| STATE | 0.55 | 0.90 | +0.35 | Improved |
| CHANGE | 0.60 | 0.85 | +0.25 | Improved |
| COMPLETION | 0.30 | 0.95 | +0.65 | Improved |
| IMPACT | 0.70 | 0.80 | +0.10 | Improved |
| ENGAGEMENT | 0.80 | 0.85 | +0.05 | Improved |
| UNCERTAINTY | 0.45 | 0.15 | -0.30 | Reduced |

## Key findings

- The reader trusts the header row and never compares it with the number of fields that follow
- `RowError` was swallowed in `src/import/batch.rs`, so a bad row ended the batch silently
- Quoted newlines are legal in the exports of two of the five vendors
- Memory is bounded by the longest row, not by the size of the file

## Knowledge gaps filled

- How the vendor marks deleted accounts: column 14 holds `X` or is empty
- Whether a batch may be retried: yes, the insert is keyed by `(vendor, row_id)`

## Remaining unknowns

- [ ] Encoding of the archive from before 2019, possibly Windows-1252
- [ ] Whether the nightly job on the replica reads the same directory

## Commits

- `3f9a1c7` import: report malformed rows instead of dropping them
- `b20d5e8` import: count fields before mapping them
- `91c77af` docs: describe the quarantine directory

## Files

- `src/import/batch.rs` (+84 -31)
- `src/import/reader.rs` (+22 -9)
- `tests/fixtures/malformed.csv` (new)
- `docs/import.md` (+17 -2)

## Commands

```sh
cargo test -p importer -- --nocapture
cargo run --bin import -- --dry-run tests/fixtures/malformed.csv
git log --oneline -n 3
```
"#,
    r#"# Epistemic Handoff Report

**Session:** 0192f4a8-5b1c-7e30-9a44-c1d6f0b7e215
**AI Agent:** mini-agent
**Date:** 2025-11-17 09:03:55
**Task:** Compare two ways to store session checkpoints

---

## What I accomplished

1. Implemented `CheckpointStore::append` on top of notes (`src/store/notes.rs:118`)
2. Benchmarked both layouts with 1, 100 and 10,000 checkpoints
3. Wrote the comparison in `docs/adr/0007-checkpoint-layout.md`

## What I learned

- **Fan-out matters:** with one note per commit the tree stays shallow until about 4,000 entries
- **Appending is not free:** every append rewrites the blob, so a long session costs O(n^2) bytes
- **Merging:** `cat_sort_uniq` works for line records but destroys the order of events ⚠️
- ✅ Concurrent writers are safe as long as each retries after a lost compare-and-swap

## Epistemic deltas

| Vector | Before | After | Delta | Status |
|:-------|-------:|------:|------:|:-------|
| KNOW | 0.55 | 0.88 | +0.33 | ✅ Improved |
| DO | 0.80 | 0.85 | +0.05 | ✅ Improved |
| CONTEXT | 0.70 | 0.82 | +0.12 | ✅ Improved |
| UNCERTAINTY | 0.60 | 0.25 | -0.35 | ✅ Reduced |
| Overall confidence | 0.683 | 0.861 | +0.178 | ✅ Calibrated |

## Dead ends

- Storing checkpoints as annotated tags: fetches become slow and `git gc` keeps everything
- One ref per session: 2,300 refs made `git push` noticeably slower, see `bench/refs.txt`

## Recommended next steps

1. Decide on the size limit of a single note (proposal: 256 KiB, then roll over)
2. Run `git notes --ref=empirica/checkpoints merge origin/checkpoints` on a clone with conflicts
3. Ask the maintainers whether `refs/notes/empirica` may be pushed by CI

## Artifacts

- `src/store/notes.rs`, `src/store/rollover.rs`
- `benches/append.rs`
- Commits `5be20fd`, `c8841ea`, `0d37b96`
"#,
    r#"## Session 4e0b91d2 · copilot · 2026-03-02T08:15:00+01:00

Calibration: well calibrated. Work: 12 files changed, 418 insertions(+), 77 deletions(-).

### Findings

- `Config::load` reads `.git/config` twice; the second read wins (`src/config.rs:57`)
- The cache key ignores the locale, which explains the flaky test on the Turkish runner
- TLS errors are reported as timeouts because `reqwest::Error::is_timeout` is checked first
- Two of the fixtures had CRLF line endings; `.gitattributes` now says `*.txt -text`

### Mistakes

- Assumed the index was sorted by name. It is sorted by byte order. Cost: 40 minutes.
- Ran the migration against staging before the backup had finished

### Decisions

| Decision | Reason | Reversible |
|---|---|---|
| Keep SQLite for the local cache | No server to run, 3 ms per query is enough | yes |
| Drop support for Python 3.8 | End of life since October 2024 | no |
| Name the command `handoff` | Shorter than `session-report`, nobody uses both | yes |

### Commits

- a41f09c cache: include the locale in the key
- e7730b5 config: read the file once and keep the layers apart
- 19d2c46 net: tell TLS failures from timeouts
- 60ffb12 ci: run the locale tests on every runner

### Next

- [ ] Remove the deprecated `--no-cache` flag in 0.9
- [ ] `make -C docs html && open docs/_build/html/index.html`
- [x] Re-run `pytest -q tests/test_cache.py::test_turkish_i`
"#,
];

const JSON_PRETTY: [&str; 3] = [
    r#"{
  "session_id": "8741af14-c056-4408-8ef7-a356253bc7e1",
  "ai_id": "claude-code",
  "created_at": "2026-02-11T16:42:07.318204Z",
  "task_summary": "Make the importer survive malformed rows without losing the batch",
  "duration_seconds": 5643.2,
  "vectors": {
    "know": 0.95,
    "do": 0.9,
    "context": 0.85,
    "clarity": 0.8,
    "uncertainty": 0.15
  },
  "key_findings": [
    "The reader trusts the header row and never compares it with the number of fields",
    "A bad row ended the batch silently",
    "Quoted newlines are legal in the exports of two vendors"
  ],
  "knowledge_gaps_filled": [
    {
      "gap": "How the vendor marks deleted accounts",
      "before": 0.2,
      "after": 0.95
    },
    {
      "gap": "Whether a batch may be retried",
      "before": 0.35,
      "after": 0.9
    }
  ],
  "remaining_unknowns": [
    "Encoding of the archive from before 2019"
  ],
  "artifacts_created": [
    "src/import/batch.rs",
    "tests/fixtures/malformed.csv"
  ],
  "commits": [
    {
      "sha": "9714e2b4b12060e6ef06174d54e9019117cbf49b",
      "subject": "import: report malformed rows instead of dropping them"
    },
    {
      "sha": "41ab6d858f2cd89f05087505798acbc58b504ee8",
      "subject": "import: count fields before mapping them"
    }
  ],
  "calibration_status": "well_calibrated",
  "investigated": true,
  "parent": null
}
"#,
    r#"{
    "schema_version": 2,
    "head": "fa5a41c4e63cadaa62277c57d7a25112fc68ea05",
    "branch": "feature/checkpoint-layout",
    "goals": [
        {
            "goal_id": "b72fa2df-29e1-4b1a-b774-61f62751f791",
            "objective": "Decide how checkpoints are stored",
            "status": "in_progress",
            "completion": 0.65,
            "subtasks": [
                {"id": 1, "title": "Benchmark both layouts", "done": true},
                {"id": 2, "title": "Write the decision record", "done": true},
                {"id": 3, "title": "Migrate existing sessions", "done": false}
            ]
        }
    ],
    "checkpoints": [
        {
            "phase": "PREFLIGHT",
            "round_num": 1,
            "timestamp": "2025-11-17T08:11:02+00:00",
            "overall_confidence": 0.683
        },
        {
            "phase": "CHECK",
            "round_num": 3,
            "timestamp": "2025-11-17T08:52:40+00:00",
            "overall_confidence": 0.774
        },
        {
            "phase": "POSTFLIGHT",
            "round_num": 5,
            "timestamp": "2025-11-17T09:03:55+00:00",
            "overall_confidence": 0.861
        }
    ],
    "tools_used": ["rg", "cargo bench", "git notes", "web_search"]
}
"#,
    r#"[
  {
    "kind": "finding",
    "id": "eac83360-e590-4ba0-8106-c9a239d3c856",
    "at": "2026-03-02T08:15:00.000Z",
    "author": {"name": "Copilot", "email": "copilot@example.org"},
    "text": "The cache key ignores the locale, which explains the flaky test",
    "confidence": 0.9,
    "paths": ["src/cache/key.rs", "tests/cache_locale.rs"],
    "commit": "dda854fb4fee5ef9ee3f1e63bf0cda1643d03464"
  },
  {
    "kind": "dead_end",
    "id": "249008d5-a3db-4658-a2eb-7ec5b8bfb275",
    "at": "2026-03-02T09:40:12.551Z",
    "author": {"name": "Copilot", "email": "copilot@example.org"},
    "text": "One ref per session makes pushes slow",
    "confidence": 0.75,
    "paths": [],
    "commit": null
  }
]
"#,
];

const JSON_COMPACT: [&str; 3] = [
    r#"{"session_id":"73ab7066-1c26-487c-8005-7e4479124a6e","ai_id":"mini-agent","created_at":"2025-11-17T09:03:55Z","task_summary":"Compare two ways to store session checkpoints","duration_seconds":3120.0,"vectors":{"know":0.88,"do":0.85,"context":0.82,"clarity":0.78,"coherence":0.8,"signal":0.75,"density":0.4,"state":0.85,"change":0.8,"completion":0.95,"impact":0.7,"engagement":0.85,"uncertainty":0.25},"key_findings":["With one note per commit the tree stays shallow until about 4,000 entries","Every append rewrites the blob","Concurrent writers are safe as long as each retries"],"knowledge_gaps_filled":[{"gap":"Cost of merging two notes refs","before":0.3,"after":0.85}],"remaining_unknowns":["Size limit of a single note"],"recommended_next_steps":["Decide on the size limit","Run the merge on a clone with conflicts"],"artifacts_created":["src/store/notes.rs","src/store/rollover.rs","benches/append.rs"],"commits":["780b1161676605e8fbbba790e3516c9ba5fa9ff0","f082a30db05bbba8a8c57922f2263bca77148c50","aa6c8f5501419bf4149b87a7178d32506afcb476"],"calibration_status":"well_calibrated"}"#,
    r#"{"v":1,"type":"preflight","session":"baf6cf99-9722-4681-9477-089a91bd9a9f","round":1,"at":"2026-01-09T11:20:31.004Z","know":0.55,"do":0.8,"uncertainty":0.6,"notes":"Never touched the fan-out code"}
{"v":1,"type":"finding","session":"baf6cf99-9722-4681-9477-089a91bd9a9f","at":"2026-01-09T11:31:12.871Z","text":"git writes the fan-out tree lazily","source":"src/notes/tree.rs:204"}
{"v":1,"type":"postflight","session":"baf6cf99-9722-4681-9477-089a91bd9a9f","round":1,"at":"2026-01-09T12:02:48.330Z","know":0.88,"do":0.85,"uncertainty":0.25,"delta":{"know":0.33,"do":0.05,"uncertainty":-0.35},"head":"de8d6e7916ae6315168d0225072322208bb5ec1d"}
"#,
    r#"{"ok":true,"took_ms":12.48,"total":3,"items":[{"id":"1e05da26-5489-4538-b9a4-cd02c7952fcf","score":0.9132,"title":"Retry policy of the invoice exporter","tags":["queue","idempotency"],"updatedAt":"2025-12-30T22:01:09Z"},{"id":"f84037aa-9faa-4ab3-bfb2-bfbebc88f4cb","score":0.8471,"title":"Heartbeats and fencing tokens","tags":["queue","lease"],"updatedAt":"2025-12-28T07:45:51Z"},{"id":"d0990d49-3aa8-43f3-a476-9d61278337fe","score":0.5209,"title":"Why we left the old scheduler","tags":[],"updatedAt":null}],"next":"/api/v2/search?q=retry&after=d0990d49"}"#,
];

const CODE: [&str; 6] = [
    r##"//! Reads session records from notes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use crate::store::{NoteRef, Oid, StoreError};

/// A session that was found in the notes of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: String,
    pub started: i64,
    pub vectors: BTreeMap<String, f64>,
}

impl Session {
    /// Parses the first line of `input`, or says which field is missing.
    pub fn parse(input: &str) -> Result<Self, StoreError> {
        let mut fields = input.split('\t');
        let id = fields.next().ok_or(StoreError::Missing("id"))?.to_owned();
        let started = fields
            .next()
            .and_then(|field| field.parse().ok())
            .ok_or(StoreError::Missing("started"))?;
        let vectors = fields
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| Ok((name.to_owned(), value.parse::<f64>()?)))
            .collect::<Result<_, std::num::ParseFloatError>>()?;
        Ok(Self { id, started, vectors })
    }
}

pub fn list(notes: &NoteRef, out: &mut impl Write) -> io::Result<usize> {
    let mut count = 0;
    for (oid, blob) in notes.iter() {
        for line in blob.lines() {
            match Session::parse(&line?) {
                Ok(session) => writeln!(out, "{oid} {} {}", session.id, session.started)?,
                Err(error) => eprintln!("warning: {oid}: {error}"),
            }
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_vectors_is_a_session() {
        let session = Session::parse("7c1e42d9\t1770828127").unwrap();
        assert_eq!(session.id, "7c1e42d9");
        assert!(session.vectors.is_empty());
    }
}
"##,
    r##"pub(crate) enum Event<'a> {
    Start { name: &'a str, attrs: Vec<(&'a str, Cow<'a, str>)> },
    Text(Cow<'a, str>),
    End(&'a str),
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Event<'a>, SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pos >= self.src.len() {
            return None;
        }
        let rest = &self.src[self.pos..];
        let event = match rest.as_bytes()[0] {
            b'<' if rest.starts_with("</") => self.end_tag(rest),
            b'<' => self.start_tag(rest),
            _ => {
                let len = rest.find('<').unwrap_or(rest.len());
                self.pos += len;
                unescape(&rest[..len]).map(Event::Text)
            }
        };
        if event.is_err() {
            self.pos = self.src.len();
        }
        Some(event)
    }
}
"##,
    r##"from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator


@dataclass
class Checkpoint:
    """One assessment of the agent, taken at the start or end of a round."""

    session_id: str
    phase: str
    vectors: dict[str, float] = field(default_factory=dict)
    round_num: int = 1

    @property
    def confidence(self) -> float:
        if not self.vectors:
            return 0.0
        return sum(self.vectors.values()) / len(self.vectors)


def read_notes(repo: Path, ref: str = "refs/notes/empirica") -> Iterator[Checkpoint]:
    listing = subprocess.run(
        ["git", "-C", str(repo), "notes", f"--ref={ref}", "list"],
        check=True,
        capture_output=True,
        text=True,
    )
    for line in listing.stdout.splitlines():
        blob, _commit = line.split()
        raw = subprocess.check_output(["git", "-C", str(repo), "cat-file", "-p", blob])
        for record in raw.decode("utf-8").splitlines():
            data = json.loads(record)
            if data.get("type") != "checkpoint":
                continue
            yield Checkpoint(
                session_id=data["session_id"],
                phase=data["phase"],
                vectors=data.get("vectors", {}),
                round_num=data.get("round", 1),
            )


if __name__ == "__main__":
    for checkpoint in read_notes(Path.cwd()):
        print(f"{checkpoint.session_id[:8]}  {checkpoint.phase:<10} {checkpoint.confidence:.2f}")
"##,
    r##"import asyncio
import logging

logger = logging.getLogger(__name__)


class RateLimiter:
    def __init__(self, rate: float, burst: int = 1):
        self._rate = rate
        self._tokens = float(burst)
        self._burst = burst
        self._updated = None
        self._lock = asyncio.Lock()

    async def acquire(self, amount: int = 1) -> None:
        async with self._lock:
            while True:
                now = asyncio.get_running_loop().time()
                if self._updated is not None:
                    elapsed = now - self._updated
                    self._tokens = min(self._burst, self._tokens + elapsed * self._rate)
                self._updated = now
                if self._tokens >= amount:
                    self._tokens -= amount
                    return
                delay = (amount - self._tokens) / self._rate
                logger.debug("rate limited, sleeping %.3fs", delay)
                await asyncio.sleep(delay)
"##,
    r##"#!/usr/bin/env bash
# Pushes the notes of every remote, and says which remotes refused them.
set -euo pipefail

ref=${1:-refs/notes/empirica}
failed=()

for remote in $(git remote); do
    if ! git push --quiet "$remote" "$ref:$ref" 2>/dev/null; then
        failed+=("$remote")
        continue
    fi
    echo "pushed $ref to $remote ($(git rev-parse --short "$ref"))"
done

if [ "${#failed[@]}" -gt 0 ]; then
    printf 'could not push to: %s\n' "${failed[*]}" >&2
    exit 1
fi

count=$(git notes --ref="$ref" list | wc -l | tr -d ' ')
[[ $count -eq 0 ]] && echo "no notes yet" || echo "$count notes"
"##,
    r##"export PATH="$HOME/.local/bin:$PATH"
alias gs='git status --short --branch'
alias gl='git log --graph --oneline --decorate --all'

mkcd() {
    mkdir -p "$1" && cd "$1" || return
}

backup() {
    local src=$1 dest="$HOME/backup/$(basename "$1")-$(date +%Y%m%d).tar.gz"
    tar -czf "$dest" --exclude='target' --exclude='node_modules' "$src"
    du -h "$dest" | cut -f1
}

case "$(uname -s)" in
    Darwin) export CLICOLOR=1 ;;
    Linux) eval "$(dircolors -b)" ;;
    *) echo "unknown system" ;;
esac

find . -name '*.orig' -mtime +30 -print0 | xargs -0 rm -f
grep -rnE 'TODO|FIXME' --include='*.rs' src | sort -t: -k1,1 -k2,2n | head -n 20
"##,
];

const TRACES: [&str; 5] = [
    r##"thread 'main' panicked at src/store/notes.rs:118:42:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: rust_begin_unwind
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/std/src/panicking.rs:665:5
   1: core::panicking::panic_fmt
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/panicking.rs:76:14
   2: core::panicking::panic
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/panicking.rs:148:5
   3: core::option::unwrap_failed
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/option.rs:2009:5
   4: recorder::store::notes::CheckpointStore::append
             at ./src/store/notes.rs:118:42
   5: recorder::commands::checkpoint::run::{{closure}}
             at ./src/commands/checkpoint.rs:61:17
   6: core::ops::function::FnOnce::call_once
             at /rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/ops/function.rs:250:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"##,
    r##"Traceback (most recent call last):
  File "/srv/app/worker.py", line 88, in run_once
    result = self.handler(job)
             ^^^^^^^^^^^^^^^^^
  File "/srv/app/exporters/invoice.py", line 141, in export
    row = self.session.execute(insert_stmt, values).one()
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.12/site-packages/sqlalchemy/orm/session.py", line 2362, in execute
    return self._execute_internal(
           ^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.12/site-packages/sqlalchemy/engine/default.py", line 941, in do_execute
    cursor.execute(statement, parameters)
sqlalchemy.exc.IntegrityError: (psycopg2.errors.UniqueViolation) duplicate key value violates unique constraint "invoice_number_key"
DETAIL:  Key (number)=(2026-004417) already exists.

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/app/worker.py", line 93, in run_once
    raise JobFailed(job.id) from error
app.errors.JobFailed: job 55120 failed after 3 attempts
"##,
    r##"Exception in thread "pool-2-thread-7" java.lang.IllegalStateException: Lease expired
	at com.example.queue.LeaseManager.renew(LeaseManager.java:87)
	at com.example.queue.Worker.lambda$start$0(Worker.java:142)
	at java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1144)
	at java.base/java.util.concurrent.ThreadPoolExecutor$Worker.run(ThreadPoolExecutor.java:642)
	at java.base/java.lang.Thread.run(Thread.java:1583)
Caused by: java.net.SocketTimeoutException: Read timed out
	at java.base/sun.nio.ch.NioSocketImpl.timedRead(NioSocketImpl.java:278)
	at com.example.net.HttpTransport.send(HttpTransport.java:59)
	... 4 more
"##,
    r##"2026-02-11T16:41:58.102Z  INFO server: listening addr=0.0.0.0:8080 version=1.14.2
2026-02-11T16:42:01.774Z DEBUG http: request method=GET path=/api/v1/sessions/7c1e42d9 request_id=5f0c1b7e
2026-02-11T16:42:01.781Z  INFO http: response status=200 elapsed=6.9ms bytes=4182
2026-02-11T16:42:03.015Z  WARN pool: connection refused host=10.4.17.203 port=5432 attempt=1
2026-02-11T16:42:03.520Z  WARN pool: connection refused host=10.4.17.203 port=5432 attempt=2
2026-02-11T16:42:04.533Z ERROR pool: giving up after 3 attempts: Connection refused (os error 111)
2026-02-11T16:42:04.534Z ERROR http: response status=503 elapsed=1519.4ms request_id=88d2aa10
2026-02-11T16:42:09.000Z  INFO supervisor: restarting worker id=3 reason="missed heartbeat"
2026-02-11T16:42:09.412Z DEBUG queue: requeued job=55120 attempt=2 queue=invoices
2026-02-11T16:42:15.998Z  INFO gc: collected 1,204 objects in 31ms, 18.2 MiB freed
"##,
    r##"[12/Feb/2026:03:14:07 +0000] "GET /static/css/main.8f3b2c.css HTTP/1.1" 304 0 "https://example.com/docs" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
[12/Feb/2026:03:14:09 +0000] "POST /api/login HTTP/1.1" 401 87 "-" "curl/8.5.0"
[12/Feb/2026:03:14:12 +0000] "GET /robots.txt HTTP/1.1" 200 68 "-" "Googlebot/2.1"
Feb 12 03:15:01 web-2 CRON[21877]: (root) CMD (test -x /usr/sbin/anacron || run-parts /etc/cron.daily)
Feb 12 03:15:44 web-2 sshd[21903]: Failed password for invalid user admin from 203.0.113.77 port 51842 ssh2
Feb 12 03:15:46 web-2 sshd[21903]: Connection closed by invalid user admin 203.0.113.77 port 51842 [preauth]
Feb 12 03:16:30 web-2 kernel: [184220.771203] Out of memory: Killed process 1742 (java) total-vm:8124560kB
error[E0382]: borrow of moved value: `session`
  --> src/commands/handoff.rs:77:20
   |
75 |     let report = render(session);
   |                         ------- value moved here
76 |
77 |     println!("{}", session.id);
   |                    ^^^^^^^^^^ value borrowed here after move
"##,
];

const PATHS: [&str; 4] = [
    r##"src/main.rs
src/lib.rs
src/cli/mod.rs
src/cli/handoff.rs
src/cli/checkpoint.rs
src/store/mod.rs
src/store/notes.rs
src/store/fanout.rs
src/store/rollover.rs
src/render/markdown.rs
src/render/json.rs
src/render/templates/report.md.j2
src/epistemics/vectors.rs
src/epistemics/calibration.rs
tests/cli.rs
tests/store_concurrency.rs
tests/fixtures/session-with-gaps.json
tests/fixtures/empty.json
benches/append.rs
docs/adr/0001-use-notes.md
docs/adr/0007-checkpoint-layout.md
docs/manual/getting-started.md
.github/workflows/ci.yml
.gitattributes
Cargo.toml
Cargo.lock
"##,
    r##"M  src/import/batch.rs
M  src/import/reader.rs
A  tests/fixtures/malformed.csv
D  src/import/legacy_reader.rs
R  docs/import.md -> docs/guides/import.md
?? notes/todo.txt
 M web/package.json
 M web/src/components/SessionList.tsx
 M web/src/components/VectorChart.test.tsx
 M web/src/hooks/useCheckpoints.ts
 M web/public/index.html
AM scripts/release/publish-notes.sh
UU config/settings.production.toml
"##,
    r##"/etc/nginx/sites-available/default
/etc/systemd/system/recorder.service
/usr/local/share/man/man1/git-notes.1.gz
/usr/lib/python3.12/site-packages/sqlalchemy/orm/session.py
/usr/share/doc/openssl/README.Debian
/var/log/postgresql/postgresql-16-main.log
/var/lib/docker/overlay2/l/6ZQ3KX/diff/app/server
/opt/homebrew/Cellar/ripgrep/14.1.1/bin/rg
/srv/backups/2026-02-11/invoices.sql.zst
/proc/sys/net/ipv4/tcp_keepalive_time
C:\Program Files\Git\mingw64\bin\git.exe
"##,
    r##"- `app/models/concerns/searchable.rb`
- `app/controllers/api/v2/invoices_controller.rb`
- `config/initializers/content_security_policy.rb`
- `db/migrate/20260211164207_add_quarantine_to_imports.rb`
- `spec/requests/api/v2/invoices_spec.rb`
- `lib/tasks/reindex.rake`
- `internal/scheduler/lease_test.go`
- `cmd/server/main.go`
- `pkg/apis/batch/v1beta1/zz_generated.deepcopy.go`
- `deploy/helm/templates/deployment.yaml`
- `terraform/modules/network/variables.tf`
- `android/app/src/main/java/com/example/notes/MainActivity.kt`
- `ios/Notes/Supporting Files/Info.plist`
"##,
];

const GERMAN: [&str; 3] = [
    "Bevor die Schnittstelle geändert wird, muss geklärt werden, welche Anwendungen noch die alte Fassung \
     verwenden. Die Auswertung der Zugriffe hat ergeben, dass zwei Dienste weiterhin den veralteten \
     Aufruf benutzen: der Rechnungsexport und die nächtliche Prüfung der Lagerbestände. Beide lassen \
     sich ohne größeren Aufwand umstellen, weil die Antwort dieselben Felder enthält und nur die \
     Reihenfolge der Einträge abweicht. Für den Übergang bleibt der alte Pfad drei Monate lang \
     erreichbar und schreibt bei jedem Zugriff eine Warnung in das Protokoll. Danach wird er entfernt. \
     Offen ist noch, ob die Kunden außerhalb der Europäischen Union gesondert benachrichtigt werden müssen.",
    "Heute Morgen habe ich den Fehler endlich gefunden. Er lag nicht in der Datenbank, wie wir alle gedacht \
     hatten, sondern in der Art und Weise, wie das Programm die Zeitzone bestimmt. Wenn der Rechner im \
     Winter gestartet und im Sommer nicht neu gestartet wurde, rechnete er weiter mit der falschen \
     Stunde. Das erklärt auch, warum der Test nur manchmal fehlschlug. Ich habe eine kleine Änderung \
     vorgeschlagen und einen Test geschrieben, der beide Fälle prüft. Könntest du bitte einen Blick \
     darauf werfen, bevor wir die neue Version veröffentlichen? Es eilt nicht, aber vor dem Wochenende \
     wäre schön.",
    "# Übergabebericht\n\n**Sitzung:** 7c1e42d9\n**Aufgabe:** Einlesen fehlerhafter Zeilen\n\n## Erkenntnisse\n\n\
     - Die Kopfzeile wird nicht mit der Anzahl der Felder verglichen\n\
     - Zeilenumbrüche in Anführungszeichen sind bei zwei Lieferanten zulässig\n\
     - Der Speicherbedarf hängt von der längsten Zeile ab\n\n## Offene Fragen\n\n\
     - Welche Kodierung hat das Archiv aus der Zeit vor 2019?\n\
     - Liest der nächtliche Auftrag dasselbe Verzeichnis?\n\n## Nächste Schritte\n\n\
     1. Quarantäneverzeichnis in `docs/import.md` beschreiben\n\
     2. Grenzwerte mit der Fachabteilung abstimmen\n",
];

const FRENCH: [&str; 3] = [
    "Avant de modifier l'interface, il faut savoir quelles applications utilisent encore l'ancienne version. \
     L'analyse des accès montre que deux services appellent toujours la méthode obsolète : l'export des \
     factures et la vérification nocturne des stocks. Tous deux peuvent être adaptés sans difficulté, \
     puisque la réponse contient les mêmes champs et que seul l'ordre des éléments change. Pendant la \
     période de transition, l'ancien chemin restera accessible durant trois mois et écrira un \
     avertissement dans le journal à chaque appel. Il sera ensuite supprimé. Il reste à déterminer si les \
     clients situés hors de l'Union européenne doivent être prévenus séparément.",
    "J'ai enfin trouvé l'erreur ce matin. Elle ne venait pas de la base de données, comme nous le pensions \
     tous, mais de la façon dont le programme détermine le fuseau horaire. Quand la machine avait été \
     démarrée en hiver et n'avait pas été relancée en été, elle continuait à compter avec la mauvaise \
     heure. Cela explique aussi pourquoi le test n'échouait que de temps en temps. J'ai proposé une petite \
     correction et j'ai écrit un test qui couvre les deux cas. Pourrais-tu y jeter un œil avant que nous \
     publiions la nouvelle version ? Ce n'est pas urgent, mais avant le week-end, ce serait bien.",
    "# Rapport de passation\n\n**Tâche :** lecture des lignes mal formées\n\n## Découvertes\n\n\
     - L'en-tête n'est jamais comparé au nombre de champs qui suivent\n\
     - Les retours à la ligne entre guillemets sont autorisés chez deux fournisseurs\n\
     - La mémoire dépend de la ligne la plus longue, pas de la taille du fichier\n\n## Questions ouvertes\n\n\
     - Quel est l'encodage des archives antérieures à 2019 ?\n\
     - La tâche de nuit lit-elle le même répertoire ?\n\n## Étapes suivantes\n\n\
     1. Décrire le répertoire de quarantaine dans `docs/import.md`\n\
     2. Fixer les seuils avec l'équipe métier\n",
];

const SPANISH: [&str; 3] = [
    "Antes de cambiar la interfaz hay que saber qué aplicaciones siguen usando la versión anterior. El análisis \
     de los accesos muestra que dos servicios todavía llaman al método obsoleto: la exportación de facturas \
     y la comprobación nocturna de las existencias. Ambos se pueden adaptar sin mucho esfuerzo, porque la \
     respuesta contiene los mismos campos y solo cambia el orden de los elementos. Durante la transición, \
     la ruta antigua seguirá disponible tres meses y escribirá una advertencia en el registro con cada \
     llamada. Después se eliminará. Queda por decidir si hay que avisar por separado a los clientes que \
     están fuera de la Unión Europea.",
    "Esta mañana por fin encontré el error. No estaba en la base de datos, como todos pensábamos, sino en la \
     manera en que el programa determina la zona horaria. Si la máquina se había encendido en invierno y no \
     se reiniciaba en verano, seguía calculando con la hora equivocada. Eso explica también por qué la \
     prueba fallaba solo de vez en cuando. He propuesto un pequeño cambio y he escrito una prueba que \
     cubre los dos casos. ¿Podrías echarle un vistazo antes de que publiquemos la nueva versión? No es \
     urgente, pero antes del fin de semana estaría bien.",
    "# Informe de traspaso\n\n**Tarea:** lectura de filas mal formadas\n\n## Hallazgos\n\n\
     - La cabecera nunca se compara con el número de campos que siguen\n\
     - Los saltos de línea entre comillas son válidos en los archivos de dos proveedores\n\
     - La memoria depende de la fila más larga, no del tamaño del archivo\n\n## Preguntas abiertas\n\n\
     - ¿Qué codificación tienen los archivos anteriores a 2019?\n\
     - ¿Lee la tarea nocturna el mismo directorio?\n\n## Próximos pasos\n\n\
     1. Describir el directorio de cuarentena en `docs/import.md`\n\
     2. Acordar los límites con el equipo de negocio\n",
];

const RUSSIAN: [&str; 3] = [
    "Прежде чем менять интерфейс, нужно выяснить, какие приложения всё ещё используют старую версию. Анализ \
     обращений показал, что два сервиса по-прежнему вызывают устаревший метод: выгрузка счетов и ночная \
     проверка складских остатков. Оба можно перевести без особых усилий, потому что ответ содержит те же \
     поля, а отличается только порядок элементов. На время перехода старый путь останется доступным три \
     месяца и будет записывать предупреждение в журнал при каждом вызове. После этого его удалят. Остаётся \
     решить, нужно ли отдельно уведомлять клиентов за пределами Европейского союза.",
    "Сегодня утром я наконец нашёл ошибку. Она была не в базе данных, как мы все думали, а в том, как программа \
     определяет часовой пояс. Если компьютер включили зимой и не перезагружали летом, он продолжал считать \
     с неправильным часом. Этим объясняется и то, почему тест падал только иногда. Я предложил небольшое \
     изменение и написал тест, который проверяет оба случая. Посмотри, пожалуйста, до того, как мы выпустим \
     новую версию. Это не срочно, но до выходных было бы хорошо.",
    "# Отчёт о передаче\n\n**Задача:** чтение некорректных строк\n\n## Выводы\n\n\
     - Заголовок не сравнивается с количеством полей\n\
     - Переводы строк внутри кавычек допустимы у двух поставщиков\n\
     - Объём памяти зависит от самой длинной строки, а не от размера файла\n\n## Открытые вопросы\n\n\
     - Какая кодировка у архива до 2019 года?\n\
     - Читает ли ночная задача тот же каталог?\n\n## Следующие шаги\n\n\
     1. Описать каталог карантина в `docs/import.md`\n\
     2. Согласовать пределы с командой\n",
];

const CHINESE: [&str; 3] = [
    "在修改接口之前，必须先弄清楚哪些应用仍在使用旧版本。对访问记录的分析表明，还有两个服务在调用已经废弃的方法：\
     发票导出和每天夜里的库存检查。这两个服务都可以比较容易地迁移，因为返回的字段完全相同，只是元素的顺序不一样。\
     在过渡期间，旧的路径会继续保留三个月，并且在每次调用时向日志写入一条警告，之后就会被删除。\
     现在还不确定的是，是否需要单独通知欧盟以外的客户。",
    "今天早上我终于找到了那个错误。问题不在数据库里，而在程序判断时区的方式上。如果电脑是冬天启动的，到了夏天也没有重启，\
     它就会一直使用错误的时间来计算。这也解释了为什么测试只是偶尔失败。我提出了一个很小的修改，\
     并且写了一个同时覆盖两种情况的测试。在我们发布新版本之前，你能帮忙看一下吗？不着急，但是周末之前最好能完成。",
    "# 交接报告\n\n**任务：** 读取格式错误的行\n\n## 主要发现\n\n- 程序从不检查表头与后面字段的数量是否一致\n\
     - 有两家供应商的文件允许在引号中换行\n- 内存占用取决于最长的一行，而不是文件的大小\n\n## 尚未解决的问题\n\n\
     - 2019 年以前的归档使用什么编码？\n- 夜间任务读取的是不是同一个目录？\n\n## 下一步\n\n\
     1. 在 `docs/import.md` 中说明隔离目录\n2. 与业务团队确认上限\n",
];

const JAPANESE: [&str; 3] = [
    "インターフェースを変更する前に、どのアプリケーションがまだ古いバージョンを使っているのかを確認する必要があります。\
     アクセスの記録を調べたところ、二つのサービスが廃止予定のメソッドを今も呼び出していることが分かりました。\
     請求書の出力と、夜間の在庫確認です。どちらも返される項目は同じで、要素の順番が違うだけなので、\
     大きな手間をかけずに移行できます。移行期間中は古いパスを三か月間残し、呼び出されるたびにログに警告を書き込みます。\
     その後は削除されます。",
    "今朝、ようやくエラーの原因を見つけました。みんなが思っていたようにデータベースではなく、プログラムがタイムゾーンを\
     決める方法に問題がありました。冬に起動したコンピューターを夏まで再起動しないと、間違った時刻のまま計算を続けてしまいます。\
     テストがときどきしか失敗しなかった理由も、これで説明できます。小さな修正を提案し、両方の場合を確認するテストも書きました。\
     新しいバージョンを公開する前に見てもらえますか。急ぎませんが、週末までだと助かります。",
    "# 引き継ぎレポート\n\n**タスク:** 壊れた行の読み込み\n\n## 分かったこと\n\n- ヘッダーと項目の数は一度も比較されていない\n\
     - 引用符の中の改行は二社のファイルで認められている\n- メモリの使用量はファイルの大きさではなく、最も長い行で決まる\n\n\
     ## 残っている疑問\n\n- 2019 年より前のアーカイブの文字コードは何か\n- 夜間のジョブは同じディレクトリを読むのか\n\n\
     ## 次の手順\n\n1. `docs/import.md` に隔離ディレクトリの説明を書く\n2. 上限についてチームと相談する\n",
];

const EMOJI: [&str; 3] = [
    "✅ Tests pass\n❌ Lint fails\n⚠️ Two warnings\n🚀 Released 1.4.0\n🐛 Fixed the time zone\n📝 Updated the docs\n\
     🔧 New setting\n🔥 Removed dead code\n💡 Idea: cache by locale\n📦 Bumped dependencies\n🎉 First release\n\
     🔍 Looking into it\n⏳ Waiting for review\n👍 Looks good\n🤔 Not sure about this\n👀 Please have a look\n\
     💯 Done\n⭐ Starred\n🔒 Fixed a leak\n📊 New chart\n",
    "😀 😂 🤣 😊 😍 🤔 👍 🎉 🔥 ✅ ❌ 🚀 💡 📝 🔧 🐛 ✨ 📦 🔍 🎯 ⭐ ❤️ 🙏 👀 💯 🤖 🧠 📊 🔒 ⏳ 🏁 👩‍💻 🇩🇪 🇫🇷 🌍 🌱 🍕 🎵 🏠 🐍 🦀 🧪 🧵 🪵 \
     ⚡ ☕ ⚙️ ♻️ ✏️ ✂️ 🛠️ 🗑️ 🗂️ 🕐 🔁 🔗 🔔 💾 💥 💬 👋 👏 🙈 😅 😎 😭 😡 🥳",
    "Shipped it 🚀🚀🚀 Thanks everyone 🙏 The migration took 40 minutes ⏱️ and nothing broke 🎉🎉 \
     Next week: the new dashboard 📊✨ If you see anything odd 👀 tell me right away 🙋 \
     Coffee is on me ☕😄 And please, please do not restart the old worker 🛑❗ It still owns the lease 🔒 \
     Lunch at twelve 🍕? I will bring the cake 🎂🥳 See you all tomorrow 👋😊",
];

const HEX: [&str; 6] = [
    "cc6577428c2f6d6bc64e5a22fac180d6b2e6e1b465e551305fd2d2490ca4c616e8c4bf144d3334955d46af783b52\
     901a6ccaccdb251bce79793a67c9e2ed829af48d9d59ce6ca6b0b9658d7dbc036095e68de96039211d9b963cc58e\
     a44ecd5b868ec5ff527e03af2a080ad8541c11a795e1d763f588b265b2344421c5b75a1ad69534f07c37e255eb8a\
     1c095409993fd21b5aaa1c87409cd75d167853d006459185d401ce257ad4f2b57f63d654f75852777dc278aaf630\
     1d1a619588096b35bc4986e10b742c0bac74200567a820d3d2bfdc8ab3872178a38976ee082c309feda739c628ef\
     a20124d6d003a6630d95495d395dc32898583128fc49f69e885e946a47b27d40ac20d2de3206279634895623a069\
     ca1e8fb6b41a76df5b5900b44d12a9b5a391ad65152fcdcbc836b42830bca7398d44490847d489dc2b0f7f2f",
    r#"9714e2b4b12060e6ef06174d54e9019117cbf49b
41ab6d858f2cd89f05087505798acbc58b504ee8
fa5a41c4e63cadaa62277c57d7a25112fc68ea05
dda854fb4fee5ef9ee3f1e63bf0cda1643d03464
780b1161676605e8fbbba790e3516c9ba5fa9ff0
f082a30db05bbba8a8c57922f2263bca77148c50
aa6c8f5501419bf4149b87a7178d32506afcb476
de8d6e7916ae6315168d0225072322208bb5ec1d
5f6ea2b5991661a7e38d6315f35645d282760ee8
8e4ebf73422574d909c5b1268b44fbe5ab768873
f4f88e5690e80b0c4824c5b6403f3d9cf02eb7ba
30357967f196ce815622c5d46d9322af4722c79f
6ada5e474def8bcb216f0ed162edf06727c547ac
b2f16dc40aa68b37f9ebc5021a9e11f559ca168f
"#,
    r#"baf6cf99-9722-4681-9477-089a91bd9a9f
991122f4-33a2-4625-88ae-2767657982e5
87b334fb-7fa5-4e5c-9658-16e1dee519ae
b72fa2df-29e1-4b1a-b774-61f62751f791
1e05da26-5489-4538-b9a4-cd02c7952fcf
73ab7066-1c26-487c-8005-7e4479124a6e
e6449ff5-99ad-4369-b64c-71b2ffc28693
f84037aa-9faa-4ab3-bfb2-bfbebc88f4cb
8741af14-c056-4408-8ef7-a356253bc7e1
d0990d49-3aa8-43f3-a476-9d61278337fe
eac83360-e590-4ba0-8106-c9a239d3c856
249008d5-a3db-4658-a2eb-7ec5b8bfb275
"#,
    "88bf6ce 3f1b74a0 4d0adcb 2b5431b 1a98427193 d393e74 b3a8d26 5b8f305127 e6ce56fa e301ac87 \
     92412aa6 7d56110 0de8b67d 873a102 1c5727b d48c6e9ce8 f7f4b6d8 999b685939 9d6e3c5 3ee710f613 \
     af7978a 333e566046 4950ba83 6b9c6a9 82c3a0f3b4 deb2c5f caed6f8334 95ec309102 1dc9ac3 e3de641 \
     08121c51c2 67b83801 4b0ef5e3 1c852ec ba0597c 13a014b 95b234c8 68f044d a0c5ccc6 49dd37b \
     03977cfd09 1351a0a 8d6e615 36fb7dbd74 09f8378 7c72e6e 37e2c6b e325aa0e a7d7edc382 224aab1 \
     2477018f 5df6992136 ea0cc09b1d 68da059bcc 6df2ade bbf5141 7c392b82 8488e3e 6c041bf5 71f0582",
    "D8B464CE4E35E931DCEF35824A8B7064D7BAE532DCA940DA718A6095FB53F553CC252F24E89DDBD634E377B9F597\
     FEA1873C35C36ED816F24536489A1F8AE4F458D2F347F997D1F6071003E6DE22232E88F9AC8DE91119D2E46027D3\
     ABBF34042B2CB9B6E1C952450D129CF3732CB6B63BB95D54D16D31A978173E82D51350E022B0C1C587030B42EFD7\
     A6E52F1195B728C5B69317EE00258E298405E4E6E7918518DA5C2E4F62AECF61E477B57DF60168325CD03A329D2A\
     0BEA992C064B210C01D50B9FD00C9672",
    r#"00000000: aa43 0866 8d5f 56ae fa0f 6ec3 111f 7c91
00000010: 3875 5b6a cc99 b7fa 90ef cca5 2c8b 1cda
00000020: ad99 e87b 3037 71cd fdce 8b4f f740 d453
00000030: 699d 100a 6ed6 7ada 223d 4c88 33a2 585d
00000040: cf4d 36f7 90ee e16b 1c5e 7af9 6535 3370
00000050: ac4a 3249 a449 8f3c 805e 9090 e389 4ea0
00000060: 0c51 169a 629a 3842 a55f d836 b5cc 9ac6
00000070: 2bb2 11d5 1a50 81de 0bad ebad 4e32 11ee
00000080: 49b1 2777 1beb e69d 8bf7 c7f3 5edb 1869
00000090: f7d0 6d11 367d cdea 8f0c 1ef0 4a1a 716c
000000a0: c668 4197 334e b838 2d33 2709 c673 92fe
000000b0: 2318 68a2 0aad 1b1f fcb9 8348 c8bf 23e5
"#,
];

const BASE64: [&str; 3] = [
    r#"wkF+DTMlvRhX9pHhLNR4UCngpFBXmbLTHEhxjpXQ/f2FniQrSTzT41bt1bXDedbZ
z7CkN19uukviv02w69oZLAS9l8i7+RG6P+pSl5P0mRh5FjNDIjFZc7Q3YdRlg3CT
YXdQ8UZLmLpB/PUHMVf4MeSaGs77RH2AkV0VyNZePg03xEbN5+t+2i7dwYY/D4T4
toShJXNvQRUGqVxcC/D+09V+IrAtMnELIl1oq23UgT5piswXVsW1a4UObQdaMhaJ
fhCZHewlpVeSVKXIGoYgY9MmeQZ8jNp6X8x/FXEpqUxiIWwYH2vH0gbCmQzDX3Z2
u36AGgJXb9H2s83NKT94fFEmfPuhKbY8hMGE0KM4+azIXIo4UlYE15N651g7Th0w
3rtAJzvovYsx05HjoOG6AibjsEtBGDuFRpi7OS/iRv2tASYtQcMq9uXv+LN0N1ve
DCOxohJuq3swn5L3Wm4u/CCpANu5T9iexxareBsekoEVO3+pEyeB6zMywQbmT82l
0lmY0Iu8FKRQe9se1d9ikTImp9ERz0BZlI3AjtGRaTSp/S/kYc37wXnjusFeDVQy
4EplWIa/RGqqgJZu4/UX3dLUpraSE1i+saU+MDtO0hyTnvQAF6/vg7kEn/T9Ytpe
"#,
    "4h4rF9UqolWpHUzTzafK3AoLri2_VLy60dP5hVHZ5V-0YzupuEt4iR2S710hI_rA9GTETOImraevTlKUyhgRmKMXXaqB\
     r-7jDcpxAdcIFChFfrY4JQTADfkDzqaSUNExQ0W0l70XHK38cPaslU8_WPrNHzwngKOPnaLI7pSzCaYnHCWaf7HLjELF\
     xhlwfxuliXruMfrClmXpCBPdq5Q90tes3XlgNdxJZMNHgawEW86zF1tVzq0LSdFOpX47yOHYojREQmmFvmq9-0z97LtR\
     cBJk7ou-e_RW6p5CrSSX4dlBqFhBA_LslyuBrzaAcrLhzGMZ4MZGTznHl_9ANkB5zQ3hKpy1nw-9m7pbblhbYQzYY3d9\
     Owe2Rc4C6maSfD7YeuqO9xzN3XC03DUCT0sbw0yGWCAurCt4578NOwHJY2oIvcyN5UOmO_Qjra4lzlt8c5CeghkfH9zZ\
     oS1B4jX-XXYf6eOzUatn",
    r#"-----BEGIN CERTIFICATE-----
RXx2nznYZEGZwOW9vPvIWzfOkcveH8Gw6mtE8TBDbdcp/mm9nozrpqB9HewlsbCH
7+JsB/8NIdfbCzN3dzilxnTTf/E26sE/VTIjpjhBRg07aqHmjWgnKPYQ+xx/2S1f
ougUeABxUt6oZR8/zll5YWjpM4uH/hoaRc/tklkj1D+Zc1sDINsuu6Kaezdslnxo
HSiMR7GCnC4hnJXqncwR3kWVBsTxKbJjXtLbKHaLDcNX0xHMSB5qEupChiMcaTCe
S14Rnn7A4HFmXG8geInaITBRdAC5GOv4qmEU37IzXAH77p41qzwKxhnGKTe/48r1
N/N/+1mRdSqAHVbfDLqeKl3nD0q6dEtQ8msj9ihp6jKWjAqKjlRJ4ERMhq2h2i+g
K25sNG3WgS6XzePwNFbz9xfpzbA7qmYyJsJw95aOEPcyQczkV+8aYvBtfUwcoIUF
ivF2XJFTN2qAGHwqkxuQ72S4TCX8LYlDAP+sEGlq9FSz3iVNhCVB0a9qZZqPWg2W
TbfdAJYTkphKGY2tq0MqtblogFbm2OYQJ2dZT2tO+FqaZorRJjpaTsUdEntIsg==
-----END CERTIFICATE-----
"#,
];

/// Blanks of every kind between a few words, as in tables, trees and badly kept files.
const BLANKS: [&str; 3] = [
    "a\n\n\n\nb\n\n\n\n\n\nc\t\t\td\t\te\n    f\n        g\n            h\n                i\n\n\
     \x20   j    k        l            m\n\n\n\n\n\n\n\nn\to\tp\tq\n\t\t\t\tr\n\t\ts\n\tt\n\
     \x20       u  v   w    x     y      z       0        1         2          3\n\n\n\n\n\
     end    of        text\t\t\t\n\n\nand    more\n        deep\n                    deeper\n\n\n    last  \n\n\n\n\
     first\tsecond\t\tthird\n  1\t  2\t\t  3\n  4\t  5\t\t  6\n",
    "name            size      changed\nreport.md       4182      yesterday\nnotes.txt       12        today\n\
     archive         -         -\n\n\nleft                    right\n     1                      2\n    10                     20\n\
     \x20  100                    200\n  1000                   2000\n\n\n\n                    centre\n\n\n\n\
     one\t\t\ttwo\t\t\tthree\nfour\t\t\tfive\t\t\tsix\n\n            done          \n\
     three  3    30\nfour   4    40\nfive   5    50\n\n\n",
    "first line\r\nsecond line\r\n\r\n    indented with spaces\r\n\tindented with a tab\r\n\t\ttwice\r\n\r\n\r\n\
     name:    value\r\nother:   value\r\nlast:    value\r\n\r\n  - one item\r\n  - another item\r\n      - a deeper item\r\n\
     \r\nkey\t=\t1\r\nlonger key\t=\t22\r\nlongest key of all\t=\t333\r\n\r\nThe end of the file follows.\r\n\r\n\
     \t- nested\r\n\t\t- more nested\r\n\t\t\t- most nested\r\n\r\n    done    \r\n\r\n\r\n",
];

#[test]
fn english_prose() {
    check("English prose", 8.0, &ENGLISH);
}

#[test]
fn handoff_reports() {
    check("handoff report", 8.0, &HANDOFFS);
}

#[test]
fn pretty_json() {
    check("pretty JSON", 8.0, &JSON_PRETTY);
}

#[test]
fn compact_json() {
    check("compact JSON", 8.0, &JSON_COMPACT);
}

#[test]
fn source_code() {
    check("source code", 10.0, &CODE);
}

#[test]
fn traces_and_logs() {
    check("traces and logs", 8.0, &TRACES);
}

#[test]
fn path_lists() {
    check("paths", 8.0, &PATHS);
}

#[test]
fn german() {
    check("German", 10.0, &GERMAN);
}

#[test]
fn french() {
    check("French", 10.0, &FRENCH);
}

#[test]
fn spanish() {
    check("Spanish", 10.0, &SPANISH);
}

#[test]
fn russian() {
    check("Russian", 10.0, &RUSSIAN);
}

#[test]
fn chinese() {
    check("Chinese", 10.0, &CHINESE);
}

#[test]
fn japanese() {
    check("Japanese", 10.0, &JAPANESE);
}

#[test]
fn emoji() {
    check("emoji", 8.0, &EMOJI);
}

#[test]
fn blanks() {
    check("blanks", 8.0, &BLANKS);
}

#[test]
fn hexadecimal() {
    check("hexadecimal", 8.0, &HEX);
}

#[test]
fn base64() {
    check("base64", 8.0, &BASE64);
}

fn all() -> impl Iterator<Item = &'static str> {
    let documents: [&[&str]; 17] = [
        &ENGLISH,
        &HANDOFFS,
        &JSON_PRETTY,
        &JSON_COMPACT,
        &CODE,
        &TRACES,
        &PATHS,
        &GERMAN,
        &FRENCH,
        &SPANISH,
        &RUSSIAN,
        &CHINESE,
        &JAPANESE,
        &EMOJI,
        &BLANKS,
        &HEX,
        &BASE64,
    ];
    documents.into_iter().flatten().copied()
}

#[test]
fn small_texts() {
    assert_eq!(estimate(""), 0);
    for one in ["a", " ", "\n", "the", "123", "{", "known", "\u{301}", "\u{fe0f}"] {
        assert_eq!(estimate(one), 1, "{one:?}");
    }
}

#[test]
fn a_whole_costs_at_least_its_parts() {
    let texts: Vec<_> = all().collect();
    for (nth, text) in texts.iter().enumerate() {
        let other = texts[(nth + 7) % texts.len()];
        let both = estimate(&format!("{text}{other}"));
        assert!(both >= estimate(text) && both >= estimate(other), "{text}{other}");
    }
}

#[test]
fn a_prefix_never_costs_more() {
    for text in all() {
        let mut last = 0;
        for (at, _) in text.char_indices().step_by(3) {
            let cost = estimate(&text[..at]);
            assert!(cost >= last, "{:?}", &text[..at]);
            last = cost;
        }
        assert!(estimate(text) >= last);
    }
}

#[test]
fn cutting_keeps_to_the_budget() {
    for text in all() {
        let whole = estimate(text);
        assert_eq!(truncate_to(text, whole), (text, false));
        assert_eq!(truncate_to(text, 0), ("", true));
        for budget in [1, 2, 10, whole / 2, whole - 1] {
            let (prefix, cut) = truncate_to(text, budget);
            assert!(cut && text.starts_with(prefix) && prefix.len() < text.len());
            assert!(estimate(prefix) <= budget, "{budget}: {prefix:?}");
            // Nothing much is given away for the sake of a whole word.
            let next = text[prefix.len()..].char_indices().nth(52).map(|(at, _)| prefix.len() + at);
            assert!(estimate(&text[..next.unwrap_or(text.len())]) > budget, "{budget}: {prefix:?}");
        }
    }
}

#[test]
fn cutting_prefers_the_end_of_a_word() {
    let text = "The reader trusts the header row and never compares it with the fields";
    let (prefix, cut) = truncate_to(text, 6);
    assert!(cut);
    assert!(text[prefix.len()..].starts_with(' '), "{prefix:?}");
    assert!(prefix.split(' ').count() >= 5, "{prefix:?}");
    assert_eq!(truncate_to("", 0), ("", false));
    assert_eq!(truncate_to("", 5), ("", false));
    // Without blanks there is nothing to prefer, and characters stay whole.
    let (prefix, cut) = truncate_to(CHINESE[0], 20);
    assert!(cut && prefix.chars().count() > 15);
}
