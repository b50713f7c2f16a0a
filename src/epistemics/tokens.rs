//! Tells how many tokens a text is likely to cost an agent, without carrying a vocabulary.
//!
//! A text is cut into the pieces the `o200k_base` tokenizer starts from: words with the character
//! before them, up to three digits, runs of signs, runs of blanks. A piece costs one token, or more
//! if its characters seldom follow each other. The constants are fitted to `o200k_base` counts of
//! prose in several languages, records, source code and logs. They are in hundredths of a token; a
//! digit of the tables, `0` to `z`, stands for 0 to 175.

/// Cost of a letter (column) after another (row), `a` to `z`, in three blocks: the second letter
/// of a word, a later one with a vowel two letters before it, a later one with a consonant there.
const PAIRS: [&[u8; 78]; 26] = [
    b"c001d376chd5f1i08550950c6a8023cf1mede179aeb264befflke213e04022g01103804045940h",
    b"5bce4b1jbci1hk0en1bc3qif7j8gkb5n82b0b06913df741997bg7b9d6gah7ie9g359ja2k1lga8h",
    b"4ccf3e10egi7i81el51805nfae6ldk2lk55g08ub6u89604gjq0occ640ch97gb0cc88e4a1bkeg2f",
    b"59e72enm2cp6fe0kicjg6nfd708a866h0g729g0h7eg89863zbcm88ea6fdh9fa65hb6n96oiibeb8",
    b"5756c99h6fj4d0osa076j3r0hia8407eaaeff751k6e80c5705dg1830639b9fj53105812793088h",
    b"aece68kl4ph1ed7bp4gf0pjeln1fl5440j1q7fq08efeg13aid097d9b074l4di39k2eeb490dffac",
    b"elkl2qolfmq305b7sa1gcunmh99cbc0n704d02640ei5a85bnf0bk1cl8ji0gei6fne4icba9oligg",
    b"8jtv3nnm2glkno0jl0f0gjff1i0bcmemcfbdgh8007e0l39ebabb36h55p0m5f04110df6j00ffg6g",
    b"fi05ba05mn8i6086hd46nqlindab003l00ids291h3d103o0jfga3300060g04d07100841045hbc3",
    b"1ooraq8rglpiqmc3gm3p7hksnt18i83db8370f3k2ke84m0c9acfbidg6gdeiegefdhggd7haifgbk",
    b"dbqk0qpbisllk0hmsoj76kaqku9lb40bak4b7bcnfkc970gjsbf5cbd69c2kafgcg7c2ip6bdhcg7a",
    b"4hf43her2kq10q0mumombhqoet798154074oe5ad814015322d0w60ea0jan4lee0b4hje972ejj0l",
    b"2kff0khf7pflge0jgl0j9rjg7l10gd0g4c8dnm4n71dd4g5omfm93hd21geh6ni08083ie034jbh9h",
    b"8ii45o01fgiidp9bsobm5jmhni9c405505b96503h9ch30f8aiag5ie62h985fk46eejgg0ee9jf89",
    b"830gr0sghkf0u5h4t0c7081jifbd5090035h0660ece4910offig1522785a70a44000f050070010",
    b"4jhb8mo4hjf0h57kk6jeck945r7mb50h156av24e130960f8cp0z9h9g3di8agl28g0ee8434hjjkg",
    b"kpkrrrltksrkpnslnfll5nzrqtfabf7idbcbdbdhdacaeb09ff9dhfegjiiifjk0dfhhd0nd5kilhl",
    b"cgbp0egapmpjhlaigmjgcmldcq92052209bs2767e66936c46f0g4d5j2hjm3gk6ld0cim3d5atj0i",
    b"fh5e0kf25gec602360007eam4hfv482g056i9hga9450020ric5j7e3854ca8rgaih5beo837e0ejl",
    b"15le0fl07mg8hr3os2fn9i560i610d18b00gg6di74e8a83d0m069he93c607g3a5a6ai7404f7e7i",
    b"h8igmplibpj3h6u1s544ckigjjdy9092920gb0a0g7a001f1cbcl202515105k6030j4n040l0l0ap",
    b"8ooh5qvlgofjngbgqlln4jlnnm6imr0hld1dg0ek3k9jr4ly0u0ecfbb5j0d2edea6bcefchkcdbfe",
    b"7png0p426qqpsn5ms87gcl2cev96afbd403eq0j08hc90dabbbeb0ead1od70fgdgf5ij00cmb706k",
    b"fcihgkspgqn86jmhsrgopqwokv4b6bcxqf7dikkgl0cfe0jjfd3dgcdkeckghlggaghdigd7hjf20i",
    b"4skm5rrtdxnh0k7qukj7gqlnhmd69i5hce8eg3h189iabd9f0b0don7gblrm6he3b3cap864jkehm0",
    b"mtjiatmihovvpggjrrop0seigh2def09didclaeb068lhf68f80o8cab0d8giihah7fgebg28kef06",
];

const SIGNS: &str = r##"!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"##;
/// Signs that open a word: what they cost before any word, and before any but a short common one.
const OPENS: &[u8; 32] = b"df480h8008d90008g00e9b36kb2akq39";
const JOINS: &[u8; 32] = b"3057ia55ngicf4he2kl5jjkk412f9094";
/// Signs in a run: leaving one for a different one, and arriving there.
const LEAVES: &[u8; 32] = b"61028e0158i80914i00700603ddd300n";
const ARRIVES: &[u8; 32] = b"48neef9a1g74h30407c4ho9e6jef5kb9";
/// `ß` to `ÿ`: the letter to look up in `PAIRS`, and the cost of its accent; then `а` to `џ`.
const PLAIN: &[u8] = b"saaaaaaaceeeeiiiidnooooo.ouuuuyty";
const ACCENTS: &[u8] = b"0f6f4iff83b6ff8fff0f540h0ff8f5fff";
const CYRILLIC: &[u8] = b"688853755883751572387807a3000365tttttttttttttttt";
/// Any character: its cost at the start of a piece, after its like, after another letter.
const RANGES: [(char, char, [u64; 3]); 18] = [
    ('\0', '\u{7f}', [0; 3]),                 // ASCII, counted elsewhere
    ('\u{3400}', '\u{9fff}', [160, 64, 122]), // Han
    ('\u{3040}', '\u{309f}', [72, 60, 63]),   // Hiragana
    ('\u{30a0}', '\u{30ff}', [93, 65, 79]),   // Katakana
    ('\u{ac00}', '\u{d7af}', [104, 54, 128]), // Hangul
    ('\u{100}', '\u{36f}', [78, 20, 96]),     // rarer accents
    ('\u{400}', '\u{5ff}', [60, 40, 60]),     // Armenian, Hebrew
    ('\u{370}', '\u{77f}', [64, 27, 64]),     // Greek, Arabic
    ('\u{900}', '\u{10ff}', [15, 42, 42]),    // Devanagari to Georgian
    ('\u{80}', '\u{ff}', [47; 3]),            // degrees, quotation marks
    ('\u{2010}', '\u{25ff}', [34; 3]),        // dashes, arrows, boxes
    ('✅', '✅', [82; 3]),
    ('\u{2600}', '\u{27bf}', [178; 3]),   // older emoji
    ('\u{3000}', '\u{303f}', [0; 3]),     // East Asian punctuation
    ('\u{ff00}', '\u{ff20}', [0; 3]),     // East Asian punctuation
    ('\u{1f600}', '\u{1f64f}', [150; 3]), // faces
    ('\u{10000}', char::MAX, [230; 3]),   // emoji
    ('\u{80}', char::MAX, [100; 3]),      // anything else
];

/// Estimates the number of tokens in `text`.
///
/// Returns whole tokens: 0 for empty text, at least 1 for any other. The rule is calibrated
/// against `o200k_base`: a text of 100 tokens or more usually comes out 0 to 8 % above its count.
pub fn estimate(text: &str) -> usize {
    let mut meter = Meter::default();
    text.chars().for_each(|c| meter.push(c));
    meter.tokens()
}

/// Cuts `text` to the longest prefix whose [`estimate`] is at most `budget` tokens.
///
/// Returns the prefix and whether anything was cut off; it ends with a word if one ends at most
/// 48 bytes earlier. Empty text comes back whole, and a budget of 0 leaves nothing of any other.
/// The rule is calibrated against `o200k_base`.
pub fn truncate_to(text: &str, budget: usize) -> (&str, bool) {
    let mut meter = Meter::default();
    let mut word_end = 0;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && !meter.last.is_whitespace() {
            word_end = at;
        }
        meter.push(c);
        if meter.tokens() > budget {
            let cut = if at - word_end <= 48 { word_end } else { at };
            return (&text[..cut], true);
        }
    }
    (text, false)
}

/// What the open piece is made of: after an apostrophe the next letter tells if the word goes on.
#[derive(Clone, Copy, Default, PartialEq)]
enum Run {
    #[default]
    LineEnd,
    SignsLineEnd,
    Blank,
    Digits,
    Signs,
    Word,
    Apostrophe,
}

/// Reads a text character by character and keeps its cost so far.
#[derive(Default)]
struct Meter {
    closed: u64, // cost of the complete pieces
    run: Run,
    sum: u64, // cost of the open piece, where it is above one token
    len: usize,
    last: char,
    pair: Option<(usize, usize)>, // row and block of `PAIRS` for the next letter
    range: Option<usize>,         // the last letter's place in `RANGES`
}

impl Meter {
    /// Does not fall as characters are pushed. A last blank is not counted unless it is alone.
    fn tokens(&self) -> usize {
        let total = (self.closed + self.open()).max(100 * u64::from(self.len > 0));
        // 3.5 % are added: a text longer than promised costs an agent more than a shorter one.
        (total * 1035 + 50_000) as usize / 100_000
    }

    fn open(&self) -> u64 {
        let shared = self.run == Run::Blank && self.len == 1;
        u64::from(self.len > 0 && !shared) * self.sum.max(100)
    }

    fn start(&mut self, run: Run, sum: u64) {
        // A word takes over the blank before it and signs a space; any other stays by itself.
        let taken = run == Run::Word || run == Run::Signs && self.last == ' ';
        self.closed += self.open() + 100 * u64::from(self.run == Run::Blank && !taken);
        (self.run, self.sum, self.len, self.pair, self.range) = (run, sum, 1, None, None);
    }

    fn push(&mut self, c: char) {
        if self.run == Run::Apostrophe {
            (self.run, self.pair) = (Run::Word, None);
            if !"stdmrvl".contains(c.to_ascii_lowercase()) {
                self.start(Run::Signs, 0);
            }
        }
        let mark = matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{e4e}');
        match self.run {
            _ if c.is_whitespace() => self.blank(c),
            Run::Digits if c.is_numeric() && self.len < 3 => self.len += 1,
            _ if c.is_numeric() => self.start(Run::Digits, 0),
            _ if c.is_alphabetic() || mark => self.letter(c),
            Run::Word if c == '\'' => self.run = Run::Apostrophe,
            _ => self.sign(c),
        }
        self.last = c;
    }

    fn blank(&mut self, c: char) {
        let line = matches!(c, '\n' | '\r');
        let (run, cost) = match (self.run, line) {
            (Run::Signs, true) if !self.last.is_ascii() => (Run::SignsLineEnd, 99),
            (Run::Signs | Run::SignsLineEnd, true) => (Run::SignsLineEnd, 40),
            (Run::LineEnd | Run::Blank, true) if c != self.last => (Run::LineEnd, 35),
            (Run::LineEnd, true) => (Run::LineEnd, 3),
            (Run::Blank, false) => (Run::Blank, if c == self.last { 3 } else { 133 }),
            _ => return self.start(if line { Run::LineEnd } else { Run::Blank }, 0),
        };
        (self.run, self.len, self.sum) = (run, self.len + 1, self.sum + cost);
    }

    fn sign(&mut self, c: char) {
        let wide = RANGES[range_of(c)].2[0];
        if self.run == Run::Signs || self.run == Run::SignsLineEnd && c == '/' {
            self.len += 1;
            self.sum += match self.last {
                _ if !c.is_ascii() => wide,
                last if last == c => 6,
                last => of_sign(LEAVES, last, 88) + of_sign(ARRIVES, c, 0),
            };
        } else {
            let spaced = self.run == Run::Blank && self.last == ' ';
            self.start(Run::Signs, wide);
            self.len += usize::from(spaced);
        }
    }

    fn letter(&mut self, c: char) {
        let lower = c.to_lowercase().next().map_or(0, |c| c as usize);
        let accent = lower.wrapping_sub('ß' as usize);
        let latin = c.is_ascii() || accent < PLAIN.len();
        if self.run != Run::Word || (c.is_uppercase() && self.last.is_lowercase()) {
            let sum = match (self.run, self.last) {
                (Run::Blank, ' ') => 0,
                (Run::Blank, _) => 95,
                (Run::Digits, _) => 47,
                (Run::Word, _) => 15,
                (Run::Signs, sign) if self.len == 1 => {
                    self.closed += self.sum.saturating_sub(100) + of_sign(OPENS, sign, 0);
                    self.len = 0; // the sign goes over to the word
                    of_sign(JOINS, sign, 88)
                }
                _ => 30,
            };
            self.start(Run::Word, if latin { sum } else { sum / 3 });
        }
        let pair = self.pair.take();
        let range = range_of(c);
        self.sum += u64::from(c.is_uppercase()) * if latin { 14 } else { 50 };
        if latin {
            let letter = PLAIN.get(accent).map_or(lower, |plain| usize::from(*plain));
            let column = letter.saturating_sub('a' as usize);
            let block = pair.map_or(0, |(row, block)| {
                self.sum += cost(PAIRS[row][26 * block + column]);
                2 - usize::from(matches!(row, 0 | 4 | 8 | 14 | 20 | 24))
            });
            self.sum += ACCENTS.get(accent).map_or(0, |digit| cost(*digit));
            self.pair = Some((column, block));
        } else {
            let at = lower.wrapping_sub('а' as usize);
            let nth = self.range.map_or(0, |r| 2 - usize::from(r == range));
            self.sum += CYRILLIC.get(at).map_or(RANGES[range].2[nth], |d| cost(*d));
        }
        self.range = Some(range);
    }
}

/// What a digit of a table stands for.
fn cost(digit: u8) -> u64 {
    u64::from(char::from(digit).to_digit(36).unwrap_or(0)) * 5
}

fn of_sign(table: &[u8; 32], sign: char, wide: u64) -> u64 {
    SIGNS.find(sign).map_or(wide, |at| cost(table[at]))
}

fn range_of(c: char) -> usize {
    let found = RANGES.iter().position(|r| (r.0..=r.1).contains(&c));
    found.unwrap_or_default()
}
