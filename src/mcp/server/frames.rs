//! Frames on standard input and output: one JSON-RPC message per line. An unreadable one gets an error, and is never fatal.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError, mpsc as blocking};
use std::thread::JoinHandle;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

/// Longest frame in bytes, as in the SDK; a longer one gets an error.
pub const MAX_FRAME_BYTES: usize = 16 << 20;
/// Frames to read ahead of the present call.
const AHEAD: usize = 64;
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

type Received = RxJsonRpcMessage<RoleServer>;

/// A line of input.
enum Frame {
    Line(Vec<u8>),
    /// A line longer than [`MAX_FRAME_BYTES`].
    TooLong,
}

/// The unanswered requests, for which the end of the input waits.
#[derive(Default)]
struct Open {
    ids: Mutex<HashSet<RequestId>>,
    changed: Notify,
}

impl Open {
    fn with<T>(&self, change: impl FnOnce(&mut HashSet<RequestId>) -> T) -> T {
        let out = change(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_waiters();
        out
    }

    async fn none(&self) {
        loop {
            let changed = self.changed.notified();
            if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            changed.await;
        }
    }
}

/// The transport: one thread reads, another writes, so that neither blocks the other.
pub struct Frames {
    frames: mpsc::Receiver<Frame>,
    out: Option<blocking::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    open: Arc<Open>,
    /// Whether a request other than a ping arrived.
    has_started: bool,
}

impl Frames {
    /// Creates the transport over these streams. The reading thread ends with its stream, or with the process.
    pub fn new(input: impl Read + Send + 'static, mut output: impl Write + Send + 'static) -> Self {
        let (to_frames, frames) = mpsc::channel(AHEAD);
        std::thread::spawn(move || read(BufReader::with_capacity(1 << 16, input), &to_frames));
        let (out, lines) = blocking::channel::<Vec<u8>>();
        let writer = std::thread::spawn(move || {
            for line in lines {
                // the client closed its input; the end of its output ends the server
                if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                    return;
                }
            }
        });
        Frames { frames, out: Some(out), writer: Some(writer), open: Arc::default(), has_started: false }
    }

    fn write(&self, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        self.out.as_ref().ok_or_else(closed)?.send(line).map_err(|_| closed())
    }

    /// Answers an invalid message with an error. If that fails, the client has closed the connection.
    fn refuse(&self, id: Option<&Value>, code: i32, message: &str) {
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        let _ = self.write(error.to_string().into_bytes());
    }

    /// The message of a line; `None` for an ignored or refused one.
    fn message(&mut self, line: &[u8]) -> Option<Received> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return None;
        }
        let message = match serde_json::from_slice::<Received>(line) {
            Ok(message) => message,
            Err(error) => {
                self.unreadable(line, &error);
                return None;
            }
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.has_started |= !matches!(request.request, ClientRequest::PingRequest(_));
                self.open.with(|ids| ids.insert(request.id.clone()));
            }
            // ignore other messages before the first request
            _ if !self.has_started => return None,
            JsonRpcMessage::Notification(message) => {
                if let ClientNotification::CancelledNotification(cancelled) = &message.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.with(|ids| ids.remove(id));
                }
            }
            _ => {}
        }
        Some(message)
    }

    fn unreadable(&self, line: &[u8], error: &serde_json::Error) {
        match serde_json::from_slice::<Value>(line) {
            // an unknown notification gets no answer
            Ok(Value::Object(map)) if map.contains_key("method") && !map.contains_key("id") => {}
            Ok(Value::Object(map)) => {
                let id = map.get("id").filter(|id| id.is_string() || id.is_number());
                self.refuse(id, INVALID_REQUEST, "this is not a request of the protocol");
            }
            Ok(_) => self.refuse(None, INVALID_REQUEST, "a frame is one JSON object; batches are not taken"),
            Err(_) => self.refuse(None, PARSE_ERROR, &format!("the frame is not valid JSON: {error}")),
        }
    }
}

/// Sends lines until the stream ends or fails, or the receiver is closed. A truncated last line is ignored.
fn read(mut input: impl BufRead, to: &mpsc::Sender<Frame>) {
    loop {
        let mut line = Vec::new();
        let is_read = input.by_ref().take(MAX_FRAME_BYTES as u64 + 1).read_until(b'\n', &mut line).is_ok();
        let frame = match line.last() {
            Some(b'\n') => Frame::Line(line),
            _ if is_read && line.len() > MAX_FRAME_BYTES && input.skip_until(b'\n').is_ok() => Frame::TooLong,
            _ => return,
        };
        if to.blocking_send(frame).is_err() {
            return;
        }
    }
}

impl Transport<RoleServer> for Frames {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let written = serde_json::to_vec(&item).map_err(std::io::Error::other).and_then(|line| self.write(line));
        match &item {
            JsonRpcMessage::Response(response) => self.open.with(|ids| ids.remove(&response.id)),
            JsonRpcMessage::Error(error) => error.id.as_ref().is_some_and(|id| self.open.with(|ids| ids.remove(id))),
            _ => false,
        };
        std::future::ready(written)
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            match self.frames.recv().await {
                Some(Frame::Line(line)) => {
                    if let Some(message) = self.message(&line) {
                        return Some(message);
                    }
                }
                Some(Frame::TooLong) => {
                    self.refuse(None, INVALID_REQUEST, &format!("a frame can have {MAX_FRAME_BYTES} bytes at most"));
                }
                None => {
                    self.open.none().await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.out.take());
        if let Some(writer) = self.writer.take() {
            // write pending answers before the process ends
            let _ = writer.join();
        }
        Ok(())
    }
}
