//! The formats of handoffs that have fields of their own: which each type has, in the order and by the names of the specifications
//! (dual-agent handoff mechanisms, "Data Transfer Format"; agent handoff service, "HandoffContext").

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// A text that is not blank.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number, this or more.
    Count(u64),
    /// A moment, RFC 3339.
    Time,
    /// Any number of the same, none as well.
    List(&'static Shape),
    /// These fields and no others.
    Fields(&'static [Field]),
}

/// Who gives a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// The sender must.
    Always,
    /// The sender can.
    Freely,
    /// The program does, where the sender has not.
    ByUs,
}

/// A field of a format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// Who gives it.
    pub given: Given,
    /// What it says, for people.
    pub about: &'static str,
    /// What it can say: of a list, one entry; empty for what has fields of its own.
    pub example: &'static str,
}

/// A type of managed handoff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Format {
    /// Its name, the value of `handoff_type`.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Its fields, in order, without `handoff_type`.
    pub fields: &'static [Field],
}

/// The key that names the format.
pub const TYPE: &str = "handoff_type";

/// The types, in the order of the specifications: those of a task, then the context of a session.
pub const FORMATS: [Format; 5] = [INITIALIZATION, PROGRESS, ERROR_RECOVERY, ESCALATION, CONTEXT];

/// The format of that name.
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

const fn always(name: &'static str, shape: Shape, about: &'static str, example: &'static str) -> Field {
    Field { name, shape, given: Given::Always, about, example }
}

const fn freely(name: &'static str, shape: Shape, about: &'static str, example: &'static str) -> Field {
    Field { name, shape, given: Given::Freely, about, example }
}

const fn by_us(name: &'static str, shape: Shape, about: &'static str, example: &'static str) -> Field {
    Field { name, shape, given: Given::ByUs, about, example }
}

const TEXTS: Shape = Shape::List(&Shape::Text);

const TIMESTAMP: Field =
    by_us("timestamp", Shape::Time, "When it was written; now, when it is not given", "2024-01-01T12:00:00Z");
const TASK_ID: Field = always("task_id", Shape::Text, "The task: handoffs of one task form a chain", "task_12345");
const ITERATION: Field = by_us(
    "iteration",
    Shape::Count(1),
    "Which round of the task this is; the one after the last, when it is not given",
    "1",
);

const INITIALIZATION: Format = Format {
    name: "initialization",
    about: "A request becomes instructions that a worker can act on",
    fields: &[
        TIMESTAMP,
        TASK_ID,
        always("instructions", Shape::Text, "What to do", "Add a login form to src/auth.js and test it"),
        freely(
            "context",
            Shape::Fields(&[
                freely("project_root", Shape::Text, "Where the project is", "."),
                freely("relevant_files", TEXTS, "The files to look at", "src/auth.js"),
                freely(
                    "patterns",
                    TEXTS,
                    "What the code does everywhere, to be followed",
                    "errors are returned, not thrown",
                ),
                freely("constraints", TEXTS, "What must not be done, and what limits the work", "no new dependency"),
            ]),
            "What the worker needs to know",
            "",
        ),
        freely("success_criteria", TEXTS, "How to see that it is done", "tests/auth.test.js passes"),
        freely("quality_gates", TEXTS, "What the work must satisfy besides", "npm run lint has no warning"),
    ],
};

const PROGRESS: Format = Format {
    name: "progress",
    about: "What a worker did, and how to go on",
    fields: &[
        TIMESTAMP,
        TASK_ID,
        ITERATION,
        always(
            "worker_report",
            Shape::Fields(&[
                always("status", Shape::Word(&["COMPLETED", "PARTIAL", "FAILED"]), "How far it came", "PARTIAL"),
                freely("accomplished", TEXTS, "What was done", "the form is there"),
                freely(
                    "files_modified",
                    Shape::List(&Shape::Fields(&[
                        always("path", Shape::Text, "The file, relative to the root of the repository", "src/auth.js"),
                        freely("description", Shape::Text, "What was changed in it", "the form and its check"),
                    ])),
                    "The files that were changed",
                    "",
                ),
                freely(
                    "tests",
                    Shape::Fields(&[
                        freely("added", Shape::Count(0), "How many were added", "5"),
                        freely("passing", Shape::Count(0), "How many pass", "5"),
                        freely("coverage", Shape::Text, "What they cover", "85%"),
                    ]),
                    "The tests",
                    "",
                ),
                freely("issues", TEXTS, "What went wrong or stays in the way", "the session cookie is not renewed"),
                freely("validation", TEXTS, "How it was verified", "npm test: 5 of 5 passed"),
            ]),
            "The worker's report",
            "",
        ),
        freely(
            "manager_decision",
            Shape::Word(&["COMPLETE", "CONTINUE", "ESCALATE", "REFINE"]),
            "What the manager decides",
            "CONTINUE",
        ),
        freely("continuation_instructions", Shape::Text, "What to do next", "Renew the cookie in src/session.js"),
        freely(
            "context_updates",
            Shape::Fields(&[
                freely(
                    "new_patterns",
                    TEXTS,
                    "Patterns that were established",
                    "forms check themselves before they send",
                ),
                freely(
                    "architecture_changes",
                    TEXTS,
                    "What changed in the structure",
                    "src/session.js has the cookies",
                ),
                freely("dependencies_added", TEXTS, "New dependencies", "cookie 0.6"),
            ]),
            "What changed for everybody",
            "",
        ),
    ],
};

const ERROR_RECOVERY: Format = Format {
    name: "error_recovery",
    about: "What a worker cannot get past, and how to try next",
    fields: &[
        TIMESTAMP,
        TASK_ID,
        ITERATION,
        always(
            "error_report",
            Shape::Fields(&[
                always(
                    "error_type",
                    Shape::Word(&["implementation", "configuration", "dependency", "integration"]),
                    "What kind of error it is",
                    "dependency",
                ),
                always("severity", Shape::Word(&["low", "medium", "high", "critical"]), "How bad it is", "medium"),
                always("description", Shape::Text, "What happens", "npm install fails on node 18"),
                freely("context", Shape::Text, "What was being attempted", "installing cookie 0.6"),
                freely("attempted_solutions", TEXTS, "What was tried", "npm install --legacy-peer-deps"),
                freely("error_messages", TEXTS, "What was printed", "EBADENGINE Unsupported engine"),
                freely("affected_files", TEXTS, "The files in question", "package.json"),
            ]),
            "The error",
            "",
        ),
        freely(
            "recovery_instructions",
            Shape::Fields(&[
                freely("strategy", Shape::Text, "How to go about it", "Use the version that node 18 has"),
                freely("steps", TEXTS, "What to do, in order", "Pin cookie to 0.5 in package.json"),
                freely("alternatives", TEXTS, "What else could help", "Move to node 20"),
                freely("success_indicators", TEXTS, "How to see that it is mended", "npm ci succeeds"),
                freely("escalation_trigger", Shape::Text, "When to give up", "npm ci still fails with 0.5"),
            ]),
            "How to recover",
            "",
        ),
        by_us("retry_count", Shape::Count(1), "Which attempt this is; counted, when it is not given", "1"),
        by_us("max_retries", Shape::Count(1), "How many attempts there may be; 3, when it is not given", "3"),
    ],
};

const ESCALATION: Format = Format {
    name: "escalation",
    about: "What needs a person",
    fields: &[
        TIMESTAMP,
        TASK_ID,
        always(
            "escalation_details",
            Shape::Fields(&[
                always(
                    "category",
                    Shape::Word(&["technical", "configuration", "architectural", "resource", "security"]),
                    "What it is about",
                    "configuration",
                ),
                always("severity", Shape::Word(&["medium", "high", "critical"]), "How bad it is", "high"),
                freely(
                    "urgency",
                    Shape::Word(&["low", "medium", "high", "immediate"]),
                    "How soon it is needed",
                    "high",
                ),
                freely(
                    "blocker_type",
                    Shape::Word(&["skill", "access", "design", "environment", "dependency"]),
                    "What is in the way",
                    "environment",
                ),
                always("description", Shape::Text, "What it is, for people", "The build machine has node 18 only"),
                freely("impact", Shape::Text, "What it costs", "The login cannot be released"),
                always(
                    "recommendation",
                    Shape::Text,
                    "What a person should do",
                    "Install node 20 on the build machine",
                ),
            ]),
            "What is the matter",
            "",
        ),
        by_us(
            "complete_history",
            Shape::List(&Shape::Fields(&[
                always("iteration", Shape::Count(1), "Which round", "1"),
                freely("manager_instructions", Shape::Text, "What was to be done", "Add a login form"),
                freely("worker_report", Shape::Text, "What was reported", "PARTIAL: the form is there"),
                freely("outcome", Shape::Text, "What was decided", "continue"),
            ])),
            "The rounds of the task so far; the program knows them",
            "",
        ),
        freely(
            "current_state",
            Shape::Fields(&[
                by_us(
                    "files_modified",
                    TEXTS,
                    "The files that the task changed; the program knows them",
                    "src/auth.js",
                ),
                freely("project_status", Shape::Text, "Where the project stands", "the form works, releasing fails"),
                freely("dependencies", Shape::Text, "What is installed", "cookie 0.6, not installed"),
                freely("configuration", Shape::Text, "How it is set up", "node 18 in .nvmrc"),
            ]),
            "Where things stand",
            "",
        ),
        freely(
            "resume_instructions",
            Shape::Text,
            "How to go on when it is resolved",
            "Run npm ci and finish the cookie",
        ),
    ],
};

const CONTEXT: Format = Format {
    name: "context",
    about: "What a session did and knows, for who continues it; everything that is not given is drawn from the session",
    fields: &[
        by_us("session_id", Shape::Text, "The session", "ecbf9e3e-147a-4872-ae57-4ef7d98ec028"),
        by_us("source_agent_type", Shape::Text, "What sort of agent worked", "claude-code"),
        by_us("source_agent_id", Shape::Text, "Which one", "ada"),
        by_us("target_agent_type", Shape::Text, "What sort of agent continues; as --to says", "codex"),
        by_us("target_agent_id", Shape::Text, "Which one; as --to says", "bob"),
        freely(
            "summary",
            Shape::Text,
            "What it was about, and where it stands",
            "The login form is there, its cookie is not",
        ),
        by_us(
            "tool_summaries",
            Shape::List(&Shape::Fields(&[
                always("category", Shape::Text, "The category of the tools", "shell"),
                always("count", Shape::Count(0), "How often they were used", "3"),
                freely("samples", TEXTS, "For what, three at most", "cargo test"),
            ])),
            "The tools that were used",
            "",
        ),
        by_us("files_modified", TEXTS, "The files that were changed", "src/auth.js"),
        by_us("pending_tasks", TEXTS, "What is left to do", "renew the cookie"),
        by_us("decisions", TEXTS, "What was decided", "cookies instead of tokens"),
        by_us(
            "recent_messages",
            Shape::List(&Shape::Fields(&[
                always("role", Shape::Text, "Who spoke: user or assistant", "user"),
                always("content", Shape::Text, "What was said", "Renew the cookie as well"),
                freely("timestamp", Shape::Time, "When", "2024-01-01T12:00:00Z"),
            ])),
            "The end of the conversation",
            "",
        ),
        by_us("created_at", Shape::Time, "When it was written", "2024-01-01T12:00:00Z"),
    ],
};
