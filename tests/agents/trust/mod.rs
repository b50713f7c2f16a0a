//! What others logged is data to an agent: no text ends its fence, and a setting keeps texts from it.

pub mod corpus;
pub mod inject;
