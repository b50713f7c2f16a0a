//! Claims: findings, questions, dead ends, mistakes, evidence, decisions, goals.

pub mod add;
pub mod correct;
pub mod goal;
pub mod scope;
pub mod undo;
pub mod view;
