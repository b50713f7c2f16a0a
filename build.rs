//! Tells the program how it is built, and links the debug program at a fixed address. The tests start it tens of thousands of times, and relocating it is most of a start.

// Cargo tells a build script everything in its environment.
#[allow(clippy::disallowed_methods)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["TARGET", "PROFILE"] {
        println!("cargo::rustc-env=EMPIRICA_{name}={}", std::env::var(name).unwrap_or_default());
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
