//! Claims: findings, questions, dead ends, mistakes, evidence, decisions, goals.

pub mod add;
pub mod goal;
pub mod undo;
pub mod view;
