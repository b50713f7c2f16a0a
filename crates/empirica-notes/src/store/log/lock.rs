//! The advisory lock of writers; never held across the network.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, empirica, lock_error};
use crate::fault;
use crate::store::files::open_to_append;
use crate::store::files::paths::Paths;

/// Held until dropped.
pub struct Lock {
    _file: File,
}

/// The error for a lock that another process holds.
pub fn held(path: &Path) -> Error {
    Error::storage(format!("cannot lock {}: another process holds it", path.display()))
        .reason("it is writing to the notes, or hangs; the lock is released when it exits")
        .suggest("Flush again after it exits; empirica.lockTimeout sets the time to wait.")
        .command(empirica("flush"))
}

/// The pause before retry `round`: up to 64 ms, with jitter so that waiting writers do not retry in step.
pub fn pause(round: u32) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let noise = (u64::from(now.subsec_nanos()) ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9)) % 1000;
    let most = 1u64 << round.min(6);
    Duration::from_micros(500 + most * noise)
}

/// Waits for a file lock; fails with `TimedOut` if another process still holds it after `timeout`.
pub fn wait(timeout: Duration, mut try_lock: impl FnMut() -> Result<(), TryLockError>) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    for round in 0.. {
        match try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(pause(round)),
            Err(TryLockError::WouldBlock) => {
                let cause = format!("timed out after {} ms waiting for the lock", timeout.as_millis());
                return Err(io::Error::new(ErrorKind::TimedOut, cause));
            }
            Err(TryLockError::Error(error)) => return Err(lock_error(error)),
        }
    }
    Ok(())
}

impl Lock {
    /// Takes the lock; fails if another process still holds it after `timeout`.
    pub fn acquire(paths: &Paths, path: &Path, timeout: Duration) -> Result<Self, Error> {
        let unusable =
            |error: io::Error| Error::storage(format!("cannot use the lock {}", path.display())).on_path(path, error);
        if let Some(folder) = path.parent() {
            paths.sharing().make_folder(folder).map_err(unusable)?;
        }
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            // opening a pipe would block
            return Err(unusable(io::Error::other("it is not a file")));
        }
        fault::point("lock: to be opened").map_err(unusable)?;
        let file = open_to_append(paths.sharing(), path).map_err(unusable)?;
        wait(timeout, || file.try_lock()).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => held(path).caused_by(error),
            _ => unusable(error),
        })?;
        fault::step("lock: taken");
        Ok(Lock { _file: file })
    }
}
