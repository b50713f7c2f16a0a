//! Rules for tokens with issuer prefixes, and for secrets identified by their context.
//!
//! What follows a prefix must look random, which excludes names with the same beginning. The other patterns are
//! compiled only if a text contains one of their required literals.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;

use crate::text::{Starts, entropy, is_chosen_password, is_object_id, is_placeholder, is_random, is_uuid, is_word};
use crate::text::{may_be_password, may_start, starts, words};

/// A token's rule, its prefix, the least number of characters that follow, and those allowed among them besides
/// letters, digits, `_` and `-`.
type Token = (&'static str, &'static str, usize, &'static [u8]);

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
    ("apify-token", "apify_api_", 30, b""), ("aiven-password", "AVNS_", 18, b""), ("axiom-token", "xaat-", 36, b""),
    ("axiom-token", "xapt-", 36, b""), ("cerebras-key", "csk-", 40, b""), ("circleci-token", "CCIPRJ_", 40, b""),
    ("cloudflare-token", "cfat_", 40, b""), ("cloudflare-token", "cfk_", 40, b""), ("cloudflare-token", "cfut_", 40, b""),
    ("confluent-secret", "cflt", 56, b"+/"), ("elastic-token", "essu_", 40, b"+/="), ("fauna-key", "fnA", 37, b""),
    ("firecrawl-key", "fc-", 32, b""), ("fireworks-key", "fw_", 20, b""), ("flutterwave-key", "FLWSECK-", 32, b""),
    ("flutterwave-key", "FLWSECK_TEST-", 32, b""), ("hubspot-token", "pat-na1-", 36, b""), ("hubspot-token", "pat-na2-", 36, b""),
    ("hubspot-token", "pat-eu1-", 36, b""), ("huggingface-token", "api_org_", 30, b""), ("inngest-key", "signkey-prod-", 40, b""),
    ("inngest-key", "signkey-test-", 40, b""), ("artifactory-token", "cmVmdGtu", 50, b""), ("jina-key", "jina_", 50, b""),
    ("langfuse-key", "sk-lf-", 36, b""), ("mailersend-token", "mlsn.", 60, b""), ("mandrill-key", "md-", 20, b""),
    ("mongodb-atlas-secret", "mdb_sa_sk_", 36, b""), ("onesignal-key", "os_v2_app_", 80, b""), ("onesignal-key", "os_v2_org_", 80, b""),
    ("openshift-token", "sha256~", 40, b""), ("paddle-key", "pdl_live_", 40, b""), ("paddle-key", "pdl_sdbx_", 40, b""),
    ("paypal-token", "A21AA", 80, b""), ("posthog-key", "phx_", 40, b""), ("runpod-key", "rpa_", 40, b""),
    ("sourcegraph-token", "sgp_", 36, b""), ("statsig-key", "secret-", 36, b""), ("together-key", "tgp_v1_", 40, b""),
    ("trigger-key", "tr_prod_", 18, b""), ("trigger-key", "tr_dev_", 18, b""), ("vercel-token", "vca_", 50, b""),
    ("vercel-token", "vci_", 50, b""), ("vercel-token", "vck_", 50, b""), ("vercel-token", "vcp_", 50, b""),
    ("vercel-token", "vcr_", 50, b""), ("voyage-key", "pa-", 40, b""), ("google-auth-key", "AQ.Ab8", 40, b""),
    ("brevo-key", "xsmtpsib-", 70, b""), ("aws-session-token", "IQoJb3JpZ2luX2Vj", 100, b"+/="), ("aws-session-token", "FwoGZXIvYXdz", 100, b"+/="),
    ("aws-bedrock-key", "bedrock-api-key-", 60, b"+/="), ("cloudflare-token", "eyJhIjoi", 90, b"+/="), ("grafana-token", "eyJrIjoi", 60, b"+/="),
    ("adyen-key", "AQE", 100, b"+/="), ("e2b-key", "e2b_", 40, b""), ("gitlab-feed-token", "feed_token-", 20, b""),
    ("assemblyai-key", "aai_", 32, b""), ("deepgram-key", "dg_", 40, b""), ("polar-token", "polar_oat_", 36, b""),
    ("polar-token", "polar_pat_", 36, b""), ("depot-token", "depot_project_", 40, b""), ("depot-token", "depot_user_", 40, b""),
    ("turso-token", "turso_", 60, b""), ("snyk-token", "snyk_", 36, b""), ("scalingo-token", "tk-us-", 40, b""),
    ("buildkite-token", "bkat_", 40, b""), ("buildkite-token", "bkct_", 40, b""), ("coda-token", "coda_", 36, b""),
    ("zuplo-key", "zpka_", 40, b""), ("polygon-key", "pgp_live_", 30, b""), ("razorpay-key", "rzp_live_", 14, b""),
    ("paystack-key", "sk_live_", 40, b""),
];

/// A rule, the literals of which every match contains one, and a pattern whose first group, if any, is the secret.
struct Shape(&'static str, &'static [&'static str], &'static str, Like, OnceLock<Option<Regex>>);

/// The form that a match must have in addition to its pattern.
#[derive(Clone, Copy, PartialEq)]
enum Like {
    Any,
    /// Not a placeholder, and with a digit.
    Value,
    /// A password chosen by a person or program.
    Password,
    /// A value that its context names as a password.
    NamedPassword,
    /// Random, and not a UUID or object id.
    Random,
}

const fn shape(name: &'static str, literals: &'static [&'static str], pattern: &'static str, like: Like) -> Shape {
    Shape(name, literals, pattern, like, OnceLock::new())
}

#[rustfmt::skip]
static SHAPES: [Shape; 63] = [
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
    shape("npm-auth-token", &["_authToken=", "_auth="], r"_auth(?:Token)?=([\w+/-]{20,}=*)", Like::Value),
    shape("authorization-header", &["uthorization", "UTHORIZATION"], r#"(?i)\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:basic|token|apikey|bot|splunk|ssws)\s+([\w.+/~-]{12,}=*)"#, Like::Value),
    shape("docker-auth", &["\"auth"], r#""auth\\?"\s*:\s*\\?"([A-Za-z0-9+/]{12,}={0,2})"#, Like::Value),
    shape("curl-user", &["curl "], r#"\bcurl\b[^\n|;]*?\s(?:-u|--user)[\s=]+\\?['"]?[^\s:'"$\\]+:([^\s'"$`\\]{6,})"#, Like::Value),
    shape("netrc-password", &["machine "], r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+([^\s\x22'`]{6,})", Like::Value),
    shape("sshpass-password", &["sshpass"], r#"\bsshpass\s+-p\s*\\?['"]?([^\s'"$\\]{6,})"#, Like::Value),
    shape("xml-password", &["</"], r"(?i)<(?:clear_?text_?)?(?:password|passwd|pwd|passphrase|secret|api_?key|token)>([^<>\s]{6,})</", Like::Password),
    shape("typed-password", &["= \"", "= \\\"", "= '"], r#"(?i)(?:passw|pwd|passphrase|secret|token|api_?key)\w*\s*:\s*[&\w<>'\[\] ]{1,24}=\s*\\?["']([^"'\s\\]{8,})\\?["']"#, Like::Password),
    shape("told-password", &["assword", "assphrase", "ASSWORD"], r#"(?i)\bpass(?:word|phrase)\b[\w ,-]{0,60}?\b(?:is|was|as|to)\s+(?:now\s+)?['"`]?([^\s'"`,;()\[\]{}]{8,})"#, Like::Password),
    shape("clickup-token", &["pk_"], r"\bpk_\d{6,10}_[A-Z0-9]{32}\b", Like::Any),
    shape("new-relic-key", &["NRAL"], r"\b[0-9a-f]{36,40}NRAL\b", Like::Any),
    shape("octopus-key", &["API-"], r"\bAPI-[A-Z0-9]{25,36}\b", Like::Value),
    shape("okta-token", &["SSWS"], r"\bSSWS\s+(00[\w-]{38,42})", Like::Value),
    shape("scaleway-key", &["SCW"], r"\bSCW[A-Z0-9]{17}\b", Like::Value),
    shape("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:triggers|workflows|services)/\w[\w/]{30,}", Like::Any),
    shape("telegram-bot-token", &["/bot"], r"/bot([0-9]{8,10}:AA[\w-]{30,})", Like::Any),
    shape("firebase-key", &["APA91b"], r"\bAAAA[\w-]{7}:APA91b[\w-]{100,}", Like::Any),
    shape("azure-key", &["+ACR"], r"[A-Za-z0-9+/]{42}\+ACR[A-Za-z0-9]{6}\b", Like::Any),
    shape("azure-key", &["AzFu"], r"[\w-]{40,}AzFu[\w-]{6}==", Like::Any),
    shape("azure-key", &["JQQJ99"], r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{20,}", Like::Any),
    shape("bitwarden-token", &["0."], r"\b0\.[0-9a-f]{8}-[0-9a-f-]{27}\.\w{20,}:[A-Za-z0-9+/]{20,}={0,2}", Like::Any),
    shape("infisical-token", &["st."], r"\bst\.[0-9a-f-]{24,36}\.[0-9a-f]{32}\.[0-9a-f]{32}", Like::Any),
    shape("harness-token", &["pat.", "sat."], r"\b[ps]at\.[\w-]{22}\.[0-9a-f]{24}\.\w{20}", Like::Any),
    shape("launchdarkly-key", &["api-"], r"\bapi-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", Like::Any),
    shape("mollie-key", &["live_", "test_"], r"\b(?:live|test)_[A-Za-z0-9]{30,36}\b", Like::Random),
    shape("sql-password", &["ASSWORD ", "assword ", "BY "], r"(?i)\b(?:password|identified by)\s+['\x22]([^'\x22\s]{6,})['\x22]", Like::NamedPassword),
    shape("code-password", &["(\"", "('", ", \"", ",\"", ", '", ",'"], r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|basic_?auth|credential)s?\(\s*(?:["'][^"']*["']\s*,\s*)?(?:Some\()?["']([^"'\s]{6,})["']"#, Like::NamedPassword),
    shape("code-password", &["\",", "',"], r#"(?i)["'][\w.:-]*(?:passw(?:or)?d|pwd|secret|pass)["']\s*,\s*["']([^"'\s]{6,})["']"#, Like::NamedPassword),
    shape("code-key", &["\",", "',"], r#"(?i)["'][\w.:-]*(?:key|token|salt)["']\s*,\s*["']([^"'\s]{20,})["']"#, Like::Random),
    shape("xml-password", &["value="], r#"(?i)(?:key|name)=\\?"[\w.:-]*(?:passw(?:or)?d|pwd|secret|token|api_?key)\\?"\s+value=\\?"([^"\s\\]{6,})"#, Like::NamedPassword),
    shape("xml-password", &["</"], r"(?i)<[\w:.-]*(?:passw(?:or)?d|pwd|passphrase|secret)(?: [^<>]*)?>([^<>\s]{6,})</", Like::NamedPassword),
    shape("yaml-secret", &["value:"], r#"(?i)name:\s*["']?[\w-]*(?:passw(?:or)?d|pwd|secret)["']?\s*\n\s*value:\s*["']?([^\s"']{6,})"#, Like::NamedPassword),
    shape("yaml-secret", &["value:"], r#"(?i)name:\s*["']?[\w-]*(?:key|token)["']?\s*\n\s*value:\s*["']?([^\s"']{20,})"#, Like::Random),
    shape("flag-password", &[" login ", "mongo", "sqlcmd ", "redis-cli ", "ldap", "mysql", "htpasswd ", "7z "], r#"\b(?:login|mongo\w*|sqlcmd|redis-cli|ldap\w+|mysql\w*|htpasswd|7z)\b[^\n|;]*?\s(?:-[pPaw]|--password|--pass|--auth)[ =]?\\?['"]?([^\s'"$`\\=:-][^\s'"$`\\:]{5,})"#, Like::NamedPassword),
    shape("flag-password", &["pass "], r#"\s-{1,2}(?:storepass|keypass|srcstorepass|deststorepass|passin|passout|pass)\s+\\?['"]?(?:pass:)?([^\s'"$`\\]{6,})"#, Like::NamedPassword),
    shape("flag-password", &["passin ", "passout "], r"\s-pass(?:in|out)\s+pass:([^\s$]{6,})", Like::NamedPassword),
    shape("configured-password", &["requirepass ", "masterauth ", "insecure-password ", "PSK ", "rocommunity "], r#"\b(?:requirepass|masterauth|insecure-password|PSK|rocommunity)\s+["']?([^\s"']{6,})"#, Like::NamedPassword),
    shape("told-password", &["ass", "ASS", "pw", "PW", "PSK"], r#"(?i)\b(?:password|passwd|passphrase|passcode|pass|pwd|pw|psk)\b[*_`"']{0,4}(?: for [\w .'-]{1,40}?)?\s*(?::|=|→|->|\|| is )\s*[*_`"'\s]{0,5}([^\s"'`,;()\[\]{}<>|*]{6,})"#, Like::NamedPassword),
    shape("told-password", &["assword", "assphrase", "pw "], r#"(?i)\b(?:password|passphrase|pw)\b[\w ,./-]{0,40}?\s(?:["'`])([^\s"'`]{6,})["'`]"#, Like::NamedPassword),
    shape("told-password", &["assword", "assphrase"], r#"(?i)\bpass(?:word|phrase)\b[\w ,@./()-]{0,60}?(?:\b(?:is|was|be|to|lautet)|:)\s+['"`]?([^\s'"`,;()\[\]{}<>]{6,})"#, Like::NamedPassword),
    shape("told-login", &["ogin", "ogged", "cred", "Cred", "account", "try "], r#"(?i)\b(?:logins?|logged in|creds?|credentials?|account|try)\b[^\n]{0,50}?[\s(`][\w.@+-]{2,40}\s?(?:/{1,2}|:)\s?([^\s"'`,;()\[\]{}<>/:]{6,})"#, Like::Password),
    shape("told-login", &["ogged in", "logging in"], r#"(?i)\blogg(?:ed|ing) in (?:as|to|with|on)[\w .@-]{1,40}? with [`'"]?([^\s"'`,;]{6,})"#, Like::Password),
    shape("told-key", &["oken", "key", "Key", "KEY", "ecret", "SECRET", "PSK"], r#"(?i)\b(?:token|secret|(?:api|access|private|auth|signing|encryption|license|account|admin)[ _-]?key|psk)\b(?:[\w ,()-]{0,60}? is |\s*[:=]\s*)[`"']?([\w+-][\w+/-]{19,}=*)(?:[\s`"',;]|\.\s|\.?$)"#, Like::Random),
    shape("told-key", &["ith the token ", "API key ", "api key ", "token "], r"(?i)\b(?:token|api key)\s+[`'\x22]?([\w+/-]{24,}=*)", Like::Random),
    shape("told-url", &["="], r"(?i)[?&](?:appid|api_?key|access_token|token|x-amz-signature|x-goog-signature|signature|secret|password|pwd)=([\w%.+/-]{16,})", Like::Value),
    shape("neo4j-auth", &["_AUTH=", "_AUTH:"], r#"_AUTH[=:]\s*["']?\w+/([^\s"']{6,})"#, Like::NamedPassword),
    shape("client-key", &["client-key-data"], r"client-key-data:\s*([A-Za-z0-9+/=]{60,})", Like::Any),
    shape("dsn-password", &["@tcp(", "@unix("], r"\b[\w-]+:([^\s:@/]{6,})@(?:tcp|unix)\(", Like::NamedPassword),
    shape("dsn-password", &[":thin:"], r":thin:[\w-]+/([^\s@]{6,})@", Like::NamedPassword),
    shape("pgpass", &[":5432:", ":*:", ":3306:"], r"(?:^|[\s`])[\w.*-]+:(?:\d+|\*):[\w*-]+:[\w-]+:([^\s:`]{6,})", Like::NamedPassword),
    shape("wireguard-key", &["Key = ", "Key="], r"\b(?:PrivateKey|PresharedKey)\s*=\s*([A-Za-z0-9+/]{43}=)", Like::Any),
    shape("session-cookie", &["ookie"], r"(?i)\bcookie\\?[\x22']?:[^\n]*?\b[\w.-]*(?:sess|sid|auth)[\w.-]*=([\w%.+/-]{20,})", Like::Random),
    shape("basic-auth", &["Basic ", "basic "], r#"(?i)\bauthorization\s+\\?["']?(?:basic|bearer)\s+([\w.+/~-]{16,}=*)"#, Like::Value),
];

/// The ranges of secrets, with the rank of their rule, at least `rank`, and its name.
pub(crate) fn find(text: &str, rank: usize) -> Vec<(Range<usize>, usize, &'static str)> {
    let mut spans = Vec::new();
    let (mut has_random, mut has_value) = (None, None);
    tokens(text, |span, at| spans.push((span, rank + at, TOKENS[at].0)));
    let possible = possible_shapes(text.as_bytes());
    for (at, Shape(name, literals, pattern, like, regex)) in SHAPES.iter().enumerate() {
        if possible >> at & 1 == 0 {
            continue;
        }
        // many texts have the literals, few have a value: compile the pattern only for these
        let is_short = literals.iter().any(|literal| literal.len() < 4);
        let may_match = match like {
            Like::Any if !is_short => true,
            Like::Any | Like::Random => {
                *has_random.get_or_insert_with(|| words(text.as_bytes()).any(|word| is_random(word, 16)))
            }
            Like::Value | Like::Password | Like::NamedPassword => *has_value.get_or_insert_with(|| holds_value(text)),
        };
        if !may_match {
            continue;
        }
        let Some(regex) = regex.get_or_init(|| crate::rules::compile(pattern)) else { continue };
        for found in regex.captures_iter(text.as_bytes()) {
            let Some(secret) = found.get(1).or(found.get(0)) else { continue };
            let Some(value) = text.get(secret.range()) else { continue };
            let is_password = matches!(like, Like::Password | Like::NamedPassword);
            let value = if is_password { value.trim_end_matches(['.', ':', '?', '|']) } else { value };
            let end = secret.start() + value.len();
            // a called function is a name
            let is_call = *like == Like::NamedPassword && text.as_bytes().get(end) == Some(&b'(');
            if fits(*like, value) && !is_call {
                // rules for prose give the name only if no other rule matches
                let rank = if name.starts_with("told-") { usize::MAX } else { rank + TOKENS.len() + at };
                spans.push((secret.start()..end, rank, *name));
            }
        }
    }
    spans
}

/// The shapes of which a text has a literal, as bits.
fn possible_shapes(text: &[u8]) -> u64 {
    /// For each first byte, the literals, with the shape of each.
    type Literals = [Vec<(&'static [u8], usize)>; 256];
    static LITERALS: LazyLock<Literals> = LazyLock::new(|| {
        let mut literals = [const { Vec::new() }; 256];
        for (at, shape) in SHAPES.iter().enumerate() {
            for literal in shape.1.iter().map(|literal| literal.as_bytes()) {
                literals[usize::from(literal[0])].push((literal, at));
            }
        }
        literals
    });
    let mut shapes = 0;
    for (at, byte) in text.iter().enumerate() {
        for (literal, shape) in &LITERALS[usize::from(*byte)] {
            let is_second = literal.get(1).is_none_or(|second| text.get(at + 1) == Some(second));
            if is_second && text[at..].starts_with(literal) {
                shapes |= 1 << shape;
            }
        }
    }
    shapes
}

/// Whether a word of a text has letters and digits, which [`fits`] requires of values.
fn holds_value(text: &str) -> bool {
    text.split_ascii_whitespace().any(|word| {
        let bytes = word.as_bytes();
        bytes.len() > 5 && bytes.iter().any(u8::is_ascii_digit) && bytes.iter().any(u8::is_ascii_alphabetic)
    })
}

fn fits(like: Like, value: &str) -> bool {
    let is_value = || !is_placeholder(value) && value.bytes().any(|byte| byte.is_ascii_digit());
    match like {
        Like::Any => true,
        Like::Value => is_value(),
        Like::NamedPassword => is_value() && may_be_password(value, false),
        Like::Random => {
            let is_id = is_uuid(value.as_bytes()) || is_object_id(value.as_bytes());
            is_value() && !is_id && words(value.as_bytes()).any(|word| is_random(word, 16))
        }
        Like::Password => is_value() && !is_object_id(value.as_bytes()) && is_chosen_password(value),
    }
}

/// The prefixes of all token rules.
pub(crate) fn prefixes() -> impl Iterator<Item = &'static str> {
    let others = crate::rules::EXTRA.iter().flat_map(|extra| extra.1).chain(crate::rules::FORMATS);
    TOKENS.iter().map(|token| token.1).chain(others.map(|(literal, _)| *literal))
}

/// Calls `each` for the ranges that start with a token prefix and look random.
fn tokens(text: &str, mut each: impl FnMut(Range<usize>, usize)) {
    static STARTS: LazyLock<Starts> = LazyLock::new(|| starts(TOKENS.iter().map(|token| token.1)));
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at + 18 < bytes.len() {
        let begins = (at == 0 || !is_word(bytes[at - 1])) && may_start(&STARTS, &bytes[at..]);
        let mut end = at + 1;
        if !begins {
            at = end;
            continue;
        }
        let is_prefix = |token: &Token| bytes[at..].starts_with(token.1.as_bytes());
        for (index, (_, prefix, least, allowed)) in TOKENS.iter().enumerate().filter(|(_, token)| is_prefix(token)) {
            let from = at + prefix.len();
            let belongs = |byte: &&u8| is_word(**byte) || **byte == b'-' || allowed.contains(byte);
            let mut to = from + bytes[from..].iter().take_while(belongs).count();
            while to > from && b".-_".contains(&bytes[to - 1]) {
                to -= 1;
            }
            let rest = &bytes[from..to];
            let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
            // many names begin with two or three letters that are also a prefix
            let is_random_enough =
                if prefix.len() < 4 { is_random(rest, 16) } else { digits > 1 || is_random(rest, 16) };
            if rest.len() >= *least && is_random_enough && entropy(rest) > 2.75 {
                each(at..to, index);
                end = to;
                break;
            }
        }
        at = end;
    }
}
