//! Lines without secrets: prose, code, hashes, ids, paths, placeholders.

use super::draw::{Draw, base64};

#[rustfmt::skip]
const WHO: [&str; 12] = ["the agent", "the reviewer", "a second session", "the token refresher", "our password form", "the key store",
    "the secret manager", "the build", "the parser", "the session handler", "the API client", "the credential helper"];
#[rustfmt::skip]
const DOES: [&str; 14] = ["fails on", "waits for", "reads", "does not close", "retries", "refuses", "passes the password to", "drops",
    "caches", "logs", "asks for the token of", "renames", "validates the key of", "depends on"];
#[rustfmt::skip]
const WHAT: [&str; 14] = ["the first request", "a secret that has expired", "an empty token", "the private key file", "utf8 input", "step 3 of 12",
    "HTTP/2 streams", "the api_key column", "a password: it is optional", "the x86_64 build", "IPv6 addresses", "base64 padding",
    "the OAuth2 flow", "Bearer tokens in tests"];
#[rustfmt::skip]
const WHY: [&str; 10] = ["because nobody set a limit", "when two run at once", "since v2.14.0-rc.3", "after 30s", "on macOS 14.5 only",
    "if TOKEN is unset", "as RFC 6750 says", "and the test covers it now", "so I moved it to auth/v2", "(see #4512)"];
#[rustfmt::skip]
const NAMES: [&str; 20] = ["token", "password", "secret", "api_key", "apiKey", "client_secret", "access_token", "refreshToken", "private_key",
    "credentials", "auth_token", "passphrase", "session_key", "csrf_token", "signing_key", "encryptionKey", "db_password", "SECRET_KEY",
    "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"];
#[rustfmt::skip]
const PLACEHOLDERS: [&str; 26] = ["YOUR_TOKEN_HERE", "$TOKEN", "${API_KEY}", "<token>", "xxxxxxxxxxxxxxxx", "changeme", "********", "{{ secrets.TOKEN }}",
    "${{ secrets.GITHUB_TOKEN }}", "your-api-key-here", "REPLACE_ME", "null", "None", "undefined", "\"\"", "...", "[redacted:jwt]",
    "process.env.API_KEY", "os.environ[\"TOKEN\"]", "std::env::var(\"TOKEN\")?", "config.token", "getToken()", "self.password", "args.secret",
    "example-secret", "%TOKEN%"];
#[rustfmt::skip]
const PARTS: [&str; 16] = ["src", "lib", "auth", "token", "secrets", "v2", "handlers", "http", "tests", "api_keys", "node_modules", "middleware",
    "password_reset", "x86_64-unknown-linux-gnu", "2024", "key_store"];
#[rustfmt::skip]
const IDENTIFIERS: [&str; 16] = ["parse", "Token", "Stream", "http2", "utf8", "sha256", "Key", "from", "Base64", "Secret", "password", "v1", "is", "Valid", "map", "Session"];
#[rustfmt::skip]
const TYPES: [&str; 8] = ["String", "Option<String>", "&str", "SecretString", "Vec<u8>", "string | undefined", "SecureRandom", "[u8; 32]"];

/// Generates a line; `at` selects the kind.
pub fn line(draw: &mut Draw, at: usize) -> String {
    match at % 24 {
        0..=3 => sentence(draw),
        4 => format!("{} fixed it: {}", draw.one(&["commit", "Commit", "revert of"]), draw.kind(b'h', 40)),
        5 => format!("sha256:{} {}", draw.kind(b'h', 64), sentence(draw)),
        6 => format!("{}  {}", draw.kind(b'h', 32), path(draw)),
        7 => format!("see {}, merged as {}", draw.kind(b'h', 7), draw.kind(b'h', 12)),
        8 => format!(
            "{} {} {}",
            draw.one(&["session", "handoff", "request id", "trace", "key", "token id"]),
            draw.uuid(),
            draw.one(&WHY)
        ),
        9 => format!("\"integrity\": \"sha512-{}==\",", draw.kind(b'b', 86)),
        10 => format!("checksum = \"{}\"", draw.kind(b'h', 64)),
        11 => image(draw),
        12 => path(draw),
        13 => format!("let {} = {}({});", identifier(draw), identifier(draw), draw.one(&NAMES)),
        14 => format!("{}{}{}", draw.one(&NAMES), draw.one(&["=", ": ", " = ", "=\"", ": '"]), draw.one(&PLACEHOLDERS)),
        15 => format!("pub {}: {},", draw.one(&NAMES), draw.one(&TYPES)),
        16 => url(draw),
        17 => format!(
            "{}@{}.{}.{}-beta.{}+build.{}",
            identifier(draw),
            draw.below(9),
            draw.below(90),
            draw.below(9),
            draw.below(9),
            draw.kind(b'd', 8)
        ),
        18 => code(draw),
        19 => log(draw),
        20 => format!("index {}..{} 100644", draw.kind(b'h', 10), draw.kind(b'h', 10)),
        21 => lock(draw),
        22 => numbers(draw),
        _ => odd(draw),
    }
}

fn sentence(draw: &mut Draw) -> String {
    format!("{} {} {} {}.", draw.one(&WHO), draw.one(&DOES), draw.one(&WHAT), draw.one(&WHY))
}

fn identifier(draw: &mut Draw) -> String {
    let count = 2 + draw.below(3);
    let glue = *draw.one(&["_", "", "-"]);
    (0..count).map(|_| *draw.one(&IDENTIFIERS)).collect::<Vec<_>>().join(glue)
}

fn path(draw: &mut Draw) -> String {
    let count = 2 + draw.below(4);
    let folders: Vec<&str> = (0..count).map(|_| *draw.one(&PARTS)).collect();
    let end = draw.one(&[".rs", ".test.ts", ".py:112:8", "_test.go", ".min.js", ".lock"]);
    format!("{}/{}{end}", folders.join("/"), identifier(draw))
}

fn image(draw: &mut Draw) -> String {
    let bytes: Vec<u8> = (0..90).map(|_| draw.next() as u8).collect();
    let kind = draw.one(&["png", "svg+xml", "woff2"]);
    format!("![logo](data:image/{kind};base64,iVBORw0KGgoAAAANSUhEUgAA{})", base64(&bytes))
}

fn url(draw: &mut Draw) -> String {
    let place = draw.one(&[
        "https://example.org",
        "http://localhost:8080",
        "https://git.example.org:8443",
        "ssh://git@git.example.org:22",
    ]);
    match draw.below(5) {
        0 => format!("{place}/a/{}/blob/{}/{}#L{}", identifier(draw), draw.kind(b'h', 40), path(draw), draw.below(900)),
        1 => format!("{place}/search?q={}&page={}&token=", identifier(draw), draw.below(90)),
        2 => format!("{place}/objects/{}", draw.uuid()),
        3 => format!("https://user:password@example.org/{}", path(draw)),
        _ => format!("{place}/@{}/{}?v={}", identifier(draw), path(draw), draw.kind(b'h', 8)),
    }
}

fn code(draw: &mut Draw) -> String {
    let (name, other) = (*draw.one(&NAMES), identifier(draw));
    match draw.below(10) {
        0 => format!("if {name} == {other} {{ return Err(Error::Invalid{}) }}", draw.below(90)),
        1 => format!("fn {other}({name}: &str) -> Result<Token2, AuthError> {{"),
        2 => format!("assert_eq!({name}.len(), {});", draw.below(99)),
        3 => format!("const {name} = await fetchToken(user.id, {{ scope: 'read:{other}' }});"),
        4 => format!("self.{name} = {name} or settings.{other}"),
        5 => format!("{name} := os.Getenv(\"APP_{}\")", other.to_uppercase().replace('-', "_")),
        6 => format!("export {name}=$(pass show deploy/{other})"),
        7 => format!("--{name} \"$(cat /run/secrets/{other})\""),
        8 => format!("{name}: !vault.read('kv/data/{other}')"),
        _ => format!("expect(screen.getByLabelText('{name}: {other}')).toBeVisible()"),
    }
}

fn log(draw: &mut Draw) -> String {
    let level = draw.one(&["INFO", "WARN", "DEBUG"]);
    let second = draw.below(60);
    let message = match draw.below(5) {
        0 => format!("password changed for user {}", draw.below(90_000)),
        1 => format!("token expired, refreshing; attempt={} request_id={}", draw.below(9), draw.uuid()),
        2 => format!("etag=\"{}\" cache-key={}", draw.kind(b'h', 32), draw.kind(b'h', 16)),
        3 => format!("authorization: missing; path=/{}", path(draw)),
        _ => {
            format!("trace={}-{} span={} tokens=128000", draw.kind(b'h', 32), draw.kind(b'h', 16), draw.kind(b'h', 16))
        }
    };
    format!("2026-11-21T21:48:{second:02}.{}Z {level} auth::session: {message}", draw.kind(b'd', 3))
}

fn lock(draw: &mut Draw) -> String {
    match draw.below(5) {
        0 => format!(
            "\"resolved\": \"https://registry.example.org/{0}/-/{0}-1.{1}.0.tgz\",",
            identifier(draw),
            draw.below(50)
        ),
        1 => format!("golang.org/x/crypto v0.{}.0 h1:{}=", draw.below(40), draw.kind(b'b', 43)),
        2 => format!("    --hash=sha256:{} \\", draw.kind(b'h', 64)),
        3 => format!("uses: actions/checkout@{} # v4", draw.kind(b'h', 40)),
        _ => format!("FROM node:22-alpine@sha256:{}", draw.kind(b'h', 64)),
    }
}

fn numbers(draw: &mut Draw) -> String {
    match draw.below(5) {
        0 => format!(
            "build {} took {}.{}s, {} tokens in, {} out",
            draw.kind(b'd', 10),
            draw.below(99),
            draw.below(9),
            draw.kind(b'd', 6),
            draw.below(9999)
        ),
        1 => format!("0x{} 0x{}", draw.kind(b'h', 16), draw.kind(b'h', 8)),
        2 => format!(
            "192.168.{}.{}:{} fe80::{}:{}",
            draw.below(255),
            draw.below(255),
            draw.below(65_000),
            draw.kind(b'h', 4),
            draw.kind(b'h', 4)
        ),
        3 => format!("mac {} serial C02{}", draw.kind(b'h', 12), draw.kind(b'A', 8)),
        _ => format!("| {} | {} | {} |", identifier(draw), draw.below(9999), draw.one(&TYPES)),
    }
}

fn odd(draw: &mut Draw) -> String {
    match draw.below(8) {
        0 => format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} me@host", draw.kind(b'b', 43)),
        1 => format!("SHA256:{} is the fingerprint of the key", draw.kind(b'b', 43)),
        2 => format!("the public key is age1{}", draw.kind(b'a', 58)),
        3 => format!("password hash algorithm: Argon2id m={} t=3 p=4", draw.below(65_536)),
        4 => format!("secret name: prod/{}/db-password-v{}", identifier(draw), draw.below(9)),
        5 => format!("key {} of {} in s3://bucket/{}", draw.below(9), draw.below(99), path(draw)),
        6 => format!("the token is {} characters, the password at least {}", draw.below(99), draw.below(20)),
        _ => format!("git empirica show {} says why the secret scan kept {}", draw.uuid(), draw.kind(b'h', 8)),
    }
}
