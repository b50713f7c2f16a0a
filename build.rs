//! Tells the program how it is built, and links it at a fixed address: relocating it takes a third of the start of a release, and most of one in a test. The heap, the
//! stack and the libraries stay at random ones.

// Cargo tells a build script everything in its environment.
#[allow(clippy::disallowed_methods)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["TARGET", "PROFILE"] {
        println!("cargo::rustc-env=EMPIRICA_{name}={}", std::env::var(name).unwrap_or_default());
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // with musl, the program is linked statically, which contrib/packages/build sees to
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && is("CARGO_CFG_TARGET_ARCH", "x86_64")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
