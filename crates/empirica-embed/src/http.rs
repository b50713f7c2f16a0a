//! Requests with JSON to a server that the user named. curl sends them: it knows the proxies and certificates of the system.

use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::EmbedError;

/// The most bytes of an answer: 64 vectors of 4,096 numbers of 20 digits, and as much again.
const ANSWER: u64 = 16 << 20;
/// The most characters of a server's message.
const WORDS: usize = 200;
/// The exit code of curl for a request that took too long.
const TIMED_OUT: i32 = 28;

/// A server.
pub struct Server {
    url: String,
    /// The header with the key, and its value.
    key: Option<(&'static str, String)>,
    is_here: bool,
}

impl Server {
    /// For a URL of http or https with a host. Credentials and a query in the URL are refused, as they would be told with it. A server
    /// on this machine is reached without a proxy.
    pub fn new(url: &str, key: Option<(&'static str, String)>) -> Result<Self, EmbedError> {
        if url.contains(['?', '#']) {
            return Err(EmbedError::Url("the URL has a query; keep a key in git's credential helper".to_owned()));
        }
        if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(EmbedError::Url(format!("'{}' is not a URL", url.escape_debug())));
        }
        let rest =
            url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https")).map(|(_, rest)| rest);
        let authority = rest.map(|rest| rest.split('/').next().unwrap_or_default()).filter(|name| !name.is_empty());
        let Some(authority) = authority else {
            return Err(EmbedError::Url(format!("the URL '{url}' begins with neither http:// nor https://")));
        };
        if authority.contains('@') {
            let cause = "the URL has credentials; keep them in git's credential helper";
            return Err(EmbedError::Url(cause.to_owned()));
        }
        if key.as_ref().is_some_and(|(_, key)| key.contains(char::is_control)) {
            return Err(EmbedError::Url("the key has characters that no header can have".to_owned()));
        }
        Ok(Server { url: url.trim_end_matches('/').to_owned(), key, is_here: is_here(authority) })
    }

    /// Sends a request and reads its answer, before `until`. An answer other than 200, or of another form, is an error; a redirection is not
    /// followed, as it would take the texts and the key elsewhere.
    pub fn json<T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        until: Instant,
    ) -> Result<T, EmbedError> {
        let output = self.request(method, path, body, until)?;
        let (head, body) = split(&output).ok_or_else(|| EmbedError::Answer("it is not HTTP".to_owned()))?;
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        match status {
            200 => serde_json::from_slice(body).map_err(|error| EmbedError::Answer(error.to_string())),
            408 | 429 | 502 | 503 | 504 => {
                let fields = head.lines().filter_map(|line| line.split_once(':'));
                let after = fields.filter(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
                let after = after.filter_map(|(_, value)| value.trim().parse().ok()).next();
                Err(EmbedError::Busy(status, after.map(Duration::from_secs)))
            }
            _ => Err(EmbedError::Refused(status, message(body))),
        }
    }

    /// The answer as it came: the head of each response, and the body of the last.
    fn request(&self, method: &str, path: &str, body: Option<&Value>, until: Instant) -> Result<Vec<u8>, EmbedError> {
        let failed = |error: std::io::Error| EmbedError::Unreachable(format!("curl: {error}"));
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut curl = Command::new("curl");
        // the user's own settings of curl could follow redirections, or change what it prints
        curl.args(["--disable", "--silent", "--show-error", "--include", "--suppress-connect-headers", "--globoff"]);
        curl.args(["--proto", "=http,https", "--max-time", &format!("{:.3}", left.as_secs_f64())]);
        curl.args(["--request", method, "--url", &format!("{}{path}", self.url), "--config", "-"]);
        if self.is_here {
            curl.args(["--noproxy", "*"]);
        }
        // a file without a name: nothing is left of the texts, however this ends
        let mut file;
        if let Some(body) = body {
            file = tempfile::tempfile()?;
            file.write_all(body.to_string().as_bytes())?;
            file.rewind()?;
            rustix::io::fcntl_setfd(file.as_fd(), rustix::io::FdFlags::empty()).map_err(std::io::Error::from)?;
            curl.arg("--data-binary").arg(format!("@/dev/fd/{}", file.as_raw_fd()));
        }
        let child = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => EmbedError::NoCurl,
            _ => failed(error),
        })?;
        if let Some(mut config) = child.stdin.take() {
            // arguments can be seen by all users of the machine, so the key is none; a curl that ended already says why
            let _ = config.write_all(self.config(body.is_some()).as_bytes());
        }
        let mut output = Vec::new();
        let read = child.stdout.take().map(|stdout| stdout.take(ANSWER + 1).read_to_end(&mut output));
        let read = read.transpose().map_err(failed);
        if read.is_err() || output.len() as u64 > ANSWER {
            let _ = child.kill();
            let _ = child.wait();
            read?;
            return Err(EmbedError::Answer(format!("it has more than {} MB", ANSWER >> 20)));
        }
        let ended = child.wait_with_output().map_err(failed)?;
        match ended.status.code() {
            Some(0) => Ok(output),
            Some(TIMED_OUT) => Err(EmbedError::Unreachable("it took too long".to_owned())),
            _ => {
                let words = String::from_utf8_lossy(&ended.stderr);
                let words = words.lines().next().unwrap_or_default();
                let words = words.split_once(") ").map_or(words, |(_, words)| words);
                let words = if words.is_empty() { "curl was interrupted" } else { words };
                Err(EmbedError::Unreachable(words.chars().take(WORDS).collect()))
            }
        }
    }

    /// The headers, as curl's configuration has them.
    fn config(&self, has_body: bool) -> String {
        let mut out = String::new();
        let mut header = |name: &str, value: &str| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            out.push_str(&format!("header = \"{name}: {value}\"\n"));
        };
        if let Some((name, key)) = &self.key {
            header(name, key);
        }
        if has_body {
            header("content-type", "application/json");
        }
        // a server that does not know it would be waited for, with a large body
        out.push_str("header = \"expect:\"\n");
        out
    }
}

/// The head and the body of the last response; interim ones (100 Continue) come before it.
fn split(output: &[u8]) -> Option<(String, &[u8])> {
    let mut rest = output;
    loop {
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 4..];
        if !head.split_whitespace().nth(1)?.starts_with('1') {
            return head.starts_with("HTTP/").then_some((head, rest));
        }
    }
}

/// The message of an error, on one line.
fn message(body: &[u8]) -> String {
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let places = ["/error/message", "/status/error", "/error", "/message"];
    let said = places.into_iter().find_map(|place| json.pointer(place)?.as_str());
    let said = said.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    said.chars().take(WORDS).collect()
}

/// Whether a host, with or without a port, is this machine.
fn is_here(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next(),
        None => authority.split(':').next(),
    };
    let host = host.unwrap_or_default();
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
