//! Tests of the rules with a sample each, and of texts without secrets.

use crate::*;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Pseudo-random characters, generated here so that the source contains no token.
fn chars(count: usize, alphabet: &[u8]) -> String {
    let mut state = 0x9E37_79B9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(alphabet[(state >> 16) as usize % alphabet.len()])
    };
    (0..count).map(|_| next()).collect()
}

fn alnum(count: usize) -> String {
    chars(count, b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
}

fn hex(count: usize) -> String {
    chars(count, b"0123456789abcdef")
}

fn rules(text: &str) -> Vec<&'static str> {
    redact_text(text).map_or(Vec::new(), |(_, rules)| rules)
}

/// The preselection passes every text that a rule of `nosecrets-rules` matches, on samples generated from its pattern.
#[test]
fn every_rule_of_the_crate_is_reached() {
    assert!(LIBRARY.len() > 48);
    let mut runner = TestRunner::deterministic();
    for loaded in &*LIBRARY {
        let Loaded(rule, ..) = loaded;
        let printable = ("[^", r"[^\x00-\x1f\x7f-\u{10ffff}");
        let pattern = [(r"\b", ""), (r"\s", " "), (r"\w", "A-Za-z0-9_"), (".{", "[ -~]{"), printable]
            .iter()
            .fold(rule.pattern.clone(), |pattern, (from, to)| pattern.replace(from, to));
        let samples = proptest::string::string_regex(&pattern).unwrap();
        let regex = compile(&rule.pattern).unwrap();
        let mut seen = 0;
        for _ in 0..24 {
            let sample = samples.new_tree(&mut runner).unwrap().current();
            let sample = sample.replace('ſ', "s").replace('\u{212a}', "k"); // `(?i)` also matches these.
            let has_keyword = rule.keywords.iter().any(|word| sample.to_lowercase().contains(&word.to_lowercase()));
            let text = format!("{} {sample}\n", if has_keyword { "" } else { &rule.keywords[0] });
            let Some(found) = regex.captures(text.as_bytes()) else { continue };
            if loaded.accepts(std::str::from_utf8(&found[1]).unwrap()) {
                assert!(candidates(&text).1 && redact_text(&text).is_some(), "{}: {text}", rule.id);
                seen += 1;
            }
        }
        // The values of this rule are any characters, which seldom look random.
        assert!(seen > 2 || rule.id == "password-assignment", "{}: {seen}", rule.id);
    }
}

#[test]
fn one_sample_of_each_other_rule() {
    let samples = [
        ("jwt", ["eyJ", &alnum(20), ".eyJ", &alnum(40), ".", &alnum(43)].concat()),
        ("anthropic-api-key", ["sk-ant-api03-", &alnum(93), "AA"].concat()),
        ("openai-api-key", ["sk-proj-", &alnum(60)].concat()),
        ("openai-api-key", ["sk-", &alnum(48)].concat()),
        ("huggingface-token", ["hf_", &alnum(34)].concat()),
        ("github-token", ["ghr_", &alnum(36)].concat()),
        ("github-token", ["gho_", &alnum(76)].concat()),
        ("gitlab-token", ["glpat-", &alnum(27), ".01.1", &hex(8)].concat()),
        ("slack-token", ["xapp-1-A", &alnum(10), "-", &hex(30)].concat()),
        ("stripe-test-key", ["sk_test_", &alnum(24)].concat()),
        ("google-oauth", ["GOCSPX-", &alnum(28)].concat()),
        ("telegram-bot-token", ["123456789:AA", &alnum(33)].concat()),
        ("age-secret-key", ["AGE-SECRET-KEY-1", &alnum(58).to_uppercase()].concat()),
        ("azure-access-key", ["AccountKey=", &alnum(86), "=="].concat()),
        ("digitalocean-oauth", ["doo_v1_", &hex(64)].concat()),
        ("cargo-token", ["cio", &alnum(32)].concat()),
    ];
    for (rule, secret) in &samples {
        let kept = secret.strip_prefix("AccountKey=").map_or("", |_| "AccountKey=");
        let text = format!("Ünlike `{secret}`, this stays; 次の行\n");
        let clean = format!("Ünlike `{kept}[redacted:{rule}]`, this stays; 次の行\n");
        assert_eq!(redact_text(&text), Some((clean.clone(), vec![*rule])));
        assert_eq!(redact_text(&clean), None);
    }
    let named: Vec<_> = samples.iter().map(|(rule, _)| *rule).collect();
    let untested = EXTRA.iter().map(|rule| rule.0).filter(|rule| !named.contains(rule));
    assert_eq!(untested.collect::<Vec<_>>(), ["private-key", "url-password"]);
}

#[test]
fn private_keys_go_whole() {
    let body = format!("{}\n{}/{}\n{}==", alnum(64), alnum(30), alnum(33), alnum(20));
    for kind in ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "] {
        let [first, last] = ["BEGIN", "END"].map(|end| ["-----", end, " ", kind, "PRIVATE", " KEY-----"].concat());
        let key = format!("{first}\n{body}\n{last}");
        let clean = redact_text(&format!("a\n{key}\nb\n{key}\n")).unwrap().0;
        assert_eq!(clean, "a\n[redacted:private-key]\nb\n[redacted:private-key]\n");
        let cut = redact_text(&format!("a {}", &key[..100])).unwrap().0;
        assert_eq!(cut, "a [redacted:private-key]");
        assert_eq!(rules(&key.replace('\n', "\\n")), ["private-key"]);
    }
    for prose in
        ["It starts with -----BEGIN RSA PRIVATE@, and goes on.", "From -----BEGIN PRIVATE@ to -----END PRIVATE@."]
    {
        assert_eq!(rules(&prose.replace('@', " KEY-----")), [""; 0]);
    }
}

#[test]
fn assignments_and_urls() {
    let (long, chosen) = (alnum(24), ["S3cr3t", "!pw"].concat());
    for (text, clean) in [
        (format!("password = \"{chosen}\";"), "password = \"[redacted:assigned-secret]\";"),
        (format!("DB_PASSWORD={chosen} make"), "DB_PASSWORD=[redacted:assigned-secret] make"),
        (format!("{{\\\"passwd\\\": \\\"{chosen}\\\"}}"), "{\\\"passwd\\\": \\\"[redacted:assigned-secret]\\\"}"),
        (format!("auth_token: {long}."), "auth_token: [redacted:assigned-secret]."),
        (format!("?token={long}&page=2"), "?token=[redacted:assigned-secret]&page=2"),
        (format!("run --token {long}, then"), "run --token [redacted:assigned-secret], then"),
        (format!("Authorization: Bearer {long}"), "Authorization: Bearer [redacted:assigned-secret]"),
        (format!("aws_secret_access_key={}", alnum(40)), "aws_secret_access_key=[redacted:aws-secret-key]"),
        (format!("client_secret = {}", hex(64)), "client_secret = [redacted:assigned-secret]"),
        (format!("https://bob:{chosen}@host.org/x"), "https://bob:[redacted:url-password]@host.org/x"),
        (format!("postgres://bob:{chosen}@host/x"), "postgres://bob:[redacted:postgres-connection-uri]@host/x"),
    ] {
        let (seen, _) = redact_text(&text).unwrap_or_default();
        assert_eq!(seen, clean);
        assert_eq!(redact_text(&seen), None);
    }
}

#[test]
#[rustfmt::skip]
fn ordinary_texts_raise_no_alarm() {
    let (id, uuid) = (hex(40), "550e8400-e29b-41d4-a716-446655440000");
    for text in [
        "", "token_count = 400", "password: required", "fn token(&self) -> Option<&str>", "password: Argon2id",
        "let secret = secret_of(key2)?;", "api_key = OPENAI_API_KEY_V2", "password == input.password1",
        "The token is checked in src/auth/v2/middleware_token_store.rs, not by the secret store.",
        "password: string; // at least 12 characters", "secret: ${{ secrets.DEPLOY_KEY_2 }}", "token::Kind::Ident2",
        "git clone https://user:password@example.org/x", "ssh://git@github.com:22/a/b", "tokens: 128000",
        "http://localhost:8080/@scope/x",
        "task-skip-risk-2026-11-21T21:48:00Z", "next_token = parse_utf8_token(input)", "fn f(token: D3DVSD_TOKENTYPE)",
        "token = 0.1.2-alpha.3+build.20261121", "use secrecy::{ExposeSecret, SecretString};",
        "x.xTokenize = fts5V1toV2Tokenize;", "\"ARN\": \"arn:aws:secretsmanager:us-west-2:123456789012:secret:AppDatabase1-a1b2c3\"",
        "\"SecretArn\": \"arn:aws:secretsmanager:us-west-2:123456789012:secret:proxysecret1-Abcd1e\",",
        "[redacted:github-pat] secret: [redacted:jwt]", "redis://u:[redacted:redis-connection-uri]@host",
        &id, uuid, &format!("token = {uuid}"), &format!("the secret was added by {id}"), &format!("token: {id}"),
        &format!("render the account key of {uuid} at /home/u1/.cache/{id}/x"),
    ] {
        assert_eq!(redact_text(text), None, "{text}");
    }
}

#[test]
fn values_are_walked_and_long_texts_are_linear() {
    let secret = ["ghp_", &alnum(36)].concat();
    let text = format!("{secret}, {secret}");
    let mut value = serde_json::json!({"id": hex(40), "n": 1, "findings": [{}, [], {"text": text}], "s": ""});
    let one = Replaced { field: "findings.2.text".into(), rule: "github-pat" };
    assert_eq!(redact_value(&mut value), [one.clone(), one]);
    assert_eq!(value["findings"][2]["text"], "[redacted:github-pat], [redacted:github-pat]");
    assert_eq!(redact_value(&mut value), []);
    let mut bare = Value::String(secret);
    assert_eq!(redact_value(&mut bare)[0].field, "");
    let key = ["-----BEGIN PRIVATE", " KEY-----"].concat();
    for part in ["token=password=", "://:@", &key, "[redacted:", "src/v2/file.rs token ", "Ab3-", "_key", "arn:aws:"] {
        let started = std::time::Instant::now();
        redact_text(&part.repeat(200_000 / part.len()));
        assert!(started.elapsed().as_secs() < 5, "{part}");
    }
}

/// Tokens are found after an escape, an underscore or a letter; AWS keys also before text.
#[test]
fn a_token_that_is_glued_to_something_is_found() {
    let github = format!("gh{}_{}", "p", alnum(36));
    let aws = format!("AK{}{}", "IA", chars(16, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"));
    let slack = format!("xo{}-{}-{}", "xb", chars(12, b"0123456789"), alnum(24));
    for token in [&github, &aws, &slack] {
        for before in ["line\\n", "tab\\t", "a%20", "token%3D", "\\u003d", "\\x20", "GH_TOKEN_", "_", "x"] {
            let text = format!("{before}{token} after");
            let (clean, rules) = redact_text(&text).unwrap_or_else(|| panic!("{text}"));
            assert!(!clean.contains(token.as_str()) && !rules.is_empty(), "{text}: {clean}");
            assert!(clean.starts_with(before) && clean.ends_with(" after"), "{text}: {clean}");
            assert_eq!(redact_text(&clean), None, "{clean}");
        }
    }
    assert!(redact_text(&format!("{aws}_old")).is_some());
    assert!(redact_text(&format!("{aws}x")).is_some());
    let password = alnum(16);
    for text in [r"postgres:\/\/app:PASS@db.host\/prod", "&quot;password&quot;:&quot;PASS&quot;"] {
        let text = text.replace("PASS", &password);
        let (clean, _) = redact_text(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!clean.contains(&password), "{clean}");
    }
    for harmless in ["C:\\new\\table\\readme", "100%20done", "core_key-value_pairs", "a\\nb%3Dc\\u0026d"] {
        assert_eq!(redact_text(harmless), None, "{harmless}");
    }
}
