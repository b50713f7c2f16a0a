//! Every fuzz target without the fuzzer: with its corpus, and inputs derived from that and its dictionary, the same in every run.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, missing_docs)]

#[path = "../fuzz/src/input.rs"]
mod input;
#[path = "../fuzz/src/targets/mod.rs"]
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

const MAX_INPUT: usize = 8192;

/// Inputs derived for each target, unless a single one takes milliseconds.
const INPUTS: usize = 2_000;
const FEW: usize = 200;
const SLOW: [&str; 5] = ["frames", "notes", "python", "secrets", "transcript"];

struct Deriver {
    rng: TestRng,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Deriver {
    fn of(name: &str) -> Self {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
        let mut files: Vec<_> =
            fs::read_dir(fuzz.join("corpus").join(name)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let seeds = files.into_iter().map(|file| fs::read(file).unwrap()).collect();
        let dictionary = fs::read_to_string(fuzz.join("dictionaries").join(name)).unwrap_or_default();
        // a word is written as in JSON, but for bytes: \xNN
        let word = |line: &str| serde_json::from_str::<String>(&line.replace("\\x", "\\u00")).ok();
        let words =
            dictionary.lines().filter_map(word).filter_map(|word| word.chars().map(|c| u8::try_from(c).ok()).collect());
        Deriver { rng: TestRng::deterministic_rng(RngAlgorithm::XorShift), seeds, words: words.collect() }
    }

    fn below(&mut self, end: usize) -> usize {
        self.rng.next_u32() as usize % end.max(1)
    }

    /// A seed after one to four edits.
    fn input(&mut self) -> Vec<u8> {
        let seed = self.below(self.seeds.len());
        let mut out = self.seeds[seed].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(out.len() + 1);
            let end = (at + self.below(64)).min(out.len());
            match self.below(7) {
                0 if at < out.len() => out[at] ^= 1 << self.below(8),
                1 => out.insert(at, 0),
                2 => out.insert(at, self.rng.next_u32() as u8),
                3 => drop(out.drain(at..end)),
                4 => {
                    let copy = out[at..end].to_vec();
                    let to = self.below(out.len() + 1);
                    drop(out.splice(to..to, copy));
                }
                5 if !self.words.is_empty() => {
                    let word = self.below(self.words.len());
                    drop(out.splice(at..at, self.words[word].clone()));
                }
                _ => {
                    let other = self.below(self.seeds.len());
                    let from = self.below(self.seeds[other].len());
                    out.truncate(at);
                    out.extend(&self.seeds[other][from..]);
                }
            }
        }
        out.truncate(MAX_INPUT);
        out
    }
}

fn run((name, target): targets::Target) {
    let mut deriver = Deriver::of(name);
    let derived = if SLOW.contains(&name) { FEW } else { INPUTS };
    let seeds = deriver.seeds.clone();
    let inputs = seeds.into_iter().chain(std::iter::repeat_with(|| deriver.input()).take(derived));
    for input in inputs {
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
        assert!(outcome.is_ok(), "{name} failed with: {}", input.escape_ascii());
    }
}

#[test]
fn targets_hold_for_inputs_derived_from_the_corpus() {
    std::thread::scope(|scope| {
        for target in targets::ALL {
            scope.spawn(move || run(target));
        }
    });
}
