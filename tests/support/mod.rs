//! Support of the tests: repositories, remotes, environment.

pub mod harness;
pub mod hosts;
pub mod http;
pub mod qdrant;
