//! Receivers of a handoff: acceptances, questions, answers.

pub mod accept;
pub mod acceptance;
pub mod answer;
pub mod view;
