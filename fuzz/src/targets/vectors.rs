//! Vectors in text: a set of values from 0 to 1 that round-trips, or an error that changes nothing.

use crate::input::texts;
use empirica_notes::model::Vectors;

pub fn fuzz(data: &[u8]) {
    let Some([first, second]) = texts(data) else { return };
    let mut vectors = Vectors::default();
    for text in [first, second] {
        let before = vectors.clone();
        match vectors.add_pairs(text) {
            Ok(()) => assert!(before.iter().all(|(name, value)| vectors.get(name) == Some(value)) && vectors != before),
            Err(error) => assert!(vectors == before && !error.to_string().is_empty()),
        }
    }
    assert!(vectors.iter().all(|(_, value)| (0.0..=1.0).contains(&value) && value.is_sign_positive()));
    let json = serde_json::to_string(&vectors).expect("JSON");
    assert_eq!(serde_json::from_str::<Vectors>(&json).expect("vectors"), vectors);
    let pairs: Vec<String> = vectors.iter().map(|(name, value)| format!("{}={value}", name.name())).collect();
    let mut again = Vectors::default();
    assert_eq!(again.add_pairs(&pairs.join(",")).is_ok(), !vectors.is_empty());
    assert_eq!(again, vectors);
    // and as notes may hold them
    if let Ok(read) = serde_json::from_str::<Vectors>(first) {
        assert!(read.iter().all(|(_, value)| (0.0..=1.0).contains(&value)));
    }
}
