//! Two agents in two clones hand over to each other: continue, ask, answer, rewrite, hand back only what is new.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{clones, hub, sync};

#[track_caller]
fn both_sync(repos: &[Repo<'_>]) {
    for at in [0, 1, 0] {
        sync(&repos[at]);
    }
}

#[track_caller]
fn id(json: &Value) -> String {
    json["handoff_id"].as_str().expect("an id").to_owned()
}

#[test]
fn two_agents_work_over_two_clones() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let (ada, bob) = (&repos[0], &repos[1]);
    let first_session = ada.start("ada", "Mend the cache");
    ada.json(["finding", "The cache holds stale tokens"]);
    ada.json(["unknown", "Which clock do the tests use?"]);
    let handoff = id(&ada.json(["handoff", "--to", "bob", "--task-id", "cache", "--next", "Replace the clock"]));
    ada.json(["session", "end"]);
    both_sync(&repos);

    // bob continues it: the task and the one before are known, and it is his
    let begun = bob.json(["session", "start", "--ai", "bob", "--from", &handoff]);
    let from = &begun["from"];
    assert_eq!((&begun["task"], &from["session_id"]), (&json!("Mend the cache"), &json!(first_session)), "{begun}");
    assert_eq!((&from["handoff_id"], &begun["total_waiting"]), (&json!(handoff), &json!(0)), "{begun}");
    let chain = bob.json(["task", "show", "cache"])["chain"][0].clone();
    assert_eq!(chain["owner"]["ai_id"], "bob", "{chain}");
    // he asks, and says what was missing
    let asked = ["--question", "May the clock be fixed?", "--gap", "The command of the tests"];
    bob.json([&["accept", &handoff, "--understanding", "Replace the clock"][..], &asked].concat());
    both_sync(&repos);

    // ada sees the question, answers it and rewrites the handoff
    let shown = ada.json(["show", &handoff]);
    let question = shown["questions"][0]["question_id"].as_str().expect("an id").to_owned();
    assert_eq!(shown["questions"][0]["question"], "May the clock be fixed?", "{shown}");
    ada.json(["answer", &question, "Yes, in tests", "--ai", "ada"]);
    let again = id(&ada.json(["handoff", "--regenerate", &handoff, "--next", "Run make test", "--ai", "ada"]));
    both_sync(&repos);

    // bob has the answer, in the new handoff alone
    let shown = bob.json(["show", &again]);
    let clarified = json!([{"question": "May the clock be fixed?", "asked_by": "bob", "answer": "Yes, in tests"}]);
    assert_eq!((&shown["clarifications"], &shown["regenerates"]), (&clarified, &json!(handoff)), "{shown}");
    assert_eq!(shown["missed"], json!([{"gap": "The command of the tests", "reported_by": "bob"}]));
    let listed = bob.json(["handoff", "list"]);
    assert_eq!((&listed["total_found"], &listed["handoffs"][0]["handoff_id"]), (&json!(1), &json!(again)), "{listed}");

    // he hands back twice; the second has only what is new
    bob.json(["finding", "A fixed clock ends the failures"]);
    let context = ["handoff", "--type", "context", "--to", "ada", "--task-id", "cache"];
    let back = id(&bob.json([&context[..], &["--next", "Review it"]].concat()));
    bob.json(["finding", "The suite takes a minute less"]);
    let more = id(&bob.json([&context[..], &["--incremental"]].concat()));
    both_sync(&repos);
    let shown = ada.json(["show", &more]);
    assert_eq!(
        (&shown["since"], &shown["key_findings"]),
        (&json!(back), &json!(["The suite takes a minute less"])),
        "{shown}"
    );
    let begun = ada.json(["session", "start", "--ai", "ada", "--from", &more]);
    assert_eq!(begun["task"], "Mend the cache", "{begun}");

    // both see one history
    both_sync(&repos);
    for repo in &repos {
        let since = |when: &str| repo.json(["search", "--type", "epistemic", "--since", when])["total_found"].clone();
        assert_eq!((since("2020-01-01"), since("2099-01-01")), (json!(1), json!(0)));
        repo.fsck();
    }
    assert_eq!(ada.json(["task", "show", "cache"])["chain"], bob.json(["task", "show", "cache"])["chain"]);
}
