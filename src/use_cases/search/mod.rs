//! Searches records by words, best first, and by agent, session, time and attributes of handoffs; finds similar
//! sessions.

pub mod candidates;
pub mod filter;
pub mod like;
pub mod reports;
pub mod view;
pub mod why;

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;

use crate::context::claims::Standing;
use crate::context::claims::anchors::Anchors;
use crate::context::handoffs::{ListedHandoff, of_rows};
use crate::context::{CommandContext, claims, names};
use crate::fold::journal::answers;
use crate::fold::urgency::urgency;
use crate::index::{Index, SearchMatch, SearchQuery, WordSet, by_rare_words, searchable};
use crate::text::passage::{Passage, passage, places};
use crate::text::query;
use crate::text::query::{Query, Term, findable};
use crate::text::ranking::{FoundWords, RankedText, Ranking};
use crate::text::stem::Stems;
use crate::use_cases::meaning;
use crate::use_cases::meaning::fuse::fuse;
use crate::use_cases::meaning::team::{self, TeamHit};
use crate::use_cases::search::filter::{Filter, FilterInput};
use crate::use_cases::search::like::{LikeQuery, SimilarSession};
use empirica_notes::error::{Error, Kind, Result, empirica};
use empirica_notes::model::snapshot::{SearchResult, SemanticContext, Snapshot};
use empirica_notes::model::{Body, Id, Record, SessionId};

/// Most characters of a passage with matches.
const PASSAGE: usize = 200;
/// Kind listed first for a plan.
const FAILED: &str = "dead_end";
const HANDOFF: &str = "handoff";
/// Words of a query that FTS5 looks for.
const RAREST: usize = 32;
/// Records that are ranked, by FTS5 the best.
const CANDIDATES: usize = 60;
/// Records that a search by meaning alone counts.
const NEAREST: usize = 1000;
/// Most results of any search.
const MOST: usize = 1 << 30;
/// Records that a search adds to a snapshot.
const RELATED: usize = 5;

/// A search; agent and session come from the context.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// Words of the query, as compared.
    pub words: Vec<String>,
    /// Whether the query is a plan: what is urgent to know comes first.
    pub plan: bool,
    /// Kinds by `kind` key, in addition to those in the query; empty for all.
    pub kinds: Vec<&'static str>,
    /// Filters besides words.
    pub filter: FilterInput,
    /// Whether also claims that are not in force.
    pub all: bool,
    /// Whether to list handoffs if there are no words.
    pub handoffs: bool,
    /// Whether to find sessions similar to the text, handoff or session given as words.
    pub like: bool,
    /// Most results; 0 lists none.
    pub limit: usize,
    pub method: Method,
    /// Search by meaning in this repository of the team's Qdrant collection, in each of them for `all`.
    pub repository: Option<String>,
}

/// How records are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// By words, and by meaning if that is set up.
    #[default]
    Both,
    /// By words alone.
    Lexical,
    /// By meaning alone.
    Semantic,
}

/// A matching record.
#[derive(Debug, Clone)]
pub struct SearchHit {
    /// The record, with the commit it is attached to.
    pub record: Record,
    /// How well it answers, the greater the better; `None` without words.
    pub score: Option<f64>,
    pub passage: Passage,
    /// The answer to an unknown; `None` if it is open or of another kind.
    pub answer: Option<String>,
    /// Age in seconds, at least 0; `None` if its time is invalid.
    pub age: Option<u64>,
    /// What others say of it.
    pub standing: Standing,
}

#[derive(Debug)]
pub struct SearchOutcome {
    pub query: String,
    pub plan: bool,
    pub found: SearchResults,
    /// Number of matches, beyond the limit too.
    pub total_found: usize,
    pub warnings: Vec<String>,
}

#[derive(Debug)]
pub enum SearchResults {
    /// Records, best first.
    Hits {
        hits: Vec<SearchHit>,
        /// Whether none of them has all words.
        widened: bool,
        /// Whether some were found by meaning.
        by_meaning: bool,
    },
    /// Handoffs, newest first.
    Handoffs(Vec<ListedHandoff>),
    /// Similar sessions, most similar first.
    Similar(LikeQuery, Vec<SimilarSession>),
    /// Records of the team's repositories, nearest first.
    Team(Vec<TeamHit>),
}

/// Finds similar sessions; or handoffs, if there are no words and filters apply to handoffs only; otherwise records
/// in force with any of the words in any form, best first.
pub fn run(context: &CommandContext<'_>, request: &SearchRequest) -> Result<SearchOutcome> {
    let query = request.words.join(" ");
    let parsed = if request.like { Query::default() } else { query::parse(&query)? };
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    let (found, total_found) = if request.like {
        let (about, sessions, total) = like::run(context, &index, &query, request.limit)?;
        (SearchResults::Similar(about, sessions), total)
    } else {
        let filter = Filter::resolve(context, &request.filter)?;
        if filter.asks_handoffs() && request.kinds.iter().any(|kind| *kind != HANDOFF) {
            return Err(Error::usage(
                "cannot filter other records by task, type, files or self-assessment: only handoffs have them",
            )
            .reason("the filter names another kind")
            .suggest("Leave --kind out, or the filter that only handoffs have."));
        }
        if let Some(repository) = &request.repository {
            let resolved = resolve(context, parsed, request, &filter)?;
            let text = spoken(&resolved.words, true);
            let repository = Some(repository.as_str()).filter(|name| *name != "all");
            let hits = team::search(context, &text, repository, &resolved)?;
            let total = hits.len();
            (SearchResults::Team(hits), total)
        } else if query.trim().is_empty() && (request.handoffs || filter.asks_handoffs()) {
            let (rows, total) = filter.handoffs(context, &index, request.limit)?;
            (SearchResults::Handoffs(of_rows(&index, &rows)?), total)
        } else {
            let mut query = resolve(context, parsed, request, &filter)?;
            if filter.asks_handoffs() {
                query.kinds = vec![HANDOFF];
                let (rows, _) = filter.handoffs(context, &index, usize::MAX)?;
                query.among = Some(rows.iter().map(|row| row.r).collect());
            }
            let Ranked { words, found, widened, by_meaning } = ranked(context, &index, query, request, &mut warnings)?;
            let hits = hits(context, &index, &found, &words, request.plan)?;
            warnings.extend(index.doubts(&hits.iter().map(|hit| hit.record.envelope.id.clone()).collect())?);
            (SearchResults::Hits { hits, widened, by_meaning }, found.total)
        }
    };
    Ok(SearchOutcome { query, plan: request.plan, found, total_found, warnings })
}

/// The ranked records of a query.
struct Ranked {
    words: WordSet,
    found: SearchMatch,
    /// Whether none has all words.
    widened: bool,
    /// Whether some were found by meaning.
    by_meaning: bool,
}

/// Ranks records by words and by meaning. If the model fails, ranks by words alone, with one warning.
fn ranked(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    query: SearchQuery,
    request: &SearchRequest,
    warnings: &mut Vec<String>,
) -> Result<Ranked> {
    let is_semantic = request.method == Method::Semantic;
    let text = spoken(&query.words, is_semantic);
    let most = query.most;
    let wider = SearchQuery { most: most.max(if is_semantic { NEAREST } else { CANDIDATES }), ..query.clone() };
    let near = match request.method {
        Method::Lexical => None,
        _ if text.is_empty() => None,
        Method::Semantic => meaning::near_text(context, index, &text, &wider, true)?,
        Method::Both => near_or_warned(context, index, &text, &wider, warnings)?,
    };
    let Some(near) = near else {
        if is_semantic {
            return Err(nothing_to_compare(context, &text));
        }
        let Best { words, found, widened, .. } = best(index, query, request.plan)?;
        return Ok(Ranked { words, found, widened, by_meaning: false });
    };
    let by_words = match is_semantic {
        true => Best { words: query.words, found: SearchMatch::default(), words_found: Vec::new(), widened: false },
        false => best(index, wider, request.plan)?,
    };
    let widened = by_words.widened || (!is_semantic && by_words.found.total == 0);
    let matches = by_words.found.hits.iter().zip(&by_words.words_found);
    let whole: BTreeSet<Id> = matches.filter(|(_, found)| found.all).map(|((id, _), _)| id.clone()).collect();
    let weights: Vec<f64> = by_words.words_found.iter().map(weight).collect();
    let mut found = fused(by_words.found, &weights, &near, usize::MAX);
    // records with all the words come first
    for (id, score) in &mut found.hits {
        *score = score.map(|score| if whole.contains(id) { 1.0 + score } else { score });
    }
    found.hits.sort_by(|a, b| b.1.unwrap_or_default().total_cmp(&a.1.unwrap_or_default()));
    if request.plan {
        let records = index.ids(found.hits.iter().map(|(id, _)| id))?;
        found.hits.sort_by_key(|(id, _)| records.get(id).map(|found| urgency(&found.record.body)));
    }
    found.hits.truncate(most);
    Ok(Ranked { words: by_words.words, found, widened, by_meaning: !near.is_empty() })
}

/// Error of a search by meaning without text or model.
fn nothing_to_compare(context: &CommandContext<'_>, text: &str) -> Error {
    if !text.is_empty() && meaning::source::source(context).is_ok_and(|source| source.is_none()) {
        return meaning::source::not_configured();
    }
    let why = if text.is_empty() { "the query has no whole word" } else { "there are no records" };
    Error::refused(format!("cannot search by meaning: {why}")).suggest("Say in a few words what you look for.")
}

/// [`meaning::near_text`]; a failing model becomes a warning.
fn near_or_warned(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    text: &str,
    query: &SearchQuery,
    warnings: &mut Vec<String>,
) -> Result<Option<Vec<Id>>> {
    meaning::near_text(context, index, text, query, false).or_else(|error| match error.kind() {
        Kind::Refused => {
            warnings.push(format!("searched by words alone: {error}"));
            Ok(None)
        }
        _ => Err(error),
    })
}

/// The weight of a match by words beside one by meaning: a half for each word of the query, up to 2; docs/performance.md has the
/// measurements.
fn weight(found: &FoundWords) -> f64 {
    (found.count as f64 / 2.0).min(2.0)
}

/// The matches by words, each with its weight, and those by meaning: the best `most`.
fn fused(found: SearchMatch, weights: &[f64], near: &[Id], most: usize) -> SearchMatch {
    let by_words: Vec<(Id, f64)> = found.hits.into_iter().map(|(id, _)| id).zip(weights.iter().copied()).collect();
    let by_meaning: Vec<(Id, f64)> = near.iter().map(|id| (id.clone(), 1.0)).collect();
    let more = near.iter().filter(|id| !by_words.iter().any(|(other, _)| other == *id)).count();
    let hits = fuse([&by_words, &by_meaning]).into_iter().take(most);
    SearchMatch { hits: hits.map(|(id, score)| (id.clone(), Some(score))).collect(), total: found.total + more }
}

/// The words of a query as text. Empty for a query of beginnings alone, and, unless `is_semantic`, with a phrase: that must occur.
fn spoken(words: &WordSet, is_semantic: bool) -> String {
    if !is_semantic && !words.required.is_empty() {
        return String::new();
    }
    let terms = words.required.iter().chain(&words.any).filter(|term| !term.is_prefix);
    terms.map(|term| term.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// A query with names resolved.
fn resolve(
    context: &CommandContext<'_>,
    query: Query,
    request: &SearchRequest,
    filter: &Filter,
) -> Result<SearchQuery> {
    let wanted = &filter.wanted;
    let mut sessions: Vec<SessionId> = wanted.session.iter().cloned().collect();
    for name in &query.sessions {
        sessions.push(names::session(context, name)?.id);
    }
    let words = findable(query.wanted);
    let has_words = !words.is_empty();
    let query = SearchQuery {
        words: WordSet::of(words),
        without: findable(query.unwanted),
        kinds: [query.kinds, request.kinds.clone()].concat(),
        ais: query.ais.into_iter().chain(wanted.ai.clone()).collect(),
        sessions,
        since: wanted.since,
        until: wanted.until,
        all: request.all,
        ids: Vec::new(),
        among: None,
        most: request.limit.min(MOST),
    };
    let has_time = query.since.is_some() || query.until.is_some();
    let is_filtered = has_time
        || filter.asks_handoffs()
        || !(query.kinds.is_empty() && query.ais.is_empty() && query.sessions.is_empty());
    if !has_words && !is_filtered {
        let (what, why) = match request.words.concat().trim() {
            "" => ("cannot search: no words and no filter given", "it would list everything"),
            _ => (
                "cannot search: the query has no word to find",
                "signs are not searched, and an exclusion alone finds nothing",
            ),
        };
        return Err(Error::usage(what)
            .provided(request.words.join(" "))
            .reason(why)
            .suggest("Give a word or several; a filter alone, as kind:deadend, lists the newest of those.")
            .command(empirica("search").arg("flaky").arg("login"))
            .command(empirica("search").arg("kind:deadend")));
    }
    Ok(query)
}

/// The best matches, with dead ends first for a plan, and the total.
fn page(index: &Index<'_>, query: &SearchQuery, plan: bool) -> Result<SearchMatch> {
    let mut found = index.search(query)?;
    if plan && (query.kinds.is_empty() || query.kinds.contains(&FAILED)) {
        let failed = index.search(&SearchQuery { kinds: vec![FAILED], ..query.clone() })?.hits;
        found.hits.retain(|hit| !failed.iter().any(|(id, _)| *id == hit.0));
        found.hits.splice(0..0, failed);
        found.hits.truncate(query.most);
    }
    Ok(found)
}

/// The ranked records of a query by words.
struct Best {
    words: WordSet,
    found: SearchMatch,
    /// The words of the query in each match.
    words_found: Vec<FoundWords>,
    /// Whether none of the first matches has all words.
    widened: bool,
}

/// The records that answer the words best.
fn best(index: &Index<'_>, query: SearchQuery, plan: bool) -> Result<Best> {
    if query.words.is_empty() {
        let found = page(index, &query, plan)?;
        let words_found = vec![FoundWords { count: 2, all: true }; found.hits.len()];
        return Ok(Best { words: query.words, found, words_found, widened: false });
    }
    let mut words = query.words.clone();
    let mut failed = None;
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut having = |term: &Term| match known.get(&term.text) {
        Some(found) => *found,
        None => {
            let found = index.having(term).unwrap_or_else(|error| {
                failed = Some(error);
                0
            });
            known.insert(term.text.clone(), found);
            found
        }
    };
    // the rarest words of a long query find what all of them would
    let mut rarest: Vec<(usize, Term)> = words.sought().into_iter().map(|term| (having(&term), term)).collect();
    if rarest.len() > RAREST {
        rarest.retain(|(found, _)| *found > 0);
        rarest.sort();
        words.any = rarest.into_iter().take(RAREST).map(|(_, term)| term).collect();
    }
    let terms: Vec<Term> = query.words.required.iter().chain(&query.words.any).cloned().collect();
    let ranking = Ranking::new(&terms, index.searched()?, having);
    if let Some(error) = failed {
        return Err(error);
    }
    let most = if query.most == 0 { 0 } else { query.most.max(CANDIDATES) };
    let wider = SearchQuery { most, words, ..query.clone() };
    let mut found = page(index, &wider, plan)?;
    if found.total == 0 && !query.words.required.is_empty() {
        // nothing has the phrase: what has its words
        let any = query.words.required.into_iter().chain(query.words.any);
        let any = any.map(|term| Term { is_required: false, ..term }).collect();
        return best(index, SearchQuery { words: WordSet { required: Vec::new(), any }, ..query }, plan);
    }
    let records = index.ids(found.hits.iter().map(|(id, _)| id))?;
    let records: Vec<&Record> = found.hits.iter().filter_map(|(id, _)| Some(&records.get(id)?.record)).collect();
    let texts: Vec<RankedText> =
        records.iter().map(|record| ranking.read(&searchable::parts(&record.body).unwrap_or_default())).collect();
    let average = texts.iter().map(|text| text.count).sum::<usize>() as f64 / texts.len().max(1) as f64;
    let mut scores: BTreeMap<&Id, f64> =
        records.iter().zip(&texts).map(|(record, text)| (&record.envelope.id, ranking.score(text, average))).collect();
    // a handoff is never above a claim that it quotes
    for record in records.iter().filter(|record| record.body.quotes()) {
        let quoted = record.body.quoted_claims();
        let least = quoted.iter().filter_map(|id| scores.get(id)).copied().fold(f64::INFINITY, f64::min);
        if let Some(score) = scores.get_mut(&record.envelope.id).filter(|score| **score >= least) {
            *score = least.next_down();
        }
    }
    let urgency = |record: &Record| if plan { urgency(&record.body) } else { 0 };
    let mut ranked: Vec<(u8, f64, &Id)> =
        records.iter().map(|record| (urgency(record), scores[&record.envelope.id], &record.envelope.id)).collect();
    ranked.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(b.2.cmp(a.2)));
    ranked.truncate(query.most);
    let words_found: BTreeMap<&Id, FoundWords> =
        records.iter().zip(&texts).map(|(record, text)| (&record.envelope.id, ranking.found(text))).collect();
    let widened = !words_found.is_empty() && !words_found.values().any(|found| found.all);
    found.hits = ranked.iter().map(|(_, score, id)| ((*id).clone(), Some(*score))).collect();
    let words_found = ranked.iter().map(|(.., id)| words_found[*id]).collect();
    Ok(Best { words: query.words, found, words_found, widened })
}

/// What a search adds to a snapshot: the results of the query; for a blank one, records near in meaning to the session's topic, or with
/// its rarest words, except those that the snapshot quotes.
pub(crate) fn semantic(
    context: &CommandContext<'_>,
    snapshot: &Snapshot,
    query: &str,
    warnings: &mut Vec<String>,
) -> Result<SemanticContext> {
    let index = context.index()?;
    let request = SearchRequest { words: vec![query.to_owned()], limit: RELATED, ..SearchRequest::default() };
    let (query, words, found) = if query.trim().is_empty() {
        let (topic, quoted) = topic(snapshot);
        let most = RELATED + quoted.len();
        let (words, found) = by_rare_words(&index, &topic, &[], most)?;
        let near = near_or_warned(context, &index, &topic, &SearchQuery { most, ..Default::default() }, warnings)?;
        let mut found = match near {
            Some(near) => {
                let weights = vec![1.0; found.hits.len()];
                fused(found, &weights, &near, most)
            }
            None => found,
        };
        found.hits.retain(|(id, _)| !quoted.contains(&id));
        found.hits.truncate(RELATED);
        (topic, words, found)
    } else {
        let resolved = resolve(context, query::parse(query)?, &request, &Filter::default())?;
        let Ranked { words, found, .. } = ranked(context, &index, resolved, &request, warnings)?;
        (query.trim().to_owned(), words, found)
    };
    let hits = hits(context, &index, &found, &words, false)?;
    let first = hits.first().and_then(|hit| hit.score);
    let relevance = |hit: &SearchHit| match (hit.score, first) {
        // only as many digits as are significant; never 0 for a match
        (Some(score), Some(first)) => ((score / first * 10_000.0).round() / 10_000.0).max(0.0001),
        _ => 1.0,
    };
    let relevance_scores = hits.iter().map(relevance).collect();
    let related = |SearchHit { record: Record { envelope, body }, passage, .. }| SearchResult {
        id: envelope.id,
        kind: body.kind().to_owned(),
        ai_id: envelope.ai,
        timestamp: envelope.at,
        commit: envelope.commit,
        text: passage.text,
    };
    Ok(SemanticContext { query, results: hits.into_iter().map(related).collect(), relevance_scores })
}

/// The topic of a session as text, and the records it quotes.
fn topic(snapshot: &Snapshot) -> (String, Vec<&Id>) {
    let crumbs = &snapshot.breadcrumbs;
    let findings = crumbs.findings.recent.iter().map(|seen| (&seen.id, seen.finding.as_str()));
    let open = crumbs.unknowns.recent.iter().filter(|seen| !seen.is_resolved);
    let quoted: Vec<(&Id, &str)> = findings.chain(open.map(|seen| (&seen.id, seen.unknown.as_str()))).collect();
    let goal = snapshot.goals.current.as_ref().map(|goal| goal.objective.as_str());
    let texts = snapshot.session.task.as_deref().into_iter().chain(goal).chain(quoted.iter().map(|(_, text)| *text));
    (texts.collect::<Vec<_>>().join("\n"), quoted.into_iter().map(|(id, _)| id).collect())
}

/// The matching records, in order, with their passages; for a plan, the most urgent first.
fn hits(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    found: &SearchMatch,
    words: &WordSet,
    plan: bool,
) -> Result<Vec<SearchHit>> {
    let scores: BTreeMap<&Id, Option<f64>> = found.hits.iter().map(|(id, score)| (id, *score)).collect();
    let ids: Vec<Id> = found.hits.iter().map(|(id, _)| id.clone()).collect();
    let records = index.placed(&ids)?;
    let unknowns = records.iter().filter(|record| matches!(record.body, Body::Unknown(_))).map(|r| &r.envelope.id);
    let resolving = index.naming(unknowns, &["resolve"])?;
    let mut answers = answers(resolving.records());
    let texts: Vec<String> =
        records.iter().map(|r| searchable::parts(&r.body).unwrap_or_default().join(" · ")).collect();
    let (terms, stems) = (words.terms(), Stems::default());
    let now = context.store.now();
    let standings = claims::standings(context, &records, &mut Anchors::new(context))?;
    let hits = records.into_iter().zip(&texts).zip(standings).map(|((record, text), standing)| {
        let made = DateTime::parse_from_rfc3339(&record.envelope.at).ok();
        SearchHit {
            standing,
            score: scores.get(&record.envelope.id).copied().flatten(),
            passage: passage(text, &places(text, &terms, &stems), PASSAGE),
            answer: answers.remove(&record.envelope.id),
            age: made.map(|made| u64::try_from((now - made.to_utc()).num_seconds()).unwrap_or(0)),
            record,
        }
    });
    let mut hits: Vec<SearchHit> = hits.collect();
    // the sort is stable: what no longer holds comes last
    let urgency = |hit: &SearchHit| if plan { urgency(&hit.record.body) } else { 0 };
    hits.sort_by_key(|hit| (!hit.standing.is_sound(), urgency(hit)));
    Ok(hits)
}
