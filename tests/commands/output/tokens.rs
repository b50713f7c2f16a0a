//! The token estimate against the real tokenizer, by kind of document.

use std::path::Path;

use git_empirica::text::tokens::{estimate, truncate_to};
use serde_json::{Value, json};

use crate::mcp::server::Client;
use crate::support::harness::{Sandbox, each, tokens};

/// The kinds of documents under `tests/fixtures/tokens/`.
const KINDS: [&str; 17] = [
    "english",
    "handoffs",
    "json_pretty",
    "json_compact",
    "code",
    "traces",
    "paths",
    "german",
    "french",
    "spanish",
    "russian",
    "chinese",
    "japanese",
    "emoji",
    "hex",
    "base64",
    "blanks",
];

/// The documents of a kind, as they stand.
fn documents(kind: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokens");
    let read = |nth: usize| std::fs::read_to_string(folder.join(format!("{kind}-{nth}.txt"))).ok();
    (0..).map_while(read).collect()
}

/// Estimates against the tables.
#[cfg(feature = "exact-tokens")]
mod counted_by_the_tables {
    use super::{KINDS, documents, estimate, tokens};

    /// How far an estimate may lie below and above the count, in per cent.
    const BOUNDS: std::ops::RangeInclusive<f64> = -2.0..=10.0;

    fn check(kind: &str) {
        let texts = documents(kind);
        assert!(!texts.is_empty(), "{kind} has documents");
        let mut failures = Vec::new();
        for (nth, text) in texts.iter().enumerate() {
            let count = tokens(text);
            assert!((100..=1500).contains(&count), "{kind} {nth}: {count} tokens");
            let guess = estimate(text.as_str());
            let error = (guess as f64 / count as f64 - 1.0) * 100.0;
            if !BOUNDS.contains(&error) {
                failures.push(format!("{nth}: {count} tokens, estimated {guess}, {error:+.1} %"));
            }
        }
        assert!(failures.is_empty(), "{kind}: {failures:#?}");
    }

    /// A quarter of the length in bytes, the rule of thumb, is further off for every kind, and counts too little in what handoffs are.
    #[test]
    fn a_quarter_of_the_length_is_further_off() {
        for kind in KINDS {
            let texts = documents(kind);
            let errors = |guess: &dyn Fn(&str) -> usize| -> Vec<f64> {
                let error = |text: &String| guess(text) as f64 / tokens(text) as f64 - 1.0;
                texts.iter().map(error).collect()
            };
            let furthest = |errors: &[f64]| errors.iter().fold(0.0_f64, |most, error| most.max(error.abs()));
            let (estimates, quarters) = (errors(&estimate), errors(&|text| text.len() / 4));
            assert!(furthest(&estimates) < furthest(&quarters), "{kind}: {estimates:?} {quarters:?}");
            if ["handoffs", "json_compact", "json_pretty"].contains(&kind) {
                assert!(quarters.iter().all(|error| (-0.45..-0.10).contains(error)), "{kind}: {quarters:?}");
            }
        }
    }

    #[test]
    fn english_prose() {
        check("english");
    }

    #[test]
    fn handoff_reports() {
        check("handoffs");
    }

    #[test]
    fn pretty_json() {
        check("json_pretty");
    }

    #[test]
    fn compact_json() {
        check("json_compact");
    }

    #[test]
    fn source_code() {
        check("code");
    }

    #[test]
    fn traces_and_logs() {
        check("traces");
    }

    #[test]
    fn path_lists() {
        check("paths");
    }

    #[test]
    fn german() {
        check("german");
    }

    #[test]
    fn french() {
        check("french");
    }

    #[test]
    fn spanish() {
        check("spanish");
    }

    #[test]
    fn russian() {
        check("russian");
    }

    #[test]
    fn chinese() {
        check("chinese");
    }

    #[test]
    fn japanese() {
        check("japanese");
    }

    #[test]
    fn emoji() {
        check("emoji");
    }

    #[test]
    fn blanks() {
        check("blanks");
    }

    #[test]
    fn hexadecimal() {
        check("hex");
    }

    #[test]
    fn base64() {
        check("base64");
    }
}

/// Every document of every kind.
fn all() -> impl Iterator<Item = String> {
    KINDS.into_iter().flat_map(documents)
}

#[test]
fn small_texts() {
    assert_eq!(estimate(""), 0);
    for one in ["a", " ", "\n", "the", "123", "{", "known", "\u{301}", "\u{fe0f}"] {
        assert_eq!(estimate(one), 1, "{one:?}");
    }
}

#[test]
fn a_text_costs_at_least_as_much_as_its_parts() {
    let texts: Vec<_> = all().collect();
    for (nth, text) in texts.iter().enumerate() {
        let other = &texts[(nth + 7) % texts.len()];
        let both = estimate(&format!("{text}{other}"));
        assert!(both >= estimate(text) && both >= estimate(other), "{text}{other}");
    }
}

#[test]
fn a_prefix_never_costs_more() {
    for text in all() {
        let text = text.as_str();
        let mut last = 0;
        for (at, _) in text.char_indices().step_by(each(5)) {
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
        let text = text.as_str();
        let whole = estimate(text);
        assert_eq!(truncate_to(text, whole), (text, false));
        assert_eq!(truncate_to(text, 0), ("", true));
        for budget in [1, 2, 10, whole / 2, whole - 1] {
            let (prefix, cut) = truncate_to(text, budget);
            assert!(cut && text.starts_with(prefix) && prefix.len() < text.len());
            assert!(estimate(prefix) <= budget, "{budget}: {prefix:?}");
            // Nothing much is given away for the sake of a whole word.
            let next = text[prefix.len()..].char_indices().nth(132).map(|(at, _)| prefix.len() + at);
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
    let chinese = documents("chinese").remove(0);
    let (prefix, cut) = truncate_to(&chinese, 20);
    assert!(cut && prefix.chars().count() > 15);
}

/// The count is at least what the document takes, and within 15 % of it.
#[track_caller]
fn counted(document: &str) -> usize {
    let json: Value = serde_json::from_str(document).expect("one document");
    let real = tokens(document.trim_end());
    let count = json["token_count"].as_u64().expect("a count") as usize;
    assert!(count >= real && count * 100 <= real * 115, "token_count {count}, really {real}:\n{document}");
    real
}

#[test]
fn each_count_is_that_of_the_answer() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let session = repo.start("ada", "Mend the cache of the login");
    for n in 0..30 {
        repo.json(["finding", &format!("Finding {n}: the cache is filled before the clock is read")]);
        repo.json(["decision", &format!("Decision {n} of them all"), "--why", "it is one of many"]);
    }
    let all = "engagement=.5,know=.61,do=.52,context=.43,clarity=.54,coherence=.65,signal=.76,density=.37,state=.48,\
        change=.59,completion=.6,impact=.71,uncertainty=.42";
    repo.json(["preflight", "-v", all, "--reasoning", &"because of the clock ".repeat(100)]);
    let answers = |arguments: &[&str]| repo.run([arguments, &["--json"]].concat()).ok().out;
    for detail in ["summary", "detailed", "full"] {
        counted(&answers(&["handoff", "--type", "context", "--to", "bob", "--detail", detail]));
        counted(&answers(&["resume", "--detail", detail]));
    }
    counted(&answers(&["handoff"]));
    counted(&answers(&["checkpoint", "--trigger", "pre_compact"]));
    counted(&answers(&["checkpoint", "--trigger", "post_compact"]));
    let mut client = Client::new(&repo, &[]);
    let tokens_of = |document: &Value| counted(&document.to_string());
    let taken = client.ok(
        "create_git_checkpoint",
        json!({"session_id": session, "reasoning": "a long reason ".repeat(200), "metadata": {"note": "n".repeat(900)}}),
    );
    assert!(tokens_of(&taken) <= 450, "{taken}");
    assert_eq!(taken["vectors"].as_object().map(serde_json::Map::len), Some(13));
    let whole = client.ok("load_git_checkpoint", json!({"session_id": session}));
    assert_eq!(whole["checkpoint_id"], taken["checkpoint_id"]);
    assert!(whole["breadcrumbs"].is_object() && whole["metadata"]["note"].is_string(), "{whole}");
    tokens_of(&client.ok("generate_handoff_report", json!({"session_id": session, "next_steps": ["mend it"]})));
    tokens_of(&client.ok("resume_previous_session", json!({"detail_level": "detailed"})));
}
