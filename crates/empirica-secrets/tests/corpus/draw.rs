//! Deterministic pseudo-random characters, words and filled templates.

/// A random number generator, deterministic by its seed.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    pub fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    pub fn chars(&mut self, count: usize, alphabet: &[u8]) -> String {
        (0..count).map(|_| char::from(*self.one(alphabet))).collect()
    }

    /// A random string of a kind; a token starts and ends with a letter or digit.
    pub fn kind(&mut self, kind: u8, count: usize) -> String {
        let all = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let caps = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        match kind {
            b'h' => self.chars(count, &all[..16]),
            b'a' => self.chars(count, &all[..36]),
            b'A' => self.chars(count, caps),
            b'd' => self.chars(count, &all[..10]),
            b'x' => self.chars(count, b"234567ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            b'n' => self.chars(count, all),
            more => {
                let more: &[u8] = if more == b'b' { b"+/" } else { b"_-" };
                let inner = self.chars(count.saturating_sub(2), &[all, more].concat());
                format!("{}{inner}{}", self.chars(1.min(count), all), self.chars(usize::from(count > 1), all))
            }
        }
    }

    pub fn uuid(&mut self) -> String {
        let parts = [8, 4, 3, 3, 12].map(|count| self.kind(b'h', count));
        format!("{}-{}-4{}-a{}-{}", parts[0], parts[1], parts[2], parts[3], parts[4])
    }

    /// A password as chosen by a person or a password manager.
    pub fn password(&mut self) -> String {
        let words = ["winter", "Falcon", "dragon", "Copper", "monkey", "Purple", "harbor", "Tiger", "sunrise", "Maple"];
        let (one, two) = (*self.one(&words), *self.one(&words));
        let digits = self.kind(b'd', 2);
        match self.below(5) {
            0 => format!("{one}{digits}!{two}"),
            1 => self.kind(b'n', 18),
            2 => format!("{}{}{}", self.kind(b'n', 7), self.one(&["!", "#", "$", "*", "%"]), self.kind(b'n', 8)),
            3 => format!("{}0{}3{}!{digits}", &one[..2], &one[2..4], &two[..3]),
            _ => format!("{one}-{}-{two}-{digits}", self.kind(b'a', 5)),
        }
    }

    /// Fills a template. Returns the text and the secret in it.
    pub fn fill(&mut self, template: &str) -> (String, String) {
        self.fill_with(template, &[])
    }

    /// As [`Self::fill`], with passwords from these, if there are any.
    pub fn fill_with(&mut self, template: &str, passwords: &[String]) -> (String, String) {
        let (mut out, mut rest) = (String::new(), template);
        let (mut from, mut to) = (None, None);
        while let Some(one) = rest.chars().next() {
            let next = &rest[one.len_utf8()..];
            rest = next;
            match one {
                '|' => {}
                '<' if next.starts_with('|') => out.push('<'),
                '<' => from = Some(out.len()),
                '>' if from.is_some() && to.is_none() => to = Some(out.len()),
                '{' => {
                    match next.split_once('}').and_then(|(inner, after)| Some((self.filler(inner, passwords)?, after)))
                    {
                        None => out.push('{'),
                        Some((text, after)) => {
                            out.push_str(&text);
                            rest = after;
                        }
                    }
                }
                other => out.push(other),
            }
        }
        let secret = out[from.unwrap_or(0)..to.unwrap_or(out.len())].to_owned();
        (out, secret)
    }

    /// The text for `{inner}`; `None` if it is not a placeholder.
    fn filler(&mut self, inner: &str, passwords: &[String]) -> Option<String> {
        let password = |draw: &mut Draw| match passwords {
            [] => draw.password(),
            some => (*draw.one(some)).to_owned(),
        };
        match inner {
            "u" => Some(self.uuid()),
            "p" => Some(password(self)),
            "B" => Some(base64(format!("deploy:{}", password(self)).as_bytes())),
            _ => {
                let (kind, count) = inner.split_at_checked(1)?;
                Some(self.kind(*b"habdnwxA".iter().find(|byte| kind.as_bytes()[0] == **byte)?, count.parse().ok()?))
            }
        }
    }
}

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    let all = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let one = all[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at > three.len() { '=' } else { char::from(one) });
        }
    }
    out
}
