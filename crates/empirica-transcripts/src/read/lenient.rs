//! Reads JSON of any form: values of an unexpected form count as absent, and are never errors.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The limit of entries read from a list; longer lists in a row of 16 MB are not by an agent.
pub const ENTRIES: usize = 4096;

/// Skips the rest of a list.
pub fn past_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Skips the rest of an object.
pub fn past_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Visitor methods for unexpected kinds of values: each returns the default.
macro_rules! otherwise {
    ($($kind:ident),*) => { $($crate::read::lenient::otherwise!(@ $kind);)* };
    (@ numbers) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@ bool) => { fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@ null) => { fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@ string) => { fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@ list) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            $crate::read::lenient::past_list(list)?;
            Ok(Default::default())
        }
    };
    (@ object) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
            $crate::read::lenient::past_object(object)?;
            Ok(Default::default())
        }
    };
    (@ anything) => {
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("any JSON") }
    };
}
pub(crate) use otherwise;

/// Defines a struct read from an object. Of repeated keys the last counts; unknown keys are skipped. Other values give
/// the default.
macro_rules! lenient {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $kind:ty = $key:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<'a> {
            $($(#[$of])* pub(crate) $field: $kind,)*
            _row: std::marker::PhantomData<&'a ()>,
        }

        impl<'de: 'a, 'a> serde::de::Deserialize<'de> for $name<'a> {
            fn deserialize<D: serde::de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Read<'a>(std::marker::PhantomData<&'a ()>);
                impl<'de: 'a, 'a> serde::de::Visitor<'de> for Read<'a> {
                    type Value = $name<'a>;
                    $crate::read::lenient::otherwise!(anything, numbers, bool, null, string, list);
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                        let mut out = $name::default();
                        while let Some(key) = object.next_key::<$crate::read::lenient::Text>()? {
                            match key.get().unwrap_or_default() {
                                $($key => out.$field = object.next_value()?,)*
                                _ => { object.next_value::<serde::de::IgnoredAny>()?; }
                            }
                        }
                        Ok(out)
                    }
                }
                deserializer.deserialize_any(Read(std::marker::PhantomData))
            }
        }
    };
}
pub(crate) use lenient;

/// A text; absent for other values.
#[derive(Debug, Default, Clone)]
pub struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text, unless absent or blank.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.trim().is_empty())
    }

    /// Sets `place`, unless the text is absent or blank.
    pub fn set(&self, place: &mut Option<String>) {
        if let Some(text) = self.get() {
            *place = Some(text.to_owned());
        }
    }

    /// As [`Text::set`], unless `place` has a text already.
    pub fn set_first(&self, place: &mut Option<String>) {
        if place.is_none() {
            self.set(place);
        }
    }

    /// Wraps a text.
    pub fn of(text: Cow<'a, str>) -> Self {
        Text(Some(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Read<'a> {
            type Value = Text<'a>;
            otherwise!(anything, numbers, bool, null, list, object);
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(text))))
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
    }
}

/// A boolean; absent for other values.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Flag(Option<bool>);

impl Flag {
    /// Whether it is `true`.
    pub fn is_set(self) -> bool {
        self.0 == Some(true)
    }

    /// Whether it is `false`, not absent.
    pub fn is_denied(self) -> bool {
        self.0 == Some(false)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Flag;
            otherwise!(anything, numbers, null, string, list, object);
            fn visit_bool<E>(self, value: bool) -> Result<Flag, E> {
                Ok(Flag(Some(value)))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// A number that is not negative; absent for other values. Fractions are truncated, and large numbers saturate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count(Option<u64>);

impl Count {
    /// The number, if any.
    pub fn known(self) -> Option<u64> {
        self.0
    }

    /// The number; 0 if absent.
    pub fn get(self) -> u64 {
        self.0.unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Count;
            otherwise!(anything, bool, null, string, list, object);
            fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
                Ok(Count(Some(number)))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Count, E> {
                Ok(Count(u64::try_from(number).ok()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Count, E> {
                // the cast saturates
                Ok(Count((number >= 0.0).then_some(number as u64)))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// The first 4,096 entries of a list; empty for other values.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

fn entries<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut out = Vec::new();
    while out.len() < ENTRIES {
        match list.next_element()? {
            Some(entry) => out.push(entry),
            None => return Ok(out),
        }
    }
    past_list(list)?;
    Ok(out)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Read<T> {
            type Value = List<T>;
            otherwise!(anything, numbers, bool, null, string, object);
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<List<T>, A::Error> {
                entries(list).map(List)
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
    }
}

/// A text or a list; a single object counts as a list of one.
#[derive(Debug)]
pub enum Content<'a, T> {
    /// A text.
    Text(Cow<'a, str>),
    /// A list, as [`List`]; empty for other values.
    Parts(Vec<T>),
}

impl<T> Default for Content<'_, T> {
    fn default() -> Self {
        Content::Parts(Vec::new())
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Content<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<'a, T>(PhantomData<(&'a (), T)>);
        impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for Read<'a, T> {
            type Value = Content<'a, T>;
            otherwise!(anything, numbers, bool, null);
            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
                let part = T::deserialize(MapAccessDeserializer::new(object))?;
                Ok(Content::Parts(vec![part]))
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                entries(list).map(Content::Parts)
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
    }
}

/// Calls `read` with a text, then with the repaired one if it failed. Returns whether it succeeded.
pub fn is_read(text: &str, mut read: impl FnMut(&str) -> bool) -> bool {
    read(text) || repaired(text).is_some_and(|text| read(&text))
}

/// Parses a JSON string, repaired if necessary; `None` for other values.
pub fn string(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str(raw).ok().or_else(|| serde_json::from_str(&repaired(raw)?).ok())
}

/// Repairs JSON that is valid but cannot be parsed into text or numbers: replaces lone surrogates by U+FFFD, and
/// numbers out of range by a large one. `None` if nothing needed repair.
pub fn repaired(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut kept, mut in_string) = (0, 0, false);
    let unit = |at: usize| {
        let digits = text.get(at + 2..at + 6).filter(|_| bytes[at..].starts_with(b"\\u"))?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    };
    while at < bytes.len() {
        match bytes[at] {
            b'"' => (at, in_string) = (at + 1, !in_string),
            b'\\' if in_string => match unit(at) {
                Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
                Some(0xD800..=0xDFFF) => {
                    out.push_str(&text[kept..at]);
                    out.push('\u{fffd}');
                    (at, kept) = (at + 6, at + 6);
                }
                _ => at += 2,
            },
            b'0'..=b'9' if !in_string => {
                let part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                let end = at + bytes[at..].iter().take_while(part).count();
                if text[at..end].parse::<f64>().is_ok_and(f64::is_infinite) {
                    out.push_str(&text[kept..at]);
                    out.push_str("1e300");
                    kept = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    (kept > 0).then(|| {
        out.push_str(&text[kept..]);
        out
    })
}
