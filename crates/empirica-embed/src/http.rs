//! Requests with JSON to a server that the user named.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{Request, Uri};

use crate::error::EmbedError;

/// The most bytes of an answer: 64 vectors of 4,096 numbers of 20 digits, and as much again.
const ANSWER: u64 = 16 << 20;
/// The most characters of a server's message.
const WORDS: usize = 200;

/// A server.
pub struct Server {
    url: String,
    /// The header with the key, and its value.
    key: Option<(&'static str, String)>,
    agent: Agent,
}

impl Server {
    /// For a URL of http or https with a host. Credentials and a query in the URL are refused, as they would be told with it. A server
    /// on this machine is reached without a proxy.
    pub fn new(url: &str, key: Option<(&'static str, String)>) -> Result<Self, EmbedError> {
        if url.contains(['?', '#']) {
            return Err(EmbedError::Url("the URL has a query; keep a key in git's credential helper".to_owned()));
        }
        let parsed: Uri = url.parse().map_err(|_| EmbedError::Url(format!("'{url}' is not a URL")))?;
        let authority = parsed.authority().map(ToString::to_string).unwrap_or_default();
        match parsed.scheme_str() {
            Some("http" | "https") if authority.contains('@') => {
                return Err(EmbedError::Url(
                    "the URL has credentials; keep them in git's credential helper".to_owned(),
                ));
            }
            Some("http" | "https") if !authority.is_empty() => {}
            _ => return Err(EmbedError::Url(format!("the URL '{url}' begins with neither http:// nor https://"))),
        }
        // a redirection would take the texts and the key elsewhere
        let mut config = Agent::config_builder().max_redirects(0).http_status_as_error(false);
        if parsed.host().is_some_and(is_here) {
            config = config.proxy(None);
        }
        let agent = config.build().into();
        Ok(Server { url: url.trim_end_matches('/').to_owned(), key, agent })
    }

    /// Sends a request and reads its answer, before `until`. An answer other than 200, or of another form, is an error.
    pub fn json<T: DeserializeOwned>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        until: Instant,
    ) -> Result<T, EmbedError> {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some((name, key)) = &self.key {
            request = request.header(*name, key);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map(ToString::to_string).unwrap_or_default();
        let request = request.body(body).map_err(|error| EmbedError::Url(error.to_string()))?;
        let request = self.agent.configure_request(request).timeout_global(Some(left));
        let mut response = self.agent.run(request.build()).map_err(unreachable)?;
        let status = response.status().as_u16();
        let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let body = response.body_mut().with_config().limit(ANSWER).read_to_vec().map_err(unreachable)?;
        match status {
            200 => serde_json::from_slice(&body).map_err(|error| EmbedError::Answer(error.to_string())),
            408 | 429 | 502 | 503 | 504 => Err(EmbedError::Busy(status, after.map(Duration::from_secs))),
            _ => Err(EmbedError::Refused(status, message(&body))),
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

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn unreachable(error: ureq::Error) -> EmbedError {
    match error {
        ureq::Error::Timeout(_) => EmbedError::Unreachable("it took too long".to_owned()),
        ureq::Error::BodyExceedsLimit(most) => EmbedError::Answer(format!("it has more than {} MB", most >> 20)),
        error => EmbedError::Unreachable(error.to_string()),
    }
}
