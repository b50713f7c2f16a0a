//! Texts: their words, similarity, shortening, tokens and width.

pub mod imperative;
pub mod list;
pub mod passage;
pub mod query;
pub mod ranking;
pub mod shorten;
pub mod similarity;
pub mod stem;
pub mod tokens;
pub mod width;
pub mod words;
