//! The advisory lock that lets writers wait for each other instead of losing races; never held across the network.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result, empirica};
use crate::fault;
use crate::store::files::open_to_append;
use crate::store::files::paths::Paths;

/// The lock, held until dropped.
pub struct Lock {
    _file: File,
}

/// The error of a lock that another process holds.
pub fn held(path: &Path) -> Error {
    Error::storage(format!("another process holds {}", path.display()))
        .reason("it writes to the notes, or hangs while it does; the lock goes when it ends")
        .suggest("Write again when it has ended; empirica.lockTimeout says how long to wait for it.")
        .command(empirica("flush"))
}

/// The pause before try number `round`, 1 to 64 ms with jitter, so that waiting writers do not march in step.
pub fn pause(round: u32) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let noise = (u64::from(now.subsec_nanos()) ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9)) % 1000;
    let most = 1u64 << round.min(6);
    Duration::from_micros(500 + most * noise)
}

impl Lock {
    /// Takes the lock, trying for `timeout`.
    pub fn acquire(paths: &Paths, path: &Path, timeout: Duration) -> Result<Self> {
        let unusable = |error: std::io::Error| {
            Error::storage(format!("the lock {} cannot be used", path.display())).on_path(path, error)
        };
        if let Some(folder) = path.parent() {
            paths.sharing().make_folder(folder).map_err(unusable)?;
        }
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            // opening a pipe would wait for its other end
            return Err(unusable(std::io::Error::other("it is no file")));
        }
        fault::point("lock: to be opened").map_err(unusable)?;
        let open = open_to_append(paths.sharing(), path);
        let file = open.map_err(unusable)?;
        let deadline = Instant::now() + timeout;
        for round in 0.. {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(pause(round)),
                Err(TryLockError::WouldBlock) => {
                    return Err(held(path).caused_by(format!("it was waited for {} ms", timeout.as_millis())));
                }
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
        fault::step("lock: taken");
        Ok(Lock { _file: file })
    }
}
