//! Tokens that their issuers mark by a prefix, and secrets that the words around them give away.
//!
//! What follows a prefix must look drawn by lot; so names that begin alike are none. The other patterns are compiled
//! only when a text holds one of the literals that each of them needs.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;

use super::text::{Starts, entropy, is_chosen, is_object_id, is_placeholder, is_word, may_start, starts};

/// A token's rule, its prefix, how many characters follow at least, and which others than letters, digits, `_` and `-`
/// may be among them.
type Token = (&'static str, &'static str, usize, &'static [u8]);

/// By the first letter of the prefix.
#[rustfmt::skip]
const TOKENS: &[Token] = &[
    ("twitter-bearer-token", "AAAAAAAAAAAAAAAAAAAA", 60, b"%"), ("aws-bedrock-key", "ABSK", 90, b"+/="), ("artifactory-token", "AKCp", 60, b""),
    ("tencent-key-id", "AKID", 32, b""), ("bitbucket-app-password", "ATBB", 24, b""), ("atlassian-token", "ATATT3", 100, b"="),
    ("atlassian-token", "ATCTT3", 100, b"="), ("circleci-token", "CCIPAT_", 40, b""), ("contentful-token", "CFPAT-", 40, b""), ("clojars-token", "CLOJARS_", 50, b""),
    ("square-token", "EAAA", 56, b"+="), ("facebook-token", "EAA", 90, b""), ("easypost-key", "EZAK", 50, b""), ("easypost-key", "EZTK", 50, b""),
    ("gitlab-runner-token", "GR1348941", 20, b""), ("heroku-key", "HRKU-", 36, b""), ("alibaba-key-id", "LTAI", 16, b""),
    ("new-relic-key", "NRAK-", 27, b""), ("new-relic-key", "NRII-", 27, b""), ("postman-key", "PMAK-", 50, b""), ("plaid-token", "access-production-", 36, b""),
    ("plaid-token", "access-sandbox-", 36, b""), ("buildkite-token", "bkua_", 40, b""), ("databricks-token", "dapi", 32, b""), ("docker-token", "dckr_pat_", 24, b""),
    ("docker-token", "dckr_oat_", 24, b""), ("doppler-token", "dp.ct.", 40, b"."), ("doppler-token", "dp.pt.", 40, b"."), ("doppler-token", "dp.sa.", 40, b"."),
    ("doppler-token", "dp.st.", 40, b"."), ("doppler-token", "dp.scim.", 40, b"."), ("dynatrace-token", "dt0c01.", 80, b"."), ("dynatrace-token", "dt0s", 80, b"."),
    ("duffel-token", "duffel_live_", 40, b""), ("duffel-token", "duffel_test_", 40, b""), ("figma-token", "figd_", 36, b""), ("frameio-token", "fio-u-", 60, b""),
    ("grafana-token", "glc_", 30, b"+/="), ("grafana-token", "glsa_", 40, b""), ("groq-key", "gsk_", 40, b""), ("honeycomb-key", "hcaik_", 50, b""),
    ("vault-token", "hvb.", 90, b"."), ("vault-token", "hvr.", 80, b"."), ("vault-token", "hvs.", 24, b"."), ("linear-key", "lin_api_", 32, b""), ("linear-key", "lin_oauth_", 32, b""),
    ("langsmith-key", "lsv2_pt_", 36, b""), ("langsmith-key", "lsv2_sk_", 36, b""), ("neon-key", "napi_", 50, b""), ("netlify-token", "nfp_", 32, b""),
    ("notion-token", "ntn_", 40, b""), ("nvidia-key", "nvapi-", 50, b""), ("1password-token", "ops_eyJ", 100, b"+/="), ("nuget-key", "oy2", 43, b""),
    ("adobe-secret", "p8e-", 32, b""), ("airtable-token", "pat", 79, b"."), ("pinecone-key", "pcsk_", 40, b""), ("prefect-token", "pnu_", 36, b""),
    ("perplexity-key", "pplx-", 40, b""), ("planetscale-token", "pscale_oauth_", 32, b"."), ("planetscale-token", "pscale_pw_", 32, b"."),
    ("planetscale-token", "pscale_tkn_", 32, b"."), ("pulumi-token", "pul-", 40, b""), ("replicate-token", "r8_", 37, b""), ("readme-token", "rdme_", 60, b""),
    ("resend-key", "re_", 30, b""), ("render-key", "rnd_", 24, b""), ("rubygems-key", "rubygems_", 48, b""), ("supabase-token", "sb_secret_", 26, b""),
    ("supabase-token", "sbp_", 40, b""), ("launchdarkly-key", "sdk-", 36, b""), ("notion-token", "secret_", 43, b""), ("shippo-token", "shippo_live_", 40, b""),
    ("shippo-token", "shippo_test_", 40, b""), ("shopify-token", "shpat_", 32, b""), ("shopify-token", "shpca_", 32, b""), ("shopify-token", "shppa_", 32, b""),
    ("shopify-token", "shpss_", 32, b""), ("mapbox-token", "sk.eyJ", 60, b"."), ("elevenlabs-key", "sk_", 40, b""), ("dropbox-token", "sl.", 100, b"."), ("sentry-token", "sntrys_", 60, b"+/="),
    ("sentry-token", "sntryu_", 60, b""), ("sonar-token", "sqa_", 40, b""), ("sonar-token", "sqp_", 40, b""), ("sonar-token", "squ_", 40, b""),
    ("typeform-token", "tfp_", 40, b""), ("tailscale-key", "tskey-", 30, b""), ("tavily-key", "tvly-", 32, b""), ("xai-key", "xai-", 60, b""), ("brevo-key", "xkeysib-", 70, b""),
];

/// A rule, literals one of which its matches hold, and a pattern whose first group, if any, is the secret.
struct Shape(&'static str, &'static [&'static str], &'static str, Like, OnceLock<Option<Regex>>);

/// What a match has to look like, besides.
#[derive(Clone, Copy, PartialEq)]
enum Like {
    /// The pattern says it all.
    Any,
    /// No placeholder, and a digit in it.
    Given,
    /// As a password that a person or a program chose.
    Password,
}

const fn shape(name: &'static str, literals: &'static [&'static str], pattern: &'static str, like: Like) -> Shape {
    Shape(name, literals, pattern, like, OnceLock::new())
}

#[rustfmt::skip]
static SHAPES: [Shape; 19] = [
    shape("azure-client-secret", &["Q~"], r"[\w~.]{3}\dQ~[\w~.-]{31,34}", Like::Any),
    shape("azure-devops-token", &["AZDO"], r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b", Like::Any),
    shape("azure-sas", &["sig="], r"[?&]sig=([A-Za-z0-9%/+]{40,}=?)", Like::Any),
    shape("terraform-token", &[".atlasv1."], r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}", Like::Any),
    shape("google-refresh-token", &["1//0"], r"\b1//0[\w-]{30,}", Like::Any),
    shape("asana-token", &["1/1", "2/1", "2/2"], r"\b[12]/\d{10,}/\d{10,}:[0-9a-f]{32}\b", Like::Any),
    shape("braintree-token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", Like::Any),
    shape("teams-webhook", &["/IncomingWebhook/"], r"webhookb2/[\w@-]+/IncomingWebhook/(\w+/[\w-]+)", Like::Any),
    shape("discord-token", &[".G", ".X", ".Y", ".Z"], r"\b[MNO][\w-]{23,27}\.[GXYZ][\w-]{5}\.[\w-]{27,38}\b", Like::Any),
    shape("new-relic-key", &["FFFFNRAL"], r"\b[0-9a-f]{32}FFFFNRAL\b", Like::Any),
    shape("npm-auth-token", &["_authToken=", "_auth="], r"_auth(?:Token)?=([\w+/-]{20,}=*)", Like::Given),
    shape("authorization-header", &["uthorization", "UTHORIZATION"], r#"(?i)\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:basic|token|apikey|bot)\s+([\w.+/~-]{12,}=*)"#, Like::Given),
    shape("docker-auth", &["\"auth"], r#""auth\\?"\s*:\s*\\?"([A-Za-z0-9+/]{12,}={0,2})"#, Like::Given),
    shape("curl-user", &["curl "], r#"\bcurl\b[^\n|;]*?\s(?:-u|--user)[\s=]+\\?['"]?[^\s:'"$\\]+:([^\s'"$`\\]{6,})"#, Like::Given),
    shape("netrc-password", &["machine "], r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+([^\s\x22'`]{6,})", Like::Given),
    shape("sshpass-password", &["sshpass"], r#"\bsshpass\s+-p\s*\\?['"]?([^\s'"$\\]{6,})"#, Like::Given),
    shape("xml-password", &["</"], r"(?i)<(?:clear_?text_?)?(?:password|passwd|pwd|passphrase|secret|api_?key|token)>([^<>\s]{6,})</", Like::Password),
    shape("typed-password", &["= \"", "= \\\"", "= '"], r#"(?i)(?:passw|pwd|passphrase|secret|token|api_?key)\w*\s*:\s*[&\w<>'\[\] ]{1,24}=\s*\\?["']([^"'\s\\]{8,})\\?["']"#, Like::Password),
    shape("told-password", &["assword", "assphrase", "ASSWORD"], r#"(?i)\bpass(?:word|phrase)\b[\w ,-]{0,60}?\b(?:is|was|as|to)\s+(?:now\s+)?['"`]?([^\s'"`,;()\[\]{}]{8,})"#, Like::Password),
];

/// Where such secrets are, with the rank of the rule that saw each, lower than none, and its name.
pub(super) fn find(text: &str, rank: usize) -> Vec<(Range<usize>, usize, &'static str)> {
    let mut spans = Vec::new();
    tokens(text, |span, at| spans.push((span, rank + at, TOKENS[at].0)));
    for (at, Shape(name, literals, pattern, like, regex)) in SHAPES.iter().enumerate() {
        if !literals.iter().any(|literal| text.contains(literal)) {
            continue;
        }
        let Some(regex) = regex.get_or_init(|| super::compile(pattern)) else { continue };
        for found in regex.captures_iter(text.as_bytes()) {
            let Some(secret) = found.get(1).or(found.get(0)) else { continue };
            let Some(value) = text.get(secret.range()) else { continue };
            let value = if *like == Like::Password { value.trim_end_matches(['.', ':', '?', '|']) } else { value };
            if fits(*like, value) {
                spans.push((secret.start()..secret.start() + value.len(), rank + TOKENS.len() + at, *name));
            }
        }
    }
    spans
}

fn fits(like: Like, value: &str) -> bool {
    let given = || !is_placeholder(value) && value.bytes().any(|byte| byte.is_ascii_digit());
    match like {
        Like::Any => true,
        Like::Given => given(),
        Like::Password => given() && !is_object_id(value.as_bytes()) && is_chosen(value),
    }
}

/// The stretches that begin with the prefix of a token and look drawn by lot.
fn tokens(text: &str, mut each: impl FnMut(Range<usize>, usize)) {
    static STARTS: LazyLock<Starts> = LazyLock::new(|| starts(TOKENS.iter().map(|token| token.1)));
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at + 24 < bytes.len() {
        let begins = (at == 0 || !is_word(bytes[at - 1])) && may_start(&STARTS, &bytes[at..]);
        let is_prefix = |token: &Token| bytes[at..].starts_with(token.1.as_bytes());
        let mut end = at + 1;
        for (which, (_, prefix, least, more)) in
            TOKENS.iter().enumerate().filter(|(_, token)| begins && is_prefix(token))
        {
            let from = at + prefix.len();
            let belongs = |byte: &&u8| is_word(**byte) || **byte == b'-' || more.contains(byte);
            let mut to = from + bytes[from..].iter().take_while(belongs).count();
            while to > from && b".-_".contains(&bytes[to - 1]) {
                to -= 1;
            }
            let rest = &bytes[from..to];
            if rest.len() >= *least
                && rest.iter().filter(|byte| byte.is_ascii_digit()).count() > 1
                && entropy(rest) > 2.75
            {
                each(at..to, which);
                end = to;
                break;
            }
        }
        at = end;
    }
}
