//! Why there are no vectors.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Why a source gives no vectors, or a file of vectors cannot be read.
#[derive(Debug)]
pub enum EmbedError {
    /// The URL cannot be used.
    Url(String),
    /// The program that sends requests is not installed.
    NoCurl,
    /// The endpoint cannot be reached, or was too slow.
    Unreachable(String),
    /// It refused, with a status of HTTP and its own words.
    Refused(u16, String),
    /// It refused for now, with a status of HTTP: too many requests, or overload; and for how long, if it says so.
    Busy(u16, Option<Duration>),
    /// Its answer cannot be used.
    Answer(String),
    /// The folder has no model that can be loaded.
    Model(PathBuf, String),
    /// The vectors are of another length than those that are kept: there, here.
    Length(usize, usize),
    /// The file of vectors, or a temporary one.
    File(std::io::Error),
}

impl From<std::io::Error> for EmbedError {
    fn from(error: std::io::Error) -> Self {
        EmbedError::File(error)
    }
}

impl fmt::Display for EmbedError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmbedError::Url(cause) => write!(out, "{cause}"),
            EmbedError::NoCurl => write!(out, "curl is not installed"),
            EmbedError::Unreachable(cause) => write!(out, "the endpoint cannot be reached: {cause}"),
            EmbedError::Refused(status, words) if words.is_empty() => write!(out, "the endpoint answered {status}"),
            EmbedError::Refused(status, words) => write!(out, "the endpoint answered {status}: {words}"),
            EmbedError::Busy(status, _) => write!(out, "the endpoint is busy: it answered {status}"),
            EmbedError::Answer(cause) => write!(out, "the answer of the endpoint cannot be used: {cause}"),
            EmbedError::Model(folder, cause) => write!(out, "{} has no usable model: {cause}", folder.display()),
            EmbedError::Length(kept, given) => {
                write!(out, "the vectors of the model have {given} numbers, the stored ones {kept}")
            }
            EmbedError::File(error) => write!(out, "the file of vectors cannot be read or written: {error}"),
        }
    }
}

impl std::error::Error for EmbedError {}
