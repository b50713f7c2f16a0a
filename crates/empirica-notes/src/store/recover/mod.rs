//! What a ref that was set back, a partial clone or damage calls for.

pub mod complete;
pub mod heal;
pub mod health;
pub mod rescue;
#[cfg(feature = "fault-injection")]
pub mod torn;
