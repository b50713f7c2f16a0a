//! Reads JSON of any form: values of an unexpected form count as absent, and are never errors.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The limit of entries read from a list; longer lists in a row of 16 MB are not by an agent.
pub const ENTRIES: usize = 4096;

/// A value read from the forms that it has a method for; the default for all other forms.
pub trait Lenient<'de>: Default {
    fn from_bool(_: bool) -> Self {
        Self::default()
    }
    fn from_number(_: f64) -> Self {
        Self::default()
    }
    fn from_text(_: Cow<'de, str>) -> Self {
        Self::default()
    }
    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        skip_list(list)?;
        Ok(Self::default())
    }
    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        skip_object(object)?;
        Ok(Self::default())
    }
}

fn skip_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

/// Skips the rest of an object.
pub fn skip_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<(), A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

struct AnyForm<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for AnyForm<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::from_bool(value))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_number(number as f64))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::from_number(number as f64))
    }
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::from_object(object)
    }
}

/// Reads a value of any form.
pub fn read<'de, T: Lenient<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(AnyForm(PhantomData))
}

/// Implements `Deserialize` for a [`Lenient`] type, given the type and the generics.
macro_rules! deserialize {
    ($kind:ty, $($generics:tt)*) => {
        impl<$($generics)*> serde::de::Deserialize<'de> for $kind {
            fn deserialize<D: serde::de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::read::lenient::read(deserializer)
            }
        }
    };
}
pub(crate) use deserialize;

/// Defines structs read from objects. Of repeated keys the last counts; unknown keys are skipped. Other values give
/// the default.
macro_rules! lenient {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $kind:ty = $key:literal),* $(,)? })*) => {$(
        $(#[$about])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<'a> {
            $($(#[$of])* pub(crate) $field: $kind,)*
            _row: std::marker::PhantomData<&'a ()>,
        }

        impl<'de: 'a, 'a> $crate::read::lenient::Lenient<'de> for $name<'a> {
            fn from_object<A: serde::de::MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
                let mut out = Self::default();
                while let Some(key) = object.next_key::<$crate::read::lenient::Text>()? {
                    match key.get().unwrap_or_default() {
                        $($key => out.$field = object.next_value()?,)*
                        _ => { object.next_value::<serde::de::IgnoredAny>()?; }
                    }
                }
                Ok(out)
            }
        }

        $crate::read::lenient::deserialize!($name<'a>, 'de: 'a, 'a);
    )*};
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
}

impl<'de: 'a, 'a> Lenient<'de> for Text<'a> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Text(Some(text))
    }
}

deserialize!(Text<'a>, 'de: 'a, 'a);

/// A boolean; absent for other values.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Flag(Option<bool>);

impl Flag {
    pub fn is_true(self) -> bool {
        self.0 == Some(true)
    }

    pub fn is_false(self) -> bool {
        self.0 == Some(false)
    }
}

impl Lenient<'_> for Flag {
    fn from_bool(value: bool) -> Self {
        Flag(Some(value))
    }
}

deserialize!(Flag, 'de);

/// A number that is not negative; absent for other values. Fractions are truncated, and large numbers saturate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

impl Count {
    /// The number; 0 if absent.
    pub fn get(self) -> u64 {
        self.0.unwrap_or_default()
    }
}

impl Lenient<'_> for Count {
    fn from_number(number: f64) -> Self {
        // the cast saturates
        Count((number >= 0.0).then_some(number as u64))
    }
}

deserialize!(Count, 'de);

/// The first 4,096 entries of a list; empty for other values.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Lenient<'de> for List<T> {
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut out = Vec::new();
        while out.len() < ENTRIES {
            match list.next_element()? {
                Some(entry) => out.push(entry),
                None => return Ok(List(out)),
            }
        }
        skip_list(list)?;
        Ok(List(out))
    }
}

deserialize!(List<T>, 'de, T: Deserialize<'de>);

/// A text or a list; a single object counts as a list of one.
#[derive(Debug)]
pub enum Content<'a, T> {
    Text(Cow<'a, str>),
    /// As [`List`].
    Parts(Vec<T>),
}

impl<T> Default for Content<'_, T> {
    fn default() -> Self {
        Content::Parts(Vec::new())
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Lenient<'de> for Content<'a, T> {
    fn from_text(text: Cow<'de, str>) -> Self {
        Content::Text(text)
    }
    fn from_list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        List::from_list(list).map(|list| Content::Parts(list.0))
    }
    fn from_object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        let part = T::deserialize(MapAccessDeserializer::new(object))?;
        Ok(Content::Parts(vec![part]))
    }
}

deserialize!(Content<'a, T>, 'de: 'a, 'a, T: Deserialize<'de>);

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
