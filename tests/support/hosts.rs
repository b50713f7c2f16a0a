//! A host of pull requests on the loopback address, with the answers of the APIs of GitHub and GitLab as far as the recipes ask them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::http::{Reply, Request, Server};

/// Which API it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Api {
    GitHub,
    GitLab,
}

/// The state of one pull request, its number 7.
#[derive(Debug, Clone)]
pub struct State {
    pub api: Api,
    /// The token that may write; others may only read.
    pub token: &'static str,
    /// The user of that token; `None` if it is one that cannot ask who it is.
    pub me: Option<&'static str>,
    pub description: Option<String>,
    /// The authors and texts of the comments, oldest first; the number of each is its place.
    pub comments: Vec<(String, String)>,
    /// Answers to give first: a status and its headers.
    pub failing: Vec<(u16, Vec<(&'static str, String)>)>,
}

/// A running host.
pub struct Host {
    server: Server,
    pub state: Arc<Mutex<State>>,
}

/// The most characters of a text.
const LONGEST: usize = 65_536;

impl Host {
    pub fn new(api: Api) -> Self {
        let state = Arc::new(Mutex::new(State {
            api,
            token: "token-that-writes",
            me: None,
            description: Some("By hand.\r\n\r\nTwo  lines \r\n".to_owned()),
            comments: Vec::new(),
            failing: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        let server = Server::new(move |request| shared.lock().expect("no panic").answer(request));
        Host { server, state }
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The requests since the last call, as `METHOD path`.
    pub fn take(&self) -> Vec<String> {
        self.server.take().into_iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }

    pub fn state<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        see(&mut self.state.lock().expect("no panic"))
    }
}

impl State {
    fn author(&self) -> String {
        let default = if self.api == Api::GitHub { "github-actions[bot]" } else { "project_1_bot" };
        self.me.unwrap_or(default).to_owned()
    }

    fn comment(&self, number: usize) -> Value {
        let (author, text) = &self.comments[number];
        match self.api {
            Api::GitHub => json!({"id": number, "user": {"login": author, "type": "Bot"}, "body": text}),
            Api::GitLab => json!({"id": number, "author": {"username": author}, "body": text, "system": false}),
        }
    }

    fn answer(&mut self, request: &Request) -> Reply {
        if !self.failing.is_empty() {
            let (status, headers) = self.failing.remove(0);
            return Reply { headers, ..Reply::json(status, &json!({"message": "not now"})) };
        }
        let given = match self.api {
            Api::GitHub => request.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer ")),
            Api::GitLab => request.headers.get("private-token").map(String::as_str),
        };
        let may_write = given == Some(self.token);
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let (whole, comments, comment, key) = match self.api {
            Api::GitHub => {
                ("/repos/o/r/pulls/7", "/repos/o/r/issues/7/comments", "/repos/o/r/issues/comments/", "body")
            }
            Api::GitLab => (
                "/projects/42/merge_requests/7",
                "/projects/42/merge_requests/7/notes",
                "/projects/42/merge_requests/7/notes/",
                "description",
            ),
        };
        let update = if self.api == Api::GitHub { "PATCH" } else { "PUT" };
        let text = request.body[if path == whole { key } else { "body" }].as_str().map(str::to_owned);
        if request.method != "GET" && !may_write {
            return Reply::json(403, &json!({"message": "Resource not accessible by integration"}));
        }
        if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST) {
            return Reply::json(422, &json!({"message": "Validation Failed"}));
        }
        let number = path.strip_prefix(comment).and_then(|number| number.parse::<usize>().ok());
        match (request.method.as_str(), number) {
            ("GET", None) if path == "/user" => match self.me {
                Some(me) => Reply::json(200, &json!({"login": me, "username": me})),
                None if self.api == Api::GitLab => Reply::json(200, &json!({"username": self.author()})),
                None => Reply::json(403, &json!({"message": "Resource not accessible by integration"})),
            },
            ("GET", None) if path == whole => Reply::json(200, &json!({(key): self.description, "number": 7})),
            ("GET", None) if path == comments => {
                let value = |name: &str| {
                    let pair = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
                    pair.and_then(|value| value.parse::<usize>().ok())
                };
                let (size, page) = (value("per_page").unwrap_or(30).min(100), value("page").unwrap_or(1));
                let from = ((page - 1) * size).min(self.comments.len());
                let to = (from + size).min(self.comments.len());
                Reply::json(200, &(from..to).map(|number| self.comment(number)).collect())
            }
            (method, None) if method == update && path == whole => {
                self.description = text;
                Reply::json(200, &json!({(key): self.description}))
            }
            ("POST", None) if path == comments => {
                // hosts drop the line ends at the end
                let text = text.unwrap_or_default().trim_end().to_owned();
                self.comments.push((self.author(), text));
                Reply::json(201, &self.comment(self.comments.len() - 1))
            }
            (method, Some(number)) if method == update && number < self.comments.len() => {
                self.comments[number].1 = text.unwrap_or_default().trim_end().to_owned();
                Reply::json(200, &self.comment(number))
            }
            _ => Reply::json(404, &json!({"message": "Not Found"})),
        }
    }
}
