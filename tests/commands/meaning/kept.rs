//! Vectors are derived: computed in the background, by an endpoint or a model in a folder, and gone with what they are of.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::commands::meaning::{MEANINGS, configure, endpoint, history, inputs, set_up, texts, vector};
use crate::support::harness::{Repo, Sandbox};
use crate::support::http::Reply;

/// Waits until something is so, which a process in the background brings about.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn vectors(repo: &Repo<'_>) -> PathBuf {
    repo.path.join(repo.git_out(["rev-parse", "--git-path", "empirica/vectors"]).trim())
}

/// The files of vectors, and whether nothing of them is in the notes or the work tree.
fn files(repo: &Repo<'_>) -> Vec<PathBuf> {
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
    let entries = std::fs::read_dir(vectors(repo)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Writes a static model that knows the words of [`MEANINGS`], each as often as `scale` says.
pub fn model(folder: &Path, scale: f32) {
    std::fs::create_dir_all(folder).expect("a folder");
    let words: Vec<&str> = MEANINGS.iter().flat_map(|meaning| meaning.iter().copied()).collect();
    let vocab: serde_json::Map<String, serde_json::Value> = ["[UNK]"]
        .into_iter()
        .chain(words.iter().copied())
        .enumerate()
        .map(|(at, word)| (word.to_owned(), json!(at)))
        .collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    });
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).expect("written");
    std::fs::write(folder.join("config.json"), r#"{"normalize": true}"#).expect("written");
    let mut numbers = vec![0.0; MEANINGS.len()];
    words.iter().for_each(|word| numbers.extend(vector(word).into_iter().map(|number| number * scale)));
    let bytes: Vec<u8> = numbers.iter().flat_map(|number: &f32| number.to_le_bytes()).collect();
    let shape = [numbers.len() / MEANINGS.len(), MEANINGS.len()];
    let header = json!({"embeddings": {"dtype": "F32", "shape": shape, "data_offsets": [0, bytes.len()]}}).to_string();
    let length = u64::try_from(header.len()).expect("short").to_le_bytes();
    std::fs::write(folder.join("model.safetensors"), [&length, header.as_bytes(), &bytes].concat()).expect("written");
}

#[test]
fn a_model_in_a_folder_needs_no_endpoint_and_no_command() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let folder = place.path().join("home").join("model");
    model(&folder, 1.0);
    repo.git(["config", "empirica.embed.model", folder.to_str().expect("text")]).ok();
    assert!(texts(&repo, &["database choice"]).is_empty(), "the first search begins it");
    wait_until("vectors", || {
        texts(&repo, &["database choice"]).first().is_some_and(|text| text == "Which DB is used?")
    });
    assert!(texts(&repo, &["xyzzy"]).is_empty(), "a text without a known word is near to nothing");
    repo.run(["embed", "--rebuild"]).ok();
    let before = files(&repo);
    // another model: its vectors replace the others
    std::thread::sleep(Duration::from_millis(20));
    model(&folder, 2.0);
    let anew = repo.json(["embed"]);
    assert_eq!((&anew["embedded"], &anew["url"], &anew["dimension"]), (&json!(7), &json!(null), &json!(8)), "{anew}");
    let after = files(&repo);
    assert!(after.len() == 1 && after != before, "{before:?} {after:?}");
    for broken in ["model.safetensors", "tokenizer.json", "config.json"] {
        model(&folder, 1.0);
        repo.run(["embed"]).ok();
        std::fs::write(folder.join(broken), "{").expect("written");
        let error = repo.fails(1, ["embed", "--rebuild"]);
        assert!(error.to_string().contains("has no usable model"), "{broken}: {error}");
        let shown = repo.run(["search", "axis"]).ok();
        assert!(shown.out.contains("The axis"), "{}", shown.out);
    }
    // weights with fewer rows than words
    model(&folder, 1.0);
    let tokenizer = std::fs::read_to_string(folder.join("tokenizer.json")).expect("a file");
    std::fs::write(folder.join("tokenizer.json"), tokenizer.replace("\"invoice\":", "\"more\":99,\"invoice\":"))
        .expect("written");
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("vectors for 100 words"), "{error}");
    assert_eq!(texts(&repo, &["more axis"])[0], "The axis of the plot begins at zero");
    std::fs::remove_dir_all(&folder).expect("removed");
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("it has no model.safetensors"), "{error}");
    repo.git(["config", "empirica.embed.model", "~/none"]).ok();
    let error = repo.fails(1, ["embed"]);
    assert!(!error.to_string().contains('~'), "the home is found: {error}");
}

#[test]
fn new_records_get_vectors_in_the_background_of_search_sync_and_collect() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    place.init("remote.git").git(["config", "receive.denyCurrentBranch", "ignore"]).ok();
    repo.git(["remote", "add", "origin", place.path().join("remote.git").to_str().expect("text")]).ok();
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let mut sent = Vec::new();
    let mut is_sent = |text: &str| {
        sent.extend(server.take().iter().flat_map(inputs));
        sent.iter().any(|one| one == text)
    };
    repo.json(["finding", "Chart one"]);
    assert!(!is_sent("Chart one"), "logging sends nothing");
    repo.json(["search", "axis"]);
    wait_until("after search", || is_sent("Chart one"));
    repo.json(["finding", "Chart two"]);
    repo.json(["sync"]);
    wait_until("after sync", || is_sent("Chart two"));
    repo.json(["finding", "Chart three"]);
    repo.json(["sync", "--dry-run"]);
    repo.json(["search", "--lexical", "axis"]);
    assert!(!is_sent("Chart three"), "neither a dry run nor a search by words sends anything");
    repo.json(["collect", "--all"]);
    wait_until("after collect", || is_sent("Chart three"));
    assert_eq!(files(&repo).len(), 1);
    // another model of the same endpoint, too
    repo.git(["config", "empirica.embed.model", "n"]).ok();
    let warned = repo.run(["search", "axis"]).ok();
    assert!(warned.err.contains("there are no vectors yet"), "{}", warned.err);
    wait_until("the other model", || {
        texts(&repo, &["database choice"]).first().is_some_and(|text| text == "Which DB is used?")
    });
    wait_until("its file alone", || files(&repo).len() == 1);
    // nothing is left that would be tried again with every search
    repo.json(["finding", "Chart four"]);
    let id = repo.json(["search", "--lexical", "kind:mistake"])["hits"][0]["id"].as_str().expect("an id").to_owned();
    repo.json(["retract", &id, "--why", "it was right"]);
    repo.json(["embed"]);
    server.take();
    let again = repo.json(["embed"]);
    assert_eq!((&again["embedded"], &again["total"]), (&json!(0), &json!(11)), "{again}");
    assert!(server.take().is_empty());
}

#[test]
fn a_slow_run_is_alone() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|asked| {
        (inputs(asked).len() > 1).then(|| Reply {
            delay: Duration::from_secs(3),
            ..Reply::json(200, &crate::commands::meaning::embedded(&inputs(asked)))
        })
    });
    configure(&repo, &server);
    let mut first = repo.program().arg("embed").spawn().expect("started");
    wait_until("the first one asks", || !server.take().is_empty());
    repo.git(["config", "empirica.lockTimeout", "10ms"]).ok();
    let second = repo.fails(1, ["embed"]);
    assert!(second.to_string().contains("another process is computing them"), "{second}");
    assert!(first.wait().expect("ended").success());
}

#[test]
fn a_redacted_text_leaves_no_vector() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let id = repo.json(["search", "kind:deadend"])["hits"][0]["id"].as_str().expect("an id").to_owned();
    let bytes = uuid::Uuid::parse_str(&id).expect("an id").into_bytes();
    let has_it = || {
        files(&repo).iter().any(|file| std::fs::read(file).expect("a file").windows(16).any(|window| window == bytes))
    };
    assert!(has_it());
    repo.json(["redact", &id, "--reason", "private", "--ai", "lead"]);
    assert!(!has_it());
    // and the others come back unasked, as before
    repo.json(["search", "axis"]);
    wait_until("vectors", || {
        texts(&repo, &["database choice"]).first().is_some_and(|text| text == "Which DB is used?")
    });
    assert!(!has_it());
}

#[test]
fn damaged_vectors_are_as_absent_and_computed_anew() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let file = files(&repo).remove(0);
    let whole = std::fs::read(&file).expect("a file");
    for damaged in [&b"junk"[..], b"", &whole[..whole.len() / 2]] {
        std::fs::write(&file, damaged).expect("written");
        assert_eq!(texts(&repo, &["axis"])[0], "The axis of the plot begins at zero");
        wait_until("vectors", || std::fs::read(&file).expect("a file").len() == whole.len());
        assert_eq!(texts(&repo, &["database choice"])[0], "Which DB is used?");
    }
    std::fs::remove_dir_all(vectors(&repo)).expect("removed");
    std::fs::write(vectors(&repo), "a file").expect("written");
    assert_eq!(texts(&repo, &["axis"]), ["The axis of the plot begins at zero"]);
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("cannot be read or written"), "{error}");
}
