//! Every fuzz target in one program: the variable FUZZ_TARGET names the one that runs.
#![no_main]

mod input;
mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let named = targets::ALL.iter().find(|(name, _)| *name == wanted);
    named.unwrap_or_else(|| panic!("{wanted} is no target")).1
});

fuzz_target!(|data: &[u8]| TARGET(data));
