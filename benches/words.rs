//! Texts as people and agents write them, as far as an index can tell: words with the frequencies of Zipf's law.

/// A generator of numbers that is the same in every run (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `n` - 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Whether it happens, with a probability in percent.
    pub fn percent(&mut self, p: usize) -> bool {
        self.below(100) < p
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The most frequent words, in that order; what follows them is made of syllables.
const FREQUENT: &str = "the of to is a in and that it for not on with when by from as are this be but only which has \
    an if after before so test cache file error token config request user build key value index server client call \
    thread lock query table module path parser session async retry timeout schema worker queue event handler state \
    commit branch merge login password header response buffer stream socket memory stack heap pointer latency \
    database migration column row transaction deadlock connection pool proxy router middleware template render \
    version release dependency package import export type trait interface generic macro compiler warning lint format";
const SYLLABLES: [&str; 24] = [
    "ba", "cor", "del", "fin", "gra", "hex", "jun", "kal", "lim", "mer", "nod", "par", "qua", "rin", "sol", "tor",
    "ul", "ven", "wex", "yar", "zen", "plo", "stra", "chi",
];
/// How many different words there are.
const VOCABULARY: usize = 8_000;

/// Words by rank, and how likely one of the first n is.
pub struct Words {
    pub random: Random,
    words: Vec<String>,
    cumulative: Vec<f64>,
}

impl Words {
    pub fn new(seed: u64) -> Self {
        let mut words: Vec<String> = FREQUENT.split_whitespace().map(str::to_owned).collect();
        for n in 0..VOCABULARY - words.len() {
            // a number that has no two readings: syllables in base 24, three at least
            let mut word = String::new();
            let mut rest = n + 24 * 24;
            while rest > 0 {
                word.push_str(SYLLABLES[rest % 24]);
                rest /= 24;
            }
            words.push(word);
        }
        let mut sum = 0.0;
        let cumulative = (1..=words.len()).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        let cumulative = cumulative.collect();
        Words { random: Random::new(seed), words, cumulative }
    }

    /// The word of a rank, from 0.
    pub fn ranked(&self, rank: usize) -> &str {
        &self.words[rank]
    }

    /// A word by its frequency.
    pub fn word(&mut self) -> &str {
        let all = self.cumulative[self.cumulative.len() - 1];
        let at = self.random.unit() * all;
        &self.words[self.cumulative.partition_point(|sum| *sum < at)]
    }

    /// A sentence of `least` to twice as many words, without a stop.
    pub fn text(&mut self, least: usize) -> String {
        let mut text = String::new();
        for n in 0..least + self.random.below(least + 1) {
            if n > 0 {
                text.push(' ');
            }
            text.push_str(self.word());
        }
        text[..1].make_ascii_uppercase();
        text
    }
}
