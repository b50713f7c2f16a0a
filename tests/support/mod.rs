//! Support of the tests: repositories, remotes, environment.

pub mod harness;
pub mod http;
pub mod qdrant;
