//! Texts: their words, similarity, shortening, tokens and width.

pub mod imperative;
pub mod list;
pub mod passage;
pub mod query;
pub mod shorten;
pub mod similarity;
pub mod tokens;
pub mod width;
pub mod words;
