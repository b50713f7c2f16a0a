//! The answer of `status --all`: the project within a budget of tokens.

use minijinja::context;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::render::answer::{Answer, keys};
use crate::render::budget::{self, BudgetList, Entries, Keep, LEAST, OutputForm, Shortening};
use crate::render::pairs::Pairs;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::tokens;
use crate::use_cases::session::project_overview::overview::{
    AgentWork, DatedClaim, HandoffLine, LearnedItem, OpenGoal, OpenQuestion, PastDecision, PastMistake, RecentSession,
};
use crate::use_cases::session::project_overview::sections::{
    self, EntryView, LongTermMemoryView, WorkingMemoryView, lists,
};
use crate::use_cases::session::project_overview::{Extent, ProjectOverviewOutcome};
use empirica_notes::error::{Command, Result, Shell, Text, blank, empirica, text};
use empirica_notes::model::SessionId;
use empirica_notes::model::journal::DeadEnd;

/// Tokens of the answer without `--budget`.
pub const BUDGET: u32 = 1000;

/// The message of an empty repository.
fn nothing() -> Text {
    text![
        "Nothing is stored here yet. The first record begins a session: ",
        empirica("finding").arg(blank("<what you learned>")),
        ". Others' records come with: ",
        empirica("sync")
    ]
}

/// The project within a budget.
#[derive(Debug)]
pub struct FittedProject {
    /// Markdown that ends with a line feed; empty in the form of JSON.
    pub text: String,
    /// The keys of the document except `ok`, `token_count` and warnings; none in the form of text.
    pub json: Map<String, Value>,
    /// The command that shows all of it.
    pub command: Command,
}

/// How much is stored.
#[derive(Serialize, JsonSchema)]
struct StoredCountsView {
    /// How many sessions.
    sessions: usize,
    /// How many of them have not ended.
    active_sessions: usize,
    /// How many agents began them.
    agents: usize,
}

/// The omissions to fit `--budget`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LeftOutOfProjectView")]
struct OmittedView<'a> {
    /// How many entries, by list; under `entries` those of all lists, where there is no room for that.
    #[serde(flatten)]
    counts: Pairs<&'static str, usize>,
    /// Whether entries are not whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shortened: bool,
    /// The command that shows all of it.
    #[schemars(with = "String")]
    command: &'a Command,
}

/// The project within `--budget` tokens (1,000; 100 or more). Warnings count; the document is larger only if they alone take more.
///
/// It has the last 250 claims of a kind, goals, questions, active sessions and agents, and all of the requesting session; records more
/// than a day ahead of the clock come last. `search` finds the others.
///
/// Every entry has `own`: whether the requesting session logged it (in `team`: whether it is that session's agent); these come first
/// in every list. In goals and in claims, texts that are the same but for case and outer white space are one
/// entry, the first; `count` says how many there are.
///
/// The answer is reduced in this order: first entries give up everything but their texts (`short_id`, the short form of the id,
/// instead of the ids; no `own_session_id`; `own` only where it is true), then long texts are cut with `…`, then entries go. Entries
/// stay in rounds, in each so many of a list: goals 3, unknowns 3, mistakes 2, team 3, findings 4, dead ends 2, working memory 4,
/// handoffs 2, long-term memory 3, decisions 1, active sessions 2; in a round the first of each list, in this order, before the
/// second of any. Goals, unknowns and mistakes of the first round stay longest.
#[derive(Serialize, JsonSchema)]
pub struct ProjectView<'a> {
    /// How much is stored.
    project: StoredCountsView,
    /// The requesting session; null if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_session_id: Option<Option<&'a SessionId>>,
    /// When nothing is stored: how to begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    message: Option<&'a Text>,
    /// Of the work at hand, from decisions and `finding --as`.
    #[serde(skip_serializing_if = "Option::is_none")]
    working_memory: Option<WorkingMemoryView>,
    /// Of the project, from `finding --as`.
    #[serde(skip_serializing_if = "Option::is_none")]
    long_term_memory: Option<LongTermMemoryView>,
    /// Sessions that have not ended, last seen first.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_sessions: Option<Entries<EntryView<RecentSession>>>,
    /// The agents, each by its newest session, active ones first, then last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<Entries<EntryView<AgentWork>>>,
    /// Open goals of all sessions, by priority, those of active sessions first, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    goals: Option<Entries<EntryView<OpenGoal>>>,
    /// Open questions, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknowns: Option<Entries<EntryView<DatedClaim<OpenQuestion>>>>,
    /// Findings, by importance, then newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Entries<EntryView<DatedClaim<LearnedItem>>>>,
    /// Dead ends, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_ends: Option<Entries<EntryView<DatedClaim<DeadEnd>>>>,
    /// Mistakes, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    mistakes: Option<Entries<EntryView<DatedClaim<PastMistake>>>>,
    /// Decisions, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<Entries<EntryView<DatedClaim<PastDecision>>>>,
    /// The last handoff in force of each agent, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    handoffs: Option<Entries<EntryView<HandoffLine>>>,
    /// How many entries were left out, by list; under `entries` those of all lists, where there is no room for more. Absent if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<OmittedView<'a>>,
}

/// Fits the project into a budget and answers: for text the text, for JSON the whole document.
pub fn answer(
    outcome: &ProjectOverviewOutcome,
    budget: usize,
    form: OutputForm,
    terminal: &mut Templates,
) -> Result<Answer> {
    let document = |json: Map<String, Value>| Answer::new(json).warn(outcome.warnings.clone()).counted();
    let frame = match form {
        OutputForm::Text => safe::FENCE,
        OutputForm::Json => cost(&safe::json(&document(Map::new()).document(&Shell).into())),
    };
    // short texts can take a little more than estimated
    let room = (budget - budget / 25 - 2).saturating_sub(frame);
    let fitted = within(outcome, room, frame, form, terminal)?;
    let answer = document(fitted.json).text(fitted.text);
    let answer = if outcome.overview.sessions > 0 { answer.quoting() } else { answer };
    Ok(answer.remedy("/message", nothing()).remedy("/omitted/command", fitted.command))
}

/// Fits the project into a budget, as a part of another answer. What has no room at all is absent; below about 60 tokens
/// that can be everything except the counts.
pub fn fitted(
    outcome: &ProjectOverviewOutcome,
    budget: usize,
    form: OutputForm,
    terminal: &mut Templates,
) -> Result<FittedProject> {
    within(outcome, budget.saturating_sub(budget / 25 + 2), 0, form, terminal)
}

/// The tokens of a text. The estimate can be a tenth too low for other scripts than Latin ones.
pub(crate) fn cost(text: &str) -> usize {
    tokens::estimate(text) + text.chars().filter(|c| *c as u32 >= 0x370).count() / 10
}

/// A whole answer's budget for `spent` tokens beside `frame` tokens, in round numbers.
fn enough(spent: usize, frame: usize) -> usize {
    let least = (spent + frame + 40) * 25 / 24 + 1;
    least.next_multiple_of(100)
}

/// How `omitted` counts the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OmissionDetail {
    Lists,
    Sum,
}

/// The same in every attempt to fit.
struct Project<'o> {
    outcome: &'o ProjectOverviewOutcome,
    form: OutputForm,
    /// The command that shows all of it.
    command: Command,
}

fn within(
    outcome: &ProjectOverviewOutcome,
    room: usize,
    frame: usize,
    form: OutputForm,
    terminal: &mut Templates,
) -> Result<FittedProject> {
    let mut project = Project { outcome, form, command: empirica("status") };
    let all = lists(&outcome.overview, &outcome.memory, form);
    let whole = project.assembled(&all, Shortening::Nothing, false, OmissionDetail::Lists, terminal)?;
    let spent = project.measured(&whole);
    if spent <= room {
        return Ok(whole);
    }
    // the command shows it alone
    let alone = if form == OutputForm::Text { safe::FENCE } else { frame };
    project.command = command(outcome, enough(spent, alone), form);
    let all = budget::truncated(&all, room / LEAST);
    let longest = (room / 24).max(32);
    let tight = Shortening::Musts(16, 12);
    let by_list = [
        (Shortening::Brief, Keep::All),
        (Shortening::Texts(longest), Keep::All),
        (Shortening::Texts(longest), Keep::Musts),
        (Shortening::Musts(longest, 24), Keep::Musts),
        (Shortening::Musts(24, 16), Keep::Musts),
        (tight, Keep::OnlyMusts(3)),
    ];
    // one more entry matters more than a count for each list
    let in_all = [(tight, Keep::OnlyMusts(1)), (Shortening::Musts(10, 8), Keep::OnlyMusts(1))];
    for (steps, detail) in [(&by_list[..], OmissionDetail::Lists), (&in_all[..], OmissionDetail::Sum)] {
        let shown = budget::fit(&all, form, steps, |lists, how, less| {
            let shown = project.assembled(&lists, how, less, detail, terminal)?;
            Ok((project.measured(&shown) <= room).then_some(shown))
        })?;
        if let Some(shown) = shown {
            return Ok(shown);
        }
    }
    project.assembled(&budget::truncated(&all, 0), tight, false, OmissionDetail::Sum, terminal)
}

/// Tokens that an entry hardly ever exceeds, and the entries of an extent that leaves out sessions.
const ENTRY: usize = 80;
const SESSIONS: usize = 20;

/// The command that shows all of the project.
pub fn command_for_all(outcome: &ProjectOverviewOutcome, terminal: &mut Templates) -> Result<Command> {
    let form = OutputForm::Text;
    let whole = within(outcome, usize::MAX, 0, form, terminal)?;
    let unread: usize = outcome.overview.unread.values().map(|count| (*count).min(Extent::WHOLE.claims)).sum();
    let more = if unread > 0 { (unread + SESSIONS) * ENTRY } else { 0 };
    Ok(command(outcome, enough(cost(&whole.text) + more, safe::FENCE), form))
}

/// The command that shows the project within `budget` tokens, for the same session.
fn command(outcome: &ProjectOverviewOutcome, budget: usize, form: OutputForm) -> Command {
    let own = outcome.overview.own.as_ref().filter(|_| outcome.named);
    let command = empirica("status").option("--budget", budget.to_string());
    let command = own.into_iter().fold(command, |command, (id, _)| command.option("--session", id.short()));
    if form == OutputForm::Json { command.flag("--json") } else { command }
}

impl Project<'_> {
    fn measured(&self, fitted: &FittedProject) -> usize {
        match self.form {
            OutputForm::Text => cost(&fitted.text),
            OutputForm::Json => cost(&safe::json(&Value::Object(fitted.json.clone()))),
        }
    }

    fn assembled(
        &self,
        lists: &[BudgetList],
        how: Shortening,
        shortened: bool,
        detail: OmissionDetail,
        terminal: &mut Templates,
    ) -> Result<FittedProject> {
        let overview = &self.outcome.overview;
        let message = (overview.sessions == 0).then(nothing);
        let (counts, omitted_text) = self.omitted(lists, shortened, detail);
        if self.form == OutputForm::Text {
            let text = self.text(lists, message.as_ref(), &omitted_text, detail, terminal)?;
            return Ok(FittedProject { text, json: Map::new(), command: self.command.clone() });
        }
        // an empty list says that there is nothing; one that is left out is counted by `omitted`
        let is_shown =
            |list: &&BudgetList| !list.entries.is_empty() || (list.omitted == 0 && detail == OmissionDetail::Lists);
        let list = |key: &str| lists.iter().find(|list| list.key == key).filter(is_shown);
        let json = keys(ProjectView {
            project: StoredCountsView {
                sessions: overview.sessions,
                active_sessions: overview.active,
                agents: overview.agents,
            },
            own_session_id: (how == Shortening::Nothing).then(|| overview.own.as_ref().map(|(id, _)| id)),
            message: message.as_ref(),
            working_memory: list("working_memory").map(Into::into),
            long_term_memory: list("long_term_memory").map(Into::into),
            active_sessions: list("active_sessions").map(Into::into),
            team: list("team").map(Into::into),
            goals: list("goals").map(Into::into),
            unknowns: list("unknowns").map(Into::into),
            findings: list("findings").map(Into::into),
            dead_ends: list("dead_ends").map(Into::into),
            mistakes: list("mistakes").map(Into::into),
            decisions: list("decisions").map(Into::into),
            handoffs: list("handoffs").map(Into::into),
            omitted: counts.map(|counts| OmittedView { counts, shortened, command: &self.command }),
        });
        Ok(FittedProject { text: String::new(), json, command: self.command.clone() })
    }

    /// The omitted entries, counted for JSON and in words; `None` and empty if the project is whole.
    fn omitted(
        &self,
        lists: &[BudgetList],
        shortened: bool,
        detail: OmissionDetail,
    ) -> (Option<Pairs<&'static str, usize>>, String) {
        let omitted = lists.iter().filter(|list| list.omitted > 0);
        let (counts, left) = match detail {
            OmissionDetail::Lists => {
                let mut left = budget::omitted_texts(lists);
                left.extend(shortened.then(|| "the rest of shortened texts".to_owned()));
                (omitted.map(|list| (list.key, list.omitted)).collect(), left)
            }
            OmissionDetail::Sum => {
                let sum: usize = omitted.map(|list| list.omitted).sum();
                (vec![("entries", sum)], vec![if sum == 1 { "1 entry".to_owned() } else { format!("{sum} entries") }])
            }
        };
        if left.is_empty() {
            return (None, String::new());
        }
        (Some(Pairs(counts)), format!("Left out: {}. All of it: {}", left.join(", "), self.command))
    }

    fn text(
        &self,
        lists: &[BudgetList],
        message: Option<&Text>,
        omitted_text: &str,
        detail: OmissionDetail,
        terminal: &mut Templates,
    ) -> Result<String> {
        let overview = &self.outcome.overview;
        let counts = [
            format::count(overview.agents, "agent"),
            format::count(overview.sessions, "session"),
            format!("{} active", overview.active),
        ];
        let own = overview.own.as_ref().filter(|_| detail == OmissionDetail::Lists);
        let view = context! {
            counts => counts.join(", "),
            own => own.map(|(id, ai)| context! { short => id.short(), ai => sections::name(ai) }),
            message => message.map(ToString::to_string),
            lists => budget::texts(lists),
            omitted_text,
        };
        Ok(terminal.render("bootstrap.md", view)?.trim_end().to_owned() + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::use_cases::session::project_overview::overview::Overview;
    use empirica_notes::model::Id;

    fn outcome(mistakes: u64) -> ProjectOverviewOutcome {
        let mistake = |n: u64| DatedClaim {
            id: Id::at(1_700_000_000_000 + n),
            ai_id: "ada".to_owned(),
            session_id: None,
            timestamp: "2026-03-01T12:00:00.000Z".to_owned(),
            count: 1,
            until: None,
            ran_out: false,
            anchors: Vec::new(),
            confirmed: None,
            disagrees_with: Vec::new(),
            signed_by: None,
            body: PastMistake { text: format!("Forgot the index of table {n}"), prevention: None },
            own: false,
        };
        let mistakes = (0..mistakes).map(mistake).collect();
        let overview = Overview { sessions: 1, agents: 1, mistakes, ..Default::default() };
        ProjectOverviewOutcome {
            overview,
            memory: Default::default(),
            named: false,
            warnings: vec!["a warning that is the other answer's affair".to_owned()],
        }
    }

    #[test]
    fn a_part_of_another_answer_keeps_to_its_own_budget_in_both_forms() {
        let mut terminal = Templates::built_in();
        for mistakes in [0, 3, 200] {
            let outcome = outcome(mistakes);
            for budget in [80, 200, 800] {
                let text = fitted(&outcome, budget, OutputForm::Text, &mut terminal).unwrap().text;
                assert!(
                    text.starts_with("# Project: 1 agent, 1 session, 0 active\n") && text.ends_with('\n'),
                    "{text}"
                );
                assert!(tokens::estimate(&text) <= budget, "{budget}: {text}");
                let shown = text.matches("Forgot the index").count() as u64;
                assert!(shown == mistakes || (shown > 0 && text.contains("Left out: ")), "{budget}: {text}");
                let json = Value::Object(fitted(&outcome, budget, OutputForm::Json, &mut terminal).unwrap().json);
                assert!(tokens::estimate(&json.to_string()) <= budget, "{budget}: {json}");
                assert!(json["ok"].is_null() && json["warnings"].is_null() && json["token_count"].is_null(), "{json}");
                let shown = json["mistakes"].as_array().map_or(0, |list| list.len() as u64);
                let left = json["omitted"]["mistakes"].as_u64().or(json["omitted"]["entries"].as_u64()).unwrap_or(0);
                assert_eq!(shown + left, mistakes, "{budget}: {json}");
            }
        }
    }

    #[test]
    fn without_any_room_the_counts_and_the_command_are_left() {
        let mut terminal = Templates::built_in();
        let text = fitted(&outcome(200), 0, OutputForm::Text, &mut terminal).unwrap().text;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "# Project: 1 agent, 1 session, 0 active");
        assert!(lines[2].starts_with("Left out: 200 entries. All of it: git empirica status --budget "), "{text}");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn a_budget_that_is_enough_is_a_round_number_above_what_is_spent() {
        for (spent, frame) in [(0, 0), (1000, 20), (12_345, 30)] {
            let budget = enough(spent, frame);
            let room = budget - budget / 25 - 2 - frame;
            assert!(
                budget.is_multiple_of(100) && room >= spent + 20 && budget < (spent + frame) * 11 / 10 + 200,
                "{budget}"
            );
        }
    }
}
