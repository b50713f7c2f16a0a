//! Exchanges notes with remotes and repairs them: `sync`, `redact`, `doctor --repairs`, `flush`.

pub mod before_push;
pub mod exchange;
pub mod flush;
pub mod policy;
mod quoted;
pub mod redact;
pub mod remote;
pub mod repair;
pub mod run;
pub mod view;
pub mod yielding;
