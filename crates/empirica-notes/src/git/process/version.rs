//! The oldest tested version of git.

/// The oldest version that the tests run with. Older ones are accepted; features they lack fail on use.
const OLDEST: (u32, u32) = (2, 39);

/// A hint for a git older than the tested versions; `None` for newer ones, and if the version cannot be parsed.
pub fn too_old(version: &str) -> Option<String> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().ok());
    let found = (numbers.next()??, numbers.next()??);
    let (major, minor) = OLDEST;
    let text =
        || format!("git {version} is older than {major}.{minor}, the oldest version this program is tested with");
    (found < OLDEST).then(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_old_or_not_whatever_follows_its_numbers() {
        for old in ["2.38.9", "1.9.1", "2.17.1 (Apple Git-112)", "2.9.GIT"] {
            assert!(too_old(old).is_some_and(|text| text.contains(old)), "{old}");
        }
        for fine in ["2.39.0", "2.39.5 (Apple Git-154)", "2.47.3", "3.0.0-rc1", "odd", ""] {
            assert_eq!(too_old(fine), None, "{fine}");
        }
    }
}
