//! Identifiers: UUIDv7 for records, which orders them; random UUIDv4 for sessions.

use std::cmp::Reverse;
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::{NoContext, Timestamp, Uuid};

/// The greatest lead over the local clock that an id may have to count for ordering, in milliseconds (24 h).
pub const MAX_AHEAD_MS: u64 = 24 * 60 * 60 * 1000;

/// Whether a text is a UUID in lower case with hyphens.
fn is_canonical(text: &str) -> bool {
    let is_of_uuid = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_of_uuid)
}

macro_rules! uuid_text {
    ($name:ident, $what:literal) => {
        #[doc = $what]
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[schemars(inline)]
        pub struct $name(String);

        impl $name {
            /// Parses the canonical lower-case hyphenated form; `None` for anything else.
            pub fn parse(text: &str) -> Option<Self> {
                is_canonical(text).then(|| $name(text.to_owned()))
            }

            /// The canonical text, 36 characters.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                match is_canonical(&text) {
                    true => Ok($name(text)),
                    false => Err(serde::de::Error::custom("not a UUID in its canonical form")),
                }
            }
        }
    };
}

uuid_text!(Id, "The id of a record: a UUIDv7, so that ids sort by creation time.");
uuid_text!(SessionId, "The id of a session: a random UUIDv4.");

impl Id {
    /// A new id with the time `ms`, milliseconds since 1970.
    pub fn at(ms: u64) -> Self {
        let time = Timestamp::from_unix(NoContext, ms / 1000, (ms % 1000) as u32 * 1_000_000);
        Id(Uuid::new_v7(time).to_string())
    }

    /// A new id with the time `ms` that only who knows `secret` can make: its last 40 bits are the hash of the secret and the
    /// others.
    pub fn sealed(ms: u64, secret: &[u8]) -> Self {
        let random = Uuid::new_v4().into_bytes();
        let bits = std::array::from_fn(|at| random[at % 5]);
        let mut id = uuid::Builder::from_unix_timestamp_millis(ms, &bits).into_uuid().into_bytes();
        let seal = seal(&id, secret);
        id[SEALED..].copy_from_slice(&seal);
        Id(Uuid::from_bytes(id).to_string())
    }

    /// Whether [`Id::sealed`] made it with this secret; of another id once in 2^40.
    pub fn is_sealed_by(&self, secret: &[u8]) -> bool {
        Uuid::try_parse(&self.0).is_ok_and(|id| {
            let id = id.into_bytes();
            id[SEALED..] == seal(&id, secret)
        })
    }

    /// The id with the time `ms` and these other bits: a function of its input.
    pub fn derived(ms: u64, bits: &[u8; 10]) -> Self {
        Id(uuid::Builder::from_unix_timestamp_millis(ms, bits).into_uuid().to_string())
    }

    /// The time in the id, milliseconds since 1970; 0 if it is not a UUIDv7.
    pub fn ms(&self) -> u64 {
        let Ok(id) = Uuid::try_parse(&self.0) else { return 0 };
        match id.get_timestamp() {
            Some(time) if id.get_version_num() == 7 => {
                let (seconds, nanos) = time.to_unix();
                seconds * 1000 + u64::from(nanos) / 1_000_000
            }
            _ => 0,
        }
    }

    /// The last 8 hex digits (the first ones are the clock, equal for neighbors).
    pub fn short(&self) -> &str {
        &self.0[self.0.len() - 8..]
    }
}

/// Where the hash in a sealed id begins.
const SEALED: usize = 11;

fn seal(id: &[u8; 16], secret: &[u8]) -> [u8; 5] {
    let hash = Sha256::new().chain_update(b"empirica id\0").chain_update(secret).chain_update(&id[..SEALED]).finalize();
    std::array::from_fn(|at| hash[at])
}

impl SessionId {
    /// A new random id.
    pub fn random() -> Self {
        SessionId(Uuid::new_v4().to_string())
    }

    /// The id with these bits: a function of its input.
    pub fn derived(bits: [u8; 16]) -> Self {
        SessionId(uuid::Builder::from_random_bytes(bits).into_uuid().to_string())
    }

    /// The first 8 hex digits.
    pub fn short(&self) -> &str {
        &self.0[..8]
    }
}

/// The time from which ids are ahead of a clock. Whoever pushes may write any time; such ids come last in what is listed newest
/// first, so that they hide no other. New ids follow those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon(u64);

impl Horizon {
    /// [`MAX_AHEAD_MS`] after `now`.
    pub fn after(now: DateTime<Utc>) -> Self {
        let ms = (now + TimeDelta::milliseconds(MAX_AHEAD_MS as i64)).timestamp_millis();
        Horizon(u64::try_from(ms).unwrap_or_default().min((1 << 48) - 1))
    }

    /// The first 12 hex digits of the least id ahead.
    pub fn digits(self) -> String {
        format!("{:012x}", self.0)
    }

    /// Whether an id is ahead; by its first 48 bits, as ids sort, also if they are no time.
    pub fn is_ahead(self, id: &Id) -> bool {
        let digits = id.0.bytes().filter_map(|byte| char::from(byte).to_digit(16)).take(12);
        digits.fold(0, |number, digit| number << 4 | u64::from(digit)) >= self.0
    }

    /// The key that sorts ids newest first, those ahead last.
    pub fn newest_first(self, id: &Id) -> (bool, Reverse<Id>) {
        (self.is_ahead(id), Reverse(id.clone()))
    }
}

/// The time for a new id: now, or 1 ms after the newest known id, unless that is over 24 h ahead.
pub fn next_ms(now_ms: u64, newest_known_ms: u64) -> u64 {
    if newest_known_ms > now_ms + MAX_AHEAD_MS { now_ms } else { now_ms.max(newest_known_ms + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_keep_it() {
        let (a, b) = (Id::at(1_700_000_000_123), Id::at(1_700_000_000_124));
        assert!(a < b);
        assert_eq!(a.ms(), 1_700_000_000_123);
        assert_eq!(a.short().len(), 8);
        assert!(a.as_str().ends_with(a.short()));
    }

    #[test]
    fn only_the_secret_makes_and_recognizes_a_sealed_id() {
        let ids: Vec<Id> = (0..200).map(|_| Id::sealed(1_700_000_000_123, b"secret")).collect();
        for id in &ids {
            assert!(Id::parse(id.as_str()).is_some() && id.ms() == 1_700_000_000_123, "{id}");
            assert!(id.is_sealed_by(b"secret") && !id.is_sealed_by(b"Secret"), "{id}");
        }
        let mut shorts: Vec<&str> = ids.iter().map(Id::short).collect();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!(shorts.len(), 200);
        assert!(!Id::at(1_700_000_000_123).is_sealed_by(b"secret"));
        let (head, tail) = ids[0].as_str().split_at(30);
        let other = if tail.starts_with('0') { "1" } else { "0" };
        assert!(!Id::parse(&format!("{head}{other}{}", &tail[1..])).unwrap().is_sealed_by(b"secret"));
    }

    #[test]
    fn only_canonical_text_is_an_id() {
        let id = Id::at(5);
        assert!(Id::parse(id.as_str()).is_some());
        assert!(Id::parse(&id.as_str().to_uppercase()).is_none());
        assert!(Id::parse(&id.as_str().replace('-', "")).is_none());
        assert!(Id::parse("--exec").is_none());
    }

    #[test]
    fn ids_a_day_ahead_of_the_clock_come_last() {
        let now = DateTime::from_timestamp_millis(1_700_000_000_000).unwrap();
        let horizon = Horizon::after(now);
        let at = |ms: u64| Id::at(1_700_000_000_000 + ms);
        assert!(!horizon.is_ahead(&at(MAX_AHEAD_MS - 1)) && horizon.is_ahead(&at(MAX_AHEAD_MS)));
        let no_time = Id::parse("ffffffff-ffff-4fff-bfff-ffffffffffff").unwrap();
        assert!(no_time.ms() == 0 && horizon.is_ahead(&no_time));
        let mut ids = vec![at(MAX_AHEAD_MS), at(1), no_time.clone(), at(2)];
        let expected = [ids[3].clone(), ids[1].clone(), no_time, ids[0].clone()];
        ids.sort_by_key(|id| horizon.newest_first(id));
        assert_eq!(ids, expected);
        assert_eq!(Horizon::after(DateTime::<Utc>::MAX_UTC - TimeDelta::days(2)).digits(), "ffffffffffff");
    }

    #[test]
    fn the_next_id_is_past_the_newest_unless_that_is_a_day_ahead() {
        assert_eq!(next_ms(100, 50), 100);
        assert_eq!(next_ms(100, 100), 101);
        assert_eq!(next_ms(100, 100 + MAX_AHEAD_MS), 101 + MAX_AHEAD_MS);
        assert_eq!(next_ms(100, 101 + MAX_AHEAD_MS), 100);
    }
}
