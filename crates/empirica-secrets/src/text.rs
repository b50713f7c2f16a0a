//! Classifies text: assigned secrets, random words, ids, placeholders.

use std::ops::Range;
use std::sync::LazyLock;

/// The first three characters of words: for each first and second one a bit per third one, ignoring case.
pub(crate) type Starts = [u32; 1024];

/// Parts of names that secrets are assigned to.
#[rustfmt::skip]
const NAMES: [&str; 32] = [
    "passw", "passphrase", "pwd", "secret", "token", "credential", "apikey", "api_key", "api-key", "accesskey",
    "access_key", "access-key", "privatekey", "private_key", "private-key", "auth_key", "bearer", "encryptionkey",
    "encryption_key", "encryption-key", "signingkey", "signing_key", "signing-key", "masterkey", "master_key", "master-key",
    "presharedkey", "auth-key", "_pass", "_pw", "_key", "passcode",
];
/// Placeholder values, and parts of them.
const PLACEHOLDERS: [&str; 11] =
    ["password", "passwd", "pass", "postgres", "root", "secret", "token", "test", "guest", "user", "x-oauth-basic"];
const PLACEHOLDER_PARTS: [&str; 8] = ["example", "changeme", "your", "placeholder", "***", "xxx", "${", "{{"];

/// The ranges of values in `name = value`, `"name": "value"`, `--name value` and `Bearer value` that look like a
/// secret, if the name contains one of [`NAMES`].
pub(crate) fn assigned(text: &str) -> Vec<Range<usize>> {
    static STARTS: LazyLock<Starts> = LazyLock::new(|| starts(NAMES.into_iter()));
    let (bytes, mut spans, mut at) = (text.as_bytes(), Vec::new(), 0);
    let run = |from: usize, one: &dyn Fn(u8) -> bool| bytes[from..].iter().take_while(|byte| one(**byte)).count();
    let skip = |from: usize, one: &dyn Fn(u8) -> bool| from + run(from, one);
    let (is_name, is_blank) = (|byte| is_word(byte) || byte == b'-', |byte| b" \t".contains(&byte));
    while at < bytes.len() {
        let may_start = may_start(&STARTS, &bytes[at..]);
        let begins = |name: &&str| may_start && starts_with(&bytes[at..], name);
        // some count only at the end of a name; `tokenize` names no token
        let counts = |name: &&str| match *name {
            "_pass" | "_pw" | "_key" => bytes.get(at + name.len()).is_none_or(|byte| !is_name(*byte)),
            _ => !starts_with(&bytes[at..], "tokeni"),
        };
        let Some(name) = NAMES.into_iter().find(begins).filter(counts) else {
            at += 1;
            continue;
        };
        let start = at - bytes[..at].iter().rev().take_while(|byte| is_name(**byte)).count();
        let begun = at;
        at = skip(at, &is_name);
        let tail = bytes[begun..at].to_ascii_lowercase();
        let names_password =
            [&b"password"[..], b"passwd", b"passphrase", b"passcode", b"pwd", b"_pass", b"_pw"].contains(&&tail[..]);
        let names_secret =
            names_password || [&b"secret"[..], b"token", b"api_key", b"apikey", b"api-key"].contains(&&tail[..]);
        let quoted = skip(at, &|byte| b"\\\"'`".contains(&byte));
        let before = skip(if quoted > at { skip(quoted, &|byte| byte == b']') } else { at }, &is_blank);
        let after = skip(before, &|byte| b":=>".contains(&byte));
        let is_flag = before > at && before == after && (name == "bearer" || bytes[start..].starts_with(b"--"));
        if !is_flag && ![&b":"[..], b"=", b":=", b"=>", b"=="].contains(&&bytes[before..after]) {
            continue;
        }
        let from = skip(skip(after, &is_blank), &|byte| byte == b'\\');
        let quote = bytes.get(from).copied().filter(|byte| b"\"'`".contains(byte));
        let from = from + usize::from(quote.is_some());
        let inner = skip(from, &is_name);
        if inner > from && bytes.get(inner) == Some(&b'=') && bytes.get(inner + 1).is_some_and(|byte| is_name(*byte)) {
            at = from; // a nested assignment: its own name decides
            continue;
        }
        at = skip(from, &|byte| match quote {
            Some(quote) => byte != quote && byte != b'\\' && !byte.is_ascii_whitespace(),
            None => !byte.is_ascii_whitespace() && !b"\"'`,;<>(){}[]\\|".contains(&byte),
        });
        let closed = quote.is_none() || bytes.get(at).is_some_and(|byte| Some(*byte) == quote || *byte == b'\\');
        let Some(mut value) = text.get(from..at).filter(|_| closed) else { continue };
        // a called function or compared value is a name
        if quote.is_none() && (bytes.get(at) == Some(&b'(') || &bytes[before..after] == b"==") {
            continue;
        }
        if quote.is_none() {
            value = value.split_once('&').filter(|(_, rest)| rest.contains('=')).map_or(value, |(value, _)| value);
            value = value.trim_end_matches(['.', ':', '?']);
            at = from + value.len();
        }
        let is_variable = bytes[start..before.max(start)].iter().all(|byte| !byte.is_ascii_lowercase());
        let lower_name = bytes[start..before.max(start)].to_ascii_lowercase();
        let is_public =
            ["public", "publishable"].iter().any(|word| lower_name.windows(word.len()).any(|w| w == word.as_bytes()));
        let is_found = match name {
            _ if is_public => false,
            "_key" => is_variable && bytes[start..begun].len() > 1 && is_key(value),
            _ if names_password && !is_placeholder(value) && may_be_password(value, is_variable || quote.is_some()) => {
                true
            }
            _ if names_password && is_variable && is_phrase(value) => true,
            _ if names_secret && !is_flag && !is_placeholder(value) && is_mixed(value) => true,
            "_pass" | "_pw" => false,
            _ => is_secret(value, name, quote.is_some(), is_variable),
        };
        if is_found {
            spans.push(from..from + value.len());
        }
    }
    spans
}

/// Whether an assigned value is random or, for the name of a password, looks like a chosen one.
fn is_secret(value: &str, name: &str, quoted: bool, is_variable: bool) -> bool {
    let bytes = value.as_bytes();
    // a UUID is a key if an environment variable names it so
    if is_uuid(bytes) && is_variable && !["passw", "pwd", "passphrase"].contains(&name) {
        return true;
    }
    if bytes.len() < 8 || is_uuid(bytes) || is_placeholder(value) || value.starts_with(['/', '.', '~', '@', '&']) {
        return false;
    }
    if is_object_id(bytes) || words(bytes).any(|word| is_random(word, 16)) {
        let names_object = is_object_id(bytes) && name == "token" && !is_variable;
        return !names_object && !value.contains("://");
    }
    let is_inner =
        |three: &&[u8]| three[1].is_ascii_digit() && [three[0], three[2]].iter().all(u8::is_ascii_alphabetic);
    ["passw", "passphrase", "pwd", "secret"].contains(&name)
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && !value.contains('/')
        && (bytes.iter().any(|byte| b"!@#$%^&*?".contains(byte))
            || bytes.windows(3).filter(is_inner).count() > 1
            || is_dashed_password(bytes)
            || quoted && bytes.iter().all(u8::is_ascii_alphanumeric))
}

/// Whether it is a passphrase of four or more words.
fn is_phrase(value: &str) -> bool {
    let words = |sign| {
        value.split(sign).filter(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())).count()
    };
    ['-', '.', '_'].into_iter().any(|sign| words(sign) > 3) && !is_placeholder(value)
}

/// Whether the value of a variable named as a key is a key.
fn is_key(value: &str) -> bool {
    let value = value.trim_start_matches("base64:").as_bytes();
    !is_uuid(value) && !is_object_id(value) && words(value).any(|word| is_random(word, 24))
}

/// Whether a value named as a password may be one: with letters and digits, and not a path, a technical term or, unless
/// `no_name`, an identifier.
pub(crate) fn may_be_password(value: &str, no_name: bool) -> bool {
    #[rustfmt::skip]
    const TERMS: [&str; 27] = [
        "sha1", "sha2", "sha3", "sha-", "sha5", "md5", "base64", "base32", "b64", "utf", "oauth", "hs256", "rs256", "argon", "bcrypt", "pbkdf", "scrypt", "ipv4",
        "ipv6", "http", "x509", "ed25519", "2fa", "redacted:", "ascii", "latin1", "p256",
    ];
    let bytes = value.as_bytes();
    let count = |is: &dyn Fn(&u8) -> bool| bytes.iter().filter(|byte| is(byte)).count();
    let (digits, letters) = (count(&u8::is_ascii_digit), count(&u8::is_ascii_alphabetic));
    let lower = value.to_ascii_lowercase();
    let is_code = value.starts_with(['/', '.', '~', '@', '&', '-', '#', '$', '\\'])
        || ["::", "://", "->", "()", "${", "{{", ".."].iter().any(|part| value.contains(part));
    let is_file = value
        .rsplit_once('.')
        .is_some_and(|(_, end)| end.len() < 6 && end.bytes().all(|byte| byte.is_ascii_lowercase()));
    // `argument1`, `v2.3.4`, `12h`
    let is_numbered =
        digits == 1 && bytes.last().is_some_and(u8::is_ascii_digit) && count(&u8::is_ascii_uppercase) == 0;
    let is_version = bytes.first() == Some(&b'v') && letters == 1 || digits + 1 >= bytes.len() && letters < 2;
    // `Utf8Path`, `parse_v2_key`
    let is_name = digits < 3
        && bytes.iter().all(|byte| is_word(*byte))
        && !value.ends_with(|c: char| c.is_ascii_digit())
        && !is_random(bytes, 12);
    digits > 0
        && letters > 0
        && bytes.len() > 5
        && !(!no_name && (is_name || is_numbered) || is_code || is_file || is_version)
        && !is_uuid(bytes)
        && !is_object_id(bytes)
        && !TERMS.iter().any(|word| lower.contains(word))
}

/// Whether a value assigned to the name of a secret may be one: few identifiers are one word with a digit inside.
fn is_mixed(value: &str) -> bool {
    let inner = value.trim_end_matches(|c: char| c.is_ascii_digit());
    value.len() > 7
        && !value.contains(['_', '-'])
        && inner.contains(|c: char| c.is_ascii_digit())
        && may_be_password(value, true)
}

/// Whether it is words and digits joined by dashes, as password managers generate them.
fn is_dashed_password(value: &[u8]) -> bool {
    let count = |is: &dyn Fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    value.len() >= 14
        && count(&|byte| *byte == b'-') > 1
        && count(&u8::is_ascii_digit) > 2
        && value.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic())
        && count(&u8::is_ascii_uppercase) > 0
        && count(&u8::is_ascii_lowercase) > 0
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Whether a word named as a password in prose is one, rather than a word of the prose.
pub(crate) fn is_chosen_password(value: &str) -> bool {
    let bytes = value.as_bytes();
    let holds = |is: &dyn Fn(&u8) -> bool| bytes.iter().any(is);
    let is_code =
        value.contains("::") || value.contains("://") || value.starts_with(['/', '.', '~', '@', '&', '-', '#']);
    !is_code
        && !is_uuid(bytes)
        && (is_dashed_password(bytes)
            || words(bytes).any(|word| is_random(word, 12))
            || holds(&u8::is_ascii_lowercase)
                && holds(&u8::is_ascii_uppercase)
                && holds(&|byte| b"!#$%^&*?+".contains(byte)))
}

/// Whether a word looks random: mixed characters, high entropy, and few of the letter pairs common in English words and
/// identifiers.
pub(crate) fn is_random(word: &[u8], least: usize) -> bool {
    const COMMON: &[u8] = b"\
        ac ad ag ai al am an ar as at ay be ca ce ch co ct de di do ec ed ee el em en er es et ev ey fi fo fr ga ge \
        gi go gr ha he hi ho ic id ie if ig il im in io ir is it ke la ld le li ll lo ly ma me mo na nd ne ng no nt \
        of ol om on op or os ot ou ow pa pe pl po pr ra rd re ri ro rs rt ry se sh si so sp ss st su ta te th ti to \
        tr ts tt ub ul un ur us ut ve vi wa wh wo";
    if word.len() < least || is_uuid(&word[word.len().saturating_sub(36)..]) {
        return false;
    }
    let lower = word.iter().any(u8::is_ascii_lowercase);
    let letters = word.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let (mut pairs, mut common, mut humps) = (0, 0, 0);
    for pair in word.windows(2).filter(|pair| pair.iter().all(u8::is_ascii_alphabetic)) {
        let lower_pair = [pair[0] | 32, pair[1] | 32];
        pairs += 1;
        common += usize::from(COMMON.chunks(3).any(|common| common.starts_with(&lower_pair)));
        humps += usize::from(pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    }
    let is_wordy = common > 3 && common * 2 >= pairs && !word.iter().all(u8::is_ascii_hexdigit);
    let is_mixed = letters * 8 >= word.len() && (humps > 2 || word.iter().any(u8::is_ascii_digit));
    is_mixed && !is_wordy && (lower || !word.contains(&b'_')) && entropy(word) >= 2.75
}

/// The entropy per character of a word, in bits.
pub(crate) fn entropy(word: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    word.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / word.len() as f64);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

/// Whether the first line of a private key is followed by a key, rather than prose.
pub(crate) fn holds_key(block: &str) -> bool {
    let mut parts = block.split("-----").skip(2);
    let body = parts.next().unwrap_or_default().as_bytes();
    match parts.next() {
        Some(_) => words(body).any(|word| word.len() >= 8 && !word.iter().all(u8::is_ascii_lowercase)),
        None => words(&body[..body.len().min(160)]).any(|word| is_random(word, 16) && !is_object_id(word)),
    }
}

pub(crate) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_part = |part: &&str| lower.contains(*part);
    value.starts_with(['$', '%', '{', '<']) || PLACEHOLDER_PARTS.iter().any(is_part) || PLACEHOLDERS.contains(&&*lower)
}

/// Whether the text at an offset is in the name of a resource (`arn:aws:secretsmanager:…`) of ordinary length.
pub(crate) fn is_in_arn(text: &str, at: usize) -> bool {
    let is_part = |byte: &&u8| is_word(**byte) || b"-:/".contains(byte);
    let before = text.as_bytes()[..at].iter().rev().take(120).take_while(is_part).count();
    text.as_bytes()[at - before..].starts_with(b"arn:aws")
}

pub(crate) fn is_uuid(text: &[u8]) -> bool {
    let is_dash = |at: usize| [8, 13, 18, 23].contains(&at);
    let fits = |(at, byte): (usize, &u8)| if is_dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.iter().enumerate().all(fits)
}

pub(crate) fn is_object_id(text: &[u8]) -> bool {
    [40, 64].contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit)
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_word(*byte) && *byte != b'-')
}

pub(crate) fn starts_with(text: &[u8], word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
}

/// Of words of two bytes or more.
pub(crate) fn starts(words: impl Iterator<Item = &'static str>) -> Starts {
    let mut starts = [0; 1024];
    for word in words.map(str::as_bytes) {
        starts[first_two(word)] |= word.get(2).map_or(u32::MAX, |third| 1 << (third & 31));
    }
    starts
}

/// Whether a text of three bytes or more may start with one of the words; can have false positives.
pub(crate) fn may_start(starts: &Starts, text: &[u8]) -> bool {
    text.len() > 2 && starts[first_two(text)] >> (text[2] & 31) & 1 == 1
}

fn first_two(text: &[u8]) -> usize {
    usize::from(text[0] & 31) << 5 | usize::from(text[1] & 31)
}
