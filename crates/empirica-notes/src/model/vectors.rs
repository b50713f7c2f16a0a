//! The 13 epistemic vectors and a partial set of their values.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

crate::named_enum! {
    /// One of the 13 vectors, in display order.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Vector {
        /// Alignment with the task.
        Engagement = "engagement",
        /// What is understood.
        Know = "know",
        /// Capability to act.
        Do = "do",
        /// Situational awareness.
        Context = "context",
        /// Sharpness of the mental model.
        Clarity = "clarity",
        /// Internal consistency.
        Coherence = "coherence",
        /// Quality of the information.
        Signal = "signal",
        /// Complexity still to be absorbed; less is better.
        Density = "density",
        /// Grasp of the present state of the work.
        State = "state",
        /// Grasp of what changed.
        Change = "change",
        /// How much of the work is done.
        Completion = "completion",
        /// Grasp of what the work will affect.
        Impact = "impact",
        /// What is unknown; less is better.
        Uncertainty = "uncertainty",
    }
}

/// The part of the overall confidence that a vector counts towards (foundation, comprehension, execution,
/// engagement).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// know, do, context.
    Foundation,
    /// clarity, coherence, signal, density.
    Comprehension,
    /// state, change, completion, impact.
    Execution,
    /// engagement alone.
    Engagement,
}

impl Vector {
    /// The meaning of the value 1.
    pub fn meaning(self) -> &'static str {
        match self {
            Vector::Engagement => "aligned with the task and its goal",
            Vector::Know => "everything the task needs is understood",
            Vector::Do => "able to act: skills and tools are available",
            Vector::Context => "aware of the situation: code, users, constraints",
            Vector::Clarity => "the mental model is sharp",
            Vector::Coherence => "the knowledge is consistent in itself",
            Vector::Signal => "the information is of the best quality",
            Vector::Density => "too complex and deep to take in; less is better",
            Vector::State => "the present state of the work is understood",
            Vector::Change => "all changes planned at the beginning are made",
            Vector::Completion => "all of the work is done",
            Vector::Impact => "the work is as important as work can be",
            Vector::Uncertainty => "nothing is known for certain; less is better",
        }
    }

    /// Whether smaller values are better.
    pub fn less_is_better(self) -> bool {
        matches!(self, Vector::Uncertainty | Vector::Density)
    }

    /// The tier; `None` for uncertainty, which does not count towards the overall confidence.
    pub fn tier(self) -> Option<Tier> {
        match self {
            Vector::Know | Vector::Do | Vector::Context => Some(Tier::Foundation),
            Vector::Clarity | Vector::Coherence | Vector::Signal | Vector::Density => Some(Tier::Comprehension),
            Vector::State | Vector::Change | Vector::Completion | Vector::Impact => Some(Tier::Execution),
            Vector::Engagement => Some(Tier::Engagement),
            Vector::Uncertainty => None,
        }
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Errors of a vector argument.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VectorError {
    /// No vector has this name.
    #[error("there is no vector '{name}'")]
    Unknown {
        /// The given name.
        name: String,
        /// The most similar name, if any is similar.
        nearest: Option<&'static str>,
    },
    /// A value that is not a number in [0, 1].
    #[error("the value of '{name}' must be a number from 0 to 1, not '{value}'")]
    Value {
        /// The vector.
        name: String,
        /// The given value.
        value: String,
    },
    /// Not `NAME=VALUE`.
    #[error("'{0}' is not of the form NAME=VALUE")]
    Form(String),
    /// A vector was given twice.
    #[error("the vector '{0}' is given twice")]
    Twice(&'static str),
    /// No value was given.
    #[error("no vector was given")]
    Empty,
}

impl FromStr for Vector {
    type Err = VectorError;

    fn from_str(text: &str) -> Result<Self, VectorError> {
        let lower = text.trim().to_ascii_lowercase();
        Vector::parse(&lower).ok_or_else(|| {
            let names = Vector::ALL.map(Vector::name);
            let nearest = similar::get_close_matches(lower.as_str(), &names, 1, 0.5).first().copied();
            VectorError::Unknown { name: text.trim().to_owned(), nearest }
        })
    }
}

/// Values for some of the vectors, each in [0, 1].
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(from = "serde_json::Map<String, serde_json::Value>")]
pub struct Vectors([Option<f64>; 13]);

impl Vectors {
    /// The value of a vector; `None` if not given.
    pub fn get(&self, vector: Vector) -> Option<f64> {
        self.0[vector as usize]
    }

    /// Sets a value. Returns `false` and changes nothing if it is not in [0, 1].
    pub fn set(&mut self, vector: Vector, value: f64) -> bool {
        let fits = (0.0..=1.0).contains(&value);
        if fits {
            // -0.0 is in range and would print as "-0"
            self.0[vector as usize] = Some(value + 0.0);
        }
        fits
    }

    /// The given values, in display order.
    pub fn iter(&self) -> impl Iterator<Item = (Vector, f64)> + '_ {
        Vector::ALL.into_iter().filter_map(|v| self.get(v).map(|value| (v, value)))
    }

    /// Whether no value was given.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The values of those vectors that `other` also has.
    pub fn shared(&self, other: &Self) -> Self {
        Vectors(std::array::from_fn(|at| self.0[at].filter(|_| other.0[at].is_some())))
    }

    /// Adds `NAME=VALUE[,NAME=VALUE]…`. Empty text, a missing value, an unknown name, a value that is not a number in
    /// [0, 1] and a duplicate are errors; after an error the set is unchanged.
    pub fn add_pairs(&mut self, text: &str) -> Result<(), VectorError> {
        let mut next = self.clone();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| VectorError::Form(pair.to_owned()))?;
            let vector: Vector = name.parse()?;
            let number = value.trim().parse::<f64>();
            if next.get(vector).is_some() {
                return Err(VectorError::Twice(vector.name()));
            }
            if !number.is_ok_and(|number| next.set(vector, number)) {
                return Err(VectorError::Value { name: vector.name().to_owned(), value: value.trim().to_owned() });
            }
        }
        if next == *self {
            return Err(VectorError::Empty);
        }
        *self = next;
        Ok(())
    }
}

impl Serialize for Vectors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(vector, value)| (vector.name(), value)))
    }
}

impl JsonSchema for Vectors {
    fn schema_name() -> Cow<'static, str> {
        "Vectors".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let values = Vector::ALL.map(|vector| {
            let value = serde_json::json!({"type": "number", "description": format!("1: {}.", vector.meaning())});
            (vector.name().to_owned(), value)
        });
        let values = serde_json::Map::from_iter(values);
        schemars::json_schema!({"type": "object", "description": "Values from 0 to 1, of the vectors that are given.", "properties": values})
    }
}

impl From<serde_json::Map<String, serde_json::Value>> for Vectors {
    /// Skips unknown names and values out of range: other programs also write notes.
    fn from(map: serde_json::Map<String, serde_json::Value>) -> Self {
        let mut out = Vectors::default();
        for (name, value) in map {
            if let (Ok(vector), Some(number)) = (name.parse::<Vector>(), value.as_f64()) {
                out.set(vector, number);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_kept_in_order() {
        let mut v = Vectors::default();
        v.add_pairs("uncertainty=0.4, know=0.60").unwrap();
        v.add_pairs("do=1").unwrap();
        assert_eq!(serde_json::to_string(&v).unwrap(), r#"{"know":0.6,"do":1.0,"uncertainty":0.4}"#);
        let back: Vectors =
            serde_json::from_str(r#"{"know":0.6,"do":1,"uncertainty":0.4,"scope":3,"clarity":7}"#).unwrap();
        assert_eq!(back, v);
    }

    #[test]
    fn bad_pairs_are_named_and_change_nothing() {
        let mut v = Vectors::default();
        for bad in ["know=1.01", "know=-0.01", "know=NaN", "know=inf", "know=", "know=high"] {
            assert!(matches!(v.add_pairs(bad), Err(VectorError::Value { .. })), "{bad}");
        }
        assert!(matches!(v.add_pairs("know"), Err(VectorError::Form(_))));
        assert!(matches!(v.add_pairs(""), Err(VectorError::Empty)));
        assert!(matches!(v.add_pairs("know=0.1,know=0.2"), Err(VectorError::Twice("know"))));
        match v.add_pairs("knwo=0.5") {
            Err(VectorError::Unknown { nearest, .. }) => assert_eq!(nearest, Some("know")),
            other => panic!("{other:?}"),
        }
        assert!(v.is_empty());
    }
}
