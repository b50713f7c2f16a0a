//! What an endpoint is sent, and what happens when it fails.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::commands::meaning::kept::wait_until;
use crate::commands::meaning::{configure, embedded, endpoint, history, inputs, set_up, texts, vector};
use crate::support::harness::{Repo, RunOutput, Sandbox};
use crate::support::http::{Reply, Request, Server};

/// A repository with vectors, and its endpoint, whose answer `reply` replaces while it has one.
fn switched<'p>(place: &'p Sandbox, reply: &'static Mutex<Option<Reply>>) -> (Repo<'p>, Server) {
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| reply.lock().expect("no panic").clone());
    set_up(&repo, &server);
    (repo, server)
}

/// A search by words that meaning cannot help: what it finds, and the one warning.
#[track_caller]
fn by_words_alone(repo: &Repo<'_>, cause: &str) {
    let shown = repo.run(["search", "axis"]).ok();
    assert!(shown.out.contains("The axis of the plot"), "{}", shown.out);
    let warnings: Vec<&str> = shown.err.lines().filter(|line| line.starts_with("warning:")).collect();
    let [warning] = &warnings[..] else { panic!("one warning: {}", shown.err) };
    assert!(warning.contains("searched by words alone") && warning.contains(cause), "{warning}");
    let json = repo.json(["search", "axis"]);
    assert_eq!((&json["total_found"], json["warnings"].as_array().map(Vec::len)), (&json!(1), Some(1)), "{json}");
    repo.fails(1, ["search", "--semantic", "axis"]);
}

#[test]
fn requests_have_the_form_of_the_api() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    for n in 0..150 {
        repo.json(["finding", &format!("Chart {n}")]);
    }
    let server = endpoint(|_| None);
    configure(&repo, &server);
    let shown = repo.run_with_env(&[("EMPIRICA_EMBED_KEY", "abc-123")], ["embed"]).ok();
    let told =
        format!("Sending the texts of 157 records, and from now on of new ones and of queries, to {}/v1", server.url());
    assert!(shown.err.contains(&told), "what leaves the machine is said: {}", shown.err);
    assert_eq!(shown.out, "157 vectors computed, 157 in all, of 8 numbers\n");
    let asked = server.take();
    assert_eq!(asked.iter().map(|one| inputs(one).len()).collect::<Vec<_>>(), [64, 64, 29]);
    for one in &asked {
        assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/v1/embeddings"));
        assert_eq!(one.headers["content-type"], "application/json");
        assert_eq!(one.headers["authorization"], "Bearer abc-123");
        assert_eq!((&one.body["model"], &one.body["encoding_format"]), (&json!("m"), &json!("float")));
    }
    let again = repo.run(["embed"]).ok();
    assert_eq!((again.out.as_str(), again.err.as_str()), ("0 vectors computed, 157 in all, of 8 numbers\n", ""));
    assert!(server.take().is_empty(), "only what is missing is sent");
    let rebuilt = repo.json(["embed", "--rebuild"]);
    assert_eq!((&rebuilt["embedded"], &rebuilt["total"], &rebuilt["dimension"]), (&json!(157), &json!(157), &json!(8)));
    assert!(server.take().iter().all(|one| !one.headers.contains_key("authorization")));
}

/// The arguments of all processes, as every user of the machine can read them.
fn arguments_of_all() -> String {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .map(|words| String::from_utf8_lossy(&words).replace('\0', " "))
        .collect()
}

#[test]
fn curl_sends_what_is_meant_whatever_its_surroundings() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    // larger than a pipe, an argument, and a line of curl's configuration may be
    for n in 0..40 {
        let long = format!("{n} {}", "zebrafinch \"login\" \\ ".repeat(180));
        repo.run_with_input(["finding", "-"], long.as_bytes()).ok();
    }
    static SEEN: Mutex<String> = Mutex::new(String::new());
    let server = endpoint(|_| {
        SEEN.lock().expect("no panic").push_str(&arguments_of_all());
        None
    });
    configure(&repo, &server);
    let home = place.path().join("home");
    std::fs::write(home.join(".curlrc"), "location\nverbose\nproxy = 127.0.0.1:9\noutput = /dev/null\n")
        .expect("a file");
    let key = r#"a"b\c {d} [e]"#;
    let surroundings =
        [("EMPIRICA_EMBED_KEY", key), ("http_proxy", "http://127.0.0.1:9"), ("ALL_PROXY", "http://127.0.0.1:9")];
    let shown = repo.run_with_env(&surroundings, ["embed"]).ok();
    assert!(shown.out.contains("vectors computed"), "{}", shown.out);
    let asked = server.take();
    assert!(asked.iter().all(|one| one.headers["authorization"] == format!("Bearer {key}")), "{asked:?}");
    let longest = asked.iter().map(|one| one.body.to_string().len()).max();
    assert!(longest.is_some_and(|longest| longest > 120_000), "{longest:?}");
    let seen = SEEN.lock().expect("no panic");
    assert!(seen.contains("curl --disable") && !seen.contains("a\"b") && !seen.contains("zebrafinch"), "{seen}");
    drop(seen);

    repo.git(["config", "empirica.embed.url", "http://127.0.0.1/v1 x"]).ok();
    assert!(repo.fails(1, ["embed", "--rebuild"]).to_string().contains("is not a URL"));
    configure(&repo, &server);
    let error =
        repo.program().args(["embed", "--rebuild"]).env("EMPIRICA_EMBED_KEY", "a\nb").output().expect("it starts");
    assert!(RunOutput::new(error).code(1).err.contains("the key has characters that no header can have"));
}

#[test]
fn without_curl_the_words_remain() {
    let place = Sandbox::new();
    static NOTHING: Mutex<Option<Reply>> = Mutex::new(None);
    let (repo, _server) = switched(&place, &NOTHING);
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in ["git", "sh"] {
        let program = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
        std::os::unix::fs::symlink(program.expect("a program"), bin.join(name)).expect("a link");
    }
    let shown = repo.run_with_env(&[("PATH", bin.to_str().expect("UTF-8"))], ["search", "axis"]).ok();
    assert!(shown.out.contains("The axis of the plot"), "{}", shown.out);
    assert!(shown.err.contains("curl is not installed"), "{}", shown.err);
}

#[test]
fn the_key_is_that_of_gits_credential_helper() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    configure(&repo, &server);
    let helper = "!f() { test \"$1\" = get && cat >/dev/null && echo username=k && echo password=from-helper; }; f";
    repo.git(["config", "credential.helper", helper]).ok();
    repo.run(["embed"]).ok();
    assert_eq!(server.take()[0].headers["authorization"], "Bearer from-helper");
    repo.git(["config", "empirica.embed.url", &server.url().replace("//", "//user:pass@")]).ok();
    let error = repo.fails(1, ["embed"]);
    let text = error.to_string();
    assert!(text.contains("credential helper") && !text.contains("user:pass"), "{text}");
}

#[test]
fn no_secret_leaves_the_machine() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    repo.json(["finding", &format!("The database took {token} as its token"), "--allow-secret"]);
    let server = endpoint(|_| None);
    configure(&repo, &server);
    repo.run(["embed"]).ok();
    repo.run(["search", &format!("which database takes {token}")]).ok();
    let asked = server.take();
    assert!(asked.iter().flat_map(inputs).any(|text| text.contains("The database took")));
    assert!(asked.iter().any(|one| inputs(one).len() == 1), "the query was asked");
    assert!(!asked.iter().any(|one| one.body.to_string().contains(&token)), "{asked:?}");
}

#[test]
fn nothing_is_sent_before_it_is_asked_for() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    configure(&repo, &server);
    assert_eq!(texts(&repo, &["axis"]), ["The axis of the plot begins at zero"]);
    let error = repo.fails(1, ["search", "--semantic", "axis"]);
    assert!(error.to_string().contains("git empirica embed"), "{error}");
    repo.json(["assess-state", "--semantic-search"]);
    repo.fails(1, ["embed", "--unasked"]);
    assert!(server.take().is_empty());
    let shown = repo.run(["search", "axis"]).ok();
    assert!(shown.err.contains("there are no vectors yet"), "{}", shown.err);
    // in a repository without records, too, it is said once
    let empty = place.repo("empty");
    configure(&empty, &server);
    assert!(empty.run(["embed"]).ok().err.contains("Sending the texts of 0 records, and from now on of new ones"));
    empty.start("ada", "t");
    empty.json(["finding", "Chart one"]);
    empty.json(["search", "axis"]);
    wait_until("the vector", || server.take().iter().flat_map(inputs).any(|text| text == "Chart one"));
}

#[test]
fn a_slow_credential_helper_takes_no_longer_than_an_endpoint_may() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    repo.git(["config", "credential.helper", "!sleep 600"]).ok();
    // it is left after the time that a search has, and the endpoint needs no key
    assert_eq!(texts(&repo, &["axis"])[0], "The axis of the plot begins at zero");
}

#[test]
fn a_text_that_the_model_refuses_holds_up_no_other() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let is_refused = |asked: &Request| inputs(asked).iter().any(|text| text.contains("Rounded"));
    let server = endpoint(move |asked| {
        is_refused(asked).then(|| Reply::json(400, &json!({"error": {"message": "content filtered"}})))
    });
    configure(&repo, &server);
    assert_eq!(repo.json(["embed"])["total"], 7);
    server.take();
    assert_eq!(repo.json(["embed"])["embedded"], 0);
    assert!(server.take().is_empty(), "it is not sent again");
    assert_eq!(texts(&repo, &["database choice"])[0], "Which DB is used?");
    // a model that refuses everything is wrong
    let server = endpoint(|_| Some(Reply::json(400, &json!({"error": {"message": "no such model"}}))));
    configure(&repo, &server);
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("no such model"), "{error}");
}

#[test]
fn a_failed_rebuild_leaves_the_vectors() {
    let place = Sandbox::new();
    static REPLY: Mutex<Option<Reply>> = Mutex::new(None);
    let (repo, _server) = switched(&place, &REPLY);
    *REPLY.lock().expect("no panic") = Some(Reply::json(401, &json!({})));
    repo.fails(1, ["embed", "--rebuild"]);
    *REPLY.lock().expect("no panic") = None;
    assert_eq!(texts(&repo, &["database choice"])[0], "Which DB is used?");
    assert_eq!(repo.json(["embed"])["embedded"], 0);
}

#[test]
fn a_failing_endpoint_leaves_the_words_with_one_warning() {
    let place = Sandbox::new();
    static REPLY: Mutex<Option<Reply>> = Mutex::new(None);
    let (repo, server) = switched(&place, &REPLY);
    let error = |status: u16, words: &str| {
        Reply::json(status, &json!({"error": {"message": words, "type": "x", "code": null}}))
    };
    let embedding = |numbers: &[f64]| json!({"data": [{"index": 0, "embedding": numbers}]});
    let away =
        Reply { status: 307, headers: vec![("location", format!("{}/other", server.url()))], ..Reply::default() };
    let cases: Vec<(Reply, &str)> = vec![
        (error(401, "Incorrect API key provided: abc"), "401: Incorrect API key provided"),
        (error(404, "The model `m` does not exist"), "404: The model `m` does not exist"),
        (Reply::json(404, &json!({"error": "model \"m\" not found, try pulling it first"})), "try pulling it first"),
        (error(429, "Rate limit reached"), "429"),
        (error(503, "Loading model"), "503"),
        (Reply { status: 502, body: "<html>Bad Gateway</html>".to_owned(), ..Reply::default() }, "502"),
        (Reply { status: 200, body: "{\"data\": [".to_owned(), ..Reply::default() }, "cannot be used"),
        (Reply::json(200, &json!({"data": []})), "other vectors than were asked for"),
        (Reply::json(200, &embedding(&[])), "other vectors than were asked for"),
        (Reply::json(200, &json!({"data": [{"index": 7, "embedding": [1.0]}]})), "other vectors than were asked for"),
        (Reply::json(200, &embedding(&[1.0, 2.0, 3.0])), "the vectors of the model have 3 numbers, the stored ones 8"),
        (away, "307"),
        (Reply { status: 200, body: " ".repeat(17 << 20), ..Reply::default() }, "more than 16 MB"),
        (Reply { delay: Duration::from_secs(600), ..Reply::json(200, &embedding(&[1.0])) }, "it took too long"),
    ];
    for (reply, cause) in cases {
        *REPLY.lock().expect("no panic") = Some(reply);
        by_words_alone(&repo, cause);
    }
    assert!(server.take().iter().all(|one| one.path == "/v1/embeddings"), "a redirection is not followed");
    *REPLY.lock().expect("no panic") = None;
    assert_eq!(texts(&repo, &["database choice"])[0], "Which DB is used?", "and then it is there again");
    repo.git(["config", "empirica.embed.url", "http://127.0.0.1:9/v1"]).ok();
    repo.git(["config", "empirica.embed.model", ""]).ok();
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("empirica.embed.model is not set"), "{error}");
}

#[test]
fn nobody_listens() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = endpoint(|_| None);
    set_up(&repo, &server);
    let folder = repo.git_out(["rev-parse", "--git-path", "empirica/vectors"]);
    let kept = std::fs::read_dir(repo.path.join(folder.trim()))
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("a file")
        .path();
    repo.git(["config", "empirica.embed.url", "http://127.0.0.1:9/v1"]).ok();
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    let other = kept.parent().expect("a folder").read_dir().expect("a folder").count();
    assert!(other >= 1 && kept.exists(), "the vectors of the other model stay until there are new ones");
    for url in ["ftp://x/v1", "localhost:11434", "http:///v1", "/v1", "http://127.0.0.1/v1?api_key=x"] {
        repo.git(["config", "empirica.embed.url", url]).ok();
        let error = repo.fails(1, ["embed"]);
        assert!(error["error"].as_str().is_some_and(|text| text.contains("URL")), "{url}: {error}");
    }
}

#[test]
fn a_busy_endpoint_is_asked_again_and_an_interrupted_run_goes_on() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    for n in 0..140 {
        repo.json(["finding", &format!("Chart {n}")]);
    }
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let server = endpoint(|_| match ASKED.fetch_add(1, Ordering::SeqCst) {
        0 => Some(Reply { headers: vec![("retry-after", "0".to_owned())], ..Reply::json(429, &json!({})) }),
        1 | 3 => None,
        2 => Some(Reply::json(401, &json!({"error": {"message": "expired"}}))),
        _ => None,
    });
    configure(&repo, &server);
    let error = repo.fails(1, ["embed"]);
    assert!(error.to_string().contains("401: expired"), "{error}");
    assert_eq!(server.take().len(), 3, "busy, one batch, refused");
    let goes_on = repo.json(["embed"]);
    assert_eq!((&goes_on["embedded"], &goes_on["total"]), (&json!(76), &json!(140)), "{goes_on}");
}

#[test]
fn what_is_too_long_is_sent_in_parts() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["finding", &format!("Login {}", "word ".repeat(5000))]);
    for n in 0..6 {
        repo.json(["finding", &format!("Chart {n}")]);
    }
    // as llama.cpp does: at most so many tokens at once
    let server = endpoint(|asked| {
        let most = inputs(asked).iter().map(String::len).sum::<usize>();
        let words = "input is too large to process. increase the physical batch size";
        (most > 1200)
            .then(|| Reply::json(500, &json!({"error": {"code": 500, "message": words, "type": "server_error"}})))
    });
    configure(&repo, &server);
    let outcome = repo.json(["embed"]);
    assert_eq!(outcome["total"], 7, "{outcome}");
    assert_eq!(texts(&repo, &["--semantic", "auth", "--limit", "1"])[0].split(' ').next(), Some("Login"));
}

#[test]
fn vectors_in_any_order_are_those_of_their_texts() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let server = Server::new(|asked| {
        let texts = inputs(asked);
        let mut answer = embedded(&texts);
        answer["data"].as_array_mut().expect("a list").reverse();
        Reply::json(200, &answer)
    });
    set_up(&repo, &server);
    assert_eq!(texts(&repo, &["--semantic", "database choice", "--limit", "1"]), ["Which DB is used?"]);
    // and without an index, in order
    let server = Server::new(|asked| {
        let data: Vec<Value> = inputs(asked).iter().map(|text| json!({"embedding": vector(text)})).collect();
        Reply::json(200, &json!({"data": data}))
    });
    set_up(&repo, &server);
    assert_eq!(texts(&repo, &["--semantic", "database choice", "--limit", "1"]), ["Which DB is used?"]);
}

#[test]
fn vectors_of_another_length_replace_all_when_one_is_missing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    static LONGER: AtomicUsize = AtomicUsize::new(0);
    let server = Server::new(|asked| {
        let more = vec![0.1; LONGER.load(Ordering::SeqCst)];
        let data: Vec<Value> = inputs(asked)
            .iter()
            .map(|text| {
                let vector = [vector(text), more.clone()].concat();
                json!({ "embedding": vector })
            })
            .collect();
        Reply::json(200, &json!({ "data": data }))
    });
    set_up(&repo, &server);
    LONGER.store(3, Ordering::SeqCst);
    assert_eq!(repo.json(["embed"])["dimension"], 8, "nothing is missing");
    repo.json(["finding", "Chart one"]);
    let changed = repo.json(["embed"]);
    assert_eq!((&changed["embedded"], &changed["total"], &changed["dimension"]), (&json!(8), &json!(8), &json!(11)));
    assert_eq!(texts(&repo, &["database choice"])[0], "Which DB is used?");
}

#[test]
fn a_terminal_shows_progress() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    for n in 0..130 {
        repo.json(["finding", &format!("Chart {n}")]);
    }
    let delay = Duration::from_millis(200);
    let server = endpoint(move |asked| Some(Reply { delay, ..Reply::json(200, &embedded(&inputs(asked))) }));
    configure(&repo, &server);
    let mut command = place.command("script", &repo.path);
    command.args(["-qec", "git empirica embed", "/dev/null"]).env("TERM", "xterm");
    let shown = RunOutput::new(command.output().expect("started")).ok();
    assert!(shown.out.contains("computing vectors [") && shown.out.contains("128/130"), "{:?}", shown.out);
}
