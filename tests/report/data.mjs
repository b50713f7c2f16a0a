// Records of a project for `git empirica import --jsonl`, determined by the number of sessions.

const AGENTS = ["ada", "codex", "gemini-review", "bo", "night-shift"];
const FILES = ["src/track/route.rs", "src/track/cache.rs", "src/api/login.rs", "src/api/session.rs", "src/store/ledger.rs",
  "src/store/migrate.rs", "tests/replay.rs", "docs/protocol.md", "src/ui/board.ts", "deploy/compose.yaml"];
const TASKS = ["Make the login test reliable", "Find why parcels lose their last scan", "Move the ledger to batched writes",
  "Review the migration before it runs", "Cut the cold start of the tracker", "Write down the carrier protocol",
  "Replay a day of events without doubles", "Show late parcels first on the board"];
const FINDINGS = ["The session token is cached for 60 s, so a second login in the same minute fails", "cache.rs keys by user, not by nonce",
  "Carriers resend a scan when the answer takes longer than 2 s", "The ledger flushes on every append; batches of 64 are nine times faster",
  "migrate.rs takes the table lock before it has read the version", "Cold start spends 70 % of its time in building the route table",
  "The board sorts by text, so 10 comes before 9", "Replay is idempotent as soon as the scan id is the key",
  "Nothing but the tests uses the old protocol", "compose.yaml pins an image that is gone"];
const UNKNOWNS = ["Does the mobile client reuse nonces?", "How late may a scan be before the carrier gives up?", "Who else reads the ledger file?",
  "Is the route table the same in every region?", "What happens to a replay that is interrupted?"];
const DEAD_ENDS = [["Retrying the login", "the cache returns the same stale token"], ["A larger connection pool", "the lock is taken before the pool is asked"],
  ["Sorting in the database", "the order depends on the carrier's clock"]];
const DECISIONS = [["Key the cache by nonce", "tokens stay unique"], ["Batch by 64 or 20 ms", "latency stays below what a carrier notices"]];
const VECTORS = ["engagement", "know", "do", "context", "clarity", "coherence", "signal", "density", "state", "change", "completion", "impact", "uncertainty"];

/** Numbers that look random and are always the same. */
function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** What is said of vectors; `grown` from 0 (before the work) to 1 (after it). */
function vectors(random, grown, luck) {
  const value = name => {
    const less = name === "uncertainty" || name === "density";
    const from = less ? 0.75 : 0.35, to = less ? 0.25 : 0.85;
    const raw = from + (to - from) * grown * luck + (random() - 0.5) * 0.16;
    return Math.round(Math.min(1, Math.max(0, raw)) * 100) / 100;
  };
  return Object.fromEntries(VECTORS.map(name => [name, value(name)]));
}

/** The lines of `count` sessions. `commits` are real ones; `hostile` is said instead of what is harmless. */
export function lines(count, commits, { until, hostile = [] }) {
  const random = dice(count * 7919 + 13), out = [], handed = [], open = [];
  const hex = length => Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join("");
  const pick = list => list[Math.floor(random() * list.length)];
  const said = list => (hostile.length && random() < 0.5 ? pick(hostile) : pick(list));
  const span = 5.5 * 3600e3;
  let last = 0;
  for (let n = 0; n < count; n += 1) {
    let now = until - (count - n) * span + random() * 3600e3;
    const commit = commits[Math.min(commits.length - 1, Math.floor((n / count) * commits.length))];
    const session = `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
    const ai = hostile.length && n % 3 === 1 ? pick(hostile) : count < 10 ? AGENTS[n % 3] : pick(AGENTS);
    const say = (kind, body, minutes = 4) => {
      now = Math.floor(Math.max(now + minutes * 60e3 * (0.5 + random()), last + 1));
      last = now;
      const time = now.toString(16).padStart(12, "0");
      const id = `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
      const record = { v: 1, id, kind, session, ai, at: new Date(now).toISOString(), commit, tree: null, ...body };
      out.push(JSON.stringify({ commit, record }));
      return id;
    };
    const task = said(TASKS), luck = 0.55 + random() * 0.6;
    const from = handed.length && random() < 0.7 ? handed[Math.max(0, handed.length - 1 - Math.floor(random() * 3))] : null;
    say("session_start", { task, worktree: "main", place: hex(16), ...(from && { from: from.session, from_handoff: from.id }) });
    if (from && random() < 0.5) say("accept", { of: from.id, concerns: [from.session], understanding: task, decision: "CONTINUE" });
    say("assessment", { phase: "PREFLIGHT", round: 1, vectors: vectors(random, 0, luck), reasoning: "What the handoff says, and nothing seen yet." });
    const goal = say("goal", { text: said(TASKS), priority: pick(["high", "medium", "low"]) });
    const checks = Math.floor(random() * 4);
    for (let check = 1; check <= checks + 1; check += 1) {
      const files = [pick(FILES), pick(FILES)].map(file => (hostile.length && random() < 0.4 ? `src/${pick(hostile)}` : file));
      const edit = say("activity", { category: "edit", text: "changed", files }, 9);
      say("finding", { text: said(FINDINGS), impact: Math.round(random() * 100) / 100, ...(random() < 0.5 && { led_from: edit }) });
      if (random() < 0.45) open.push({ session, id: say("unknown", { text: said(UNKNOWNS) }) });
      if (random() < 0.25) { const [approach, why] = pick(DEAD_ENDS); say("dead_end", { approach: hostile.length ? pick(hostile) : approach, why }); }
      if (random() < 0.2) { const [text, why] = pick(DECISIONS); say("decision", { text, why }); }
      if (check <= checks) {
        say("assessment", { phase: "CHECK", round: check, vectors: vectors(random, check / (checks + 1), luck),
          ...(random() < 0.7 && { confidence: Math.round((0.45 + random() * 0.5) * 100) / 100 }) });
      }
    }
    if (open.length && random() < 0.6) { const asked = open.shift(); say("resolve", { of: asked.id, concerns: [asked.session], text: said(FINDINGS) }); }
    if (n === count - 1) continue; // the last one is still at work
    const reached = random() < luck - 0.25;
    say("evidence", { command: "cargo test", exit: reached ? 0 : 1, files: [pick(FILES)] }, 12);
    if (reached || random() < 0.3) say("goal_done", { of: goal, evidence: "the tests pass" });
    say("assessment", { phase: "POSTFLIGHT", round: 1, vectors: vectors(random, 1, luck) });
    if (random() < 0.85) handed.push({ session, id: say("handoff", { type: "epistemic", task, context: said(FINDINGS), artifacts: [pick(FILES)],
      started_at: new Date(now).toISOString(), duration_seconds: 900, session_status: "active" }) });
    say("session_end", {});
  }
  return out.join("\n") + "\n";
}
