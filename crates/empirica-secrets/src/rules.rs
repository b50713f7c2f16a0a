//! Formats that `nosecrets-rules` lacks.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// A rule: name, prefixes, and a pattern whose first group, if any, is the secret.
pub(crate) struct Extra(
    pub(crate) &'static str,
    pub(crate) Prefixes,
    pub(crate) &'static str,
    pub(crate) OnceLock<Option<Regex>>,
);

const fn extra(name: &'static str, prefixes: Prefixes, pattern: &'static str) -> Extra {
    Extra(name, prefixes, pattern, OnceLock::new())
}

/// Formats as their issuers publish them, also in lengths that `nosecrets-rules` lacks.
#[rustfmt::skip]
pub(crate) static EXTRA: [Extra; 16] = [
    extra("private-key", &[], r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)"),
    extra("url-password", &[], r#"://[^\s/?#:@"'<>]*:([^\s/?#@"'<>\[\]]+)@"#),
    extra("jwt", &[("eyJ", 20)], r"\beyJ[\w-]{10,}\.[\w-]{4,}(?:\.[\w-]{4,}){1,3}"),
    extra("anthropic-api-key", &[("sk-ant-", 20)], r"\bsk-ant-[\w-]{20,}"),
    extra("openai-api-key", &[("sk-", 22)], r"\bsk-(?:(?:proj|svcacct|admin|or)-[\w-]{20,}|[A-Za-z0-9]{32,})"),
    extra("huggingface-token", &[("hf_", 30)], r"\bhf_[A-Za-z0-9]{30,}"),
    extra("github-token", &[("gho_", 36), ("ghp_", 36), ("ghr_", 36), ("ghs_", 36), ("ghu_", 36)], r"\bgh[oprsu]_\w{36,}"),
    extra("gitlab-token", &[("gl", 22)], r"\bgl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas)-[\w-]{20,}(?:\.[a-z0-9]{2,9}){0,2}"),
    extra("slack-token", &[("xox", 11), ("xapp-", 10)], r"\b(?:xox[abeoprs]|xapp)[.-][A-Za-z.-]{0,12}[0-9][A-Za-z0-9.-]{8,}[A-Za-z0-9]"),
    extra("stripe-test-key", &[("sk_test_", 24), ("rk_test_", 24)], r"\b[rs]k_test_[A-Za-z0-9]{24,}"),
    extra("google-oauth", &[("GOCSPX-", 28), ("ya29.", 30)], r"\b(?:GOCSPX-[\w-]{28}|ya29\.[\w.-]{30,})"),
    extra("telegram-bot-token", &[(":AA", 33)], r"\b[0-9]{8,10}:AA[\w-]{33}\b"),
    extra("age-secret-key", &[("AGE-SECRET-KEY-1", 58)], r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    extra("azure-access-key", &[("AccountKey=", 40), ("SharedAccessKey=", 40)], r"\b(?:Account|SharedAccess)Key=([A-Za-z0-9+/=]{40,})"),
    extra("digitalocean-oauth", &[("doo_v1_", 64), ("dor_v1_", 64)], r"\bdo[or]_v1_[a-f0-9]{64}"),
    extra("cargo-token", &[("cio", 32)], r"\bcio[A-Za-z0-9]{32}\b"),
];

/// The prefixes of rules of `nosecrets-rules` with a fixed format.
#[rustfmt::skip]
pub(crate) const FORMATS: Prefixes = &[
    ("AKIA", 16), ("ABIA", 16), ("ACCA", 16), ("ASIA", 16), ("AIza", 35), ("dop_v1_", 64), ("v1.0-", 100), ("ghp_", 36),
    ("github_pat_", 36), ("gho_", 36), ("ghu_", 36), ("ghs_", 36), ("glpat-", 20), ("npm_", 36), ("pypi-", 50),
    ("xox", 40), ("hooks.slack.com/", 40), ("discord", 60), ("SG.", 40), ("SK", 32), ("key-", 32), ("-us", 1),
    ("fo1_", 43), ("fm1", 100), ("fm2_", 100), ("HRKU-AA", 58), ("sk_live_", 24), ("rk_live_", 24), ("whsec_", 32),
    ("sq0", 24),
];

/// Compiles for bytes, at a fraction of what Unicode classes cost.
pub(crate) fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

/// Literals that begin every match, each with the least number of characters that follow in the same word.
pub(crate) type Prefixes = &'static [(&'static str, usize)];
