//! The version, build and format of this program.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use empirica_notes::model::record::VERSION;

/// The version, and how it was built.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionView {
    /// The version of the program.
    version: &'static str,
    /// The version of the records that it writes. Those of other versions are kept and passed on.
    format_version: u32,
    /// The features that it was built with.
    features: Vec<&'static str>,
    /// The build.
    build: BuildView,
}

/// A build.
#[derive(Debug, Serialize, JsonSchema)]
struct BuildView {
    /// The platform that it runs on.
    target: &'static str,
    /// Whether it was optimized: `release` or `debug`.
    profile: &'static str,
    /// The commit of the sources; null unless it is a published build.
    commit: Option<&'static str>,
}

/// The answer of `--version`.
pub fn answer() -> Answer {
    let features = [
        ("mcp", cfg!(feature = "mcp")),
        ("exact-tokens", cfg!(feature = "exact-tokens")),
        ("fault-injection", cfg!(feature = "fault-injection")),
    ];
    let view = VersionView {
        version: env!("CARGO_PKG_VERSION"),
        format_version: VERSION,
        features: features.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect(),
        build: BuildView {
            target: env!("EMPIRICA_TARGET"),
            profile: env!("EMPIRICA_PROFILE"),
            commit: option_env!("EMPIRICA_COMMIT"),
        },
    };
    Answer::new(view).text(format!("git-empirica {}\n", env!("CARGO_PKG_VERSION"))).data()
}
