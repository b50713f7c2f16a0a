//! Kinds, states and surroundings of repositories, and the index over their notes.

pub mod index;
pub mod index_faults;
pub mod index_grows;
pub mod index_kinds;
mod index_many;
pub mod kinds;
pub mod kinds_asked;
pub mod states;
pub mod surroundings;
