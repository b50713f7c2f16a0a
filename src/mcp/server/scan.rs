//! Finds the id of a request in an unreadable frame: the value of `id` in the outermost object.

use serde_json::Value;

/// Longest id in bytes; longer ones are ignored.
const LONGEST: usize = 256;

/// Scans a frame in pieces, keeping only the id.
#[derive(Default)]
pub struct Scan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last text of the outermost object, with its quotes, or the value of `id`.
    text: Vec<u8>,
    is_value: bool,
    id: Option<Value>,
}

impl Scan {
    pub fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    /// The id, if a valid one was found.
    pub fn id(&self) -> Option<Value> {
        self.id.clone().filter(|id| id.is_string() || id.is_number())
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if !self.is_value {
                    self.text.clear();
                }
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.text.clear();
                self.is_value = false;
            }
            b'}' | b']' => {
                self.ends();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_value = self.text.trim_ascii() == b"\"id\"";
                self.text.clear();
            }
            b',' => self.ends(),
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        // one byte more marks a longer one
        if self.depth == 1 && self.text.len() <= LONGEST {
            self.text.push(byte);
        }
    }

    fn ends(&mut self) {
        if self.depth == 1 && std::mem::take(&mut self.is_value) {
            // a truncated number would be another number
            self.id = Some(&self.text)
                .filter(|text| text.len() <= LONGEST)
                .and_then(|text| serde_json::from_slice(text).ok());
        }
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(frame: &str) -> Option<Value> {
        // in pieces, as it comes
        let mut scan = Scan::default();
        frame.as_bytes().chunks(3).for_each(|piece| scan.feed(piece));
        scan.id()
    }

    #[test]
    fn the_id_is_that_of_the_outermost_object() {
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#), Some(json!(7)));
        assert_eq!(id(r#"{"params":{"id":1,"a":["id",{"id":2}]},"id" : "a\"b" }"#), Some(json!("a\"b")));
        assert_eq!(id(r#"{"params":{"text":"\"id\":3,"},"id":-4}"#), Some(json!(-4)));
        assert_eq!(id(r#"{"a":"id","b":"x"}"#), None);
        assert_eq!(id(r#"{"id":{"id":1}}"#), None);
        assert_eq!(id(r#"{"id":null}"#), None);
        assert_eq!(id(r#"[{"id":1}]"#), None);
        assert_eq!(id(&format!(r#"{{"id":"{}"}}"#, "x".repeat(1000))), None);
        assert_eq!(id(&format!(r#"{{"id":{}}}"#, "1".repeat(300))), None);
        assert_eq!(id(""), None);
    }

    #[test]
    fn it_is_found_in_front_of_and_behind_what_is_broken() {
        let deep = "[".repeat(300) + &"]".repeat(300);
        assert_eq!(id(&format!(r#"{{"params":{deep},"id":5}}"#)), Some(json!(5)));
        assert_eq!(id(r#"{"id":6,"params":{"text":"never ends"#), Some(json!(6)));
    }
}
