//! What is fuzzed: each target takes any input and panics at a finding.

mod aliases;
mod blocks;
mod edit;
mod export;
mod frames;
mod hooks;
mod lines;
mod notes;
mod python;
mod records;
mod secrets;
mod shown;
mod tombstones;
mod transcript;
mod vectors;

/// The name of a target, which is also that of its folder in `corpus`, and its function.
pub type Target = (&'static str, fn(&[u8]));

pub const ALL: [Target; 15] = [
    ("aliases", aliases::fuzz),
    ("blocks", blocks::fuzz),
    ("edit", edit::fuzz),
    ("export", export::fuzz),
    ("frames", frames::fuzz),
    ("hooks", hooks::fuzz),
    ("lines", lines::fuzz),
    ("notes", notes::fuzz),
    ("python", python::fuzz),
    ("records", records::fuzz),
    ("secrets", secrets::fuzz),
    ("shown", shown::fuzz),
    ("tombstones", tombstones::fuzz),
    ("transcript", transcript::fuzz),
    ("vectors", vectors::fuzz),
];
