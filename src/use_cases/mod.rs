//! The use cases, each with its rules and views; they print nothing. From the lowest up: `meaning`, `sync`, `collect`, `setup`, `handoff`, `task`,
//! `search`, `checkpoint`, `session`, `history`, `assess`, `claim`, `report`, `import`, `hooks`.

pub mod assess;
pub mod checkpoint;
pub mod claim;
pub mod collect;
pub mod handoff;
pub mod history;
pub mod hooks;
pub mod import;
pub mod meaning;
pub mod report;
pub mod search;
pub mod session;
pub mod setup;
pub mod sync;
pub mod task;
