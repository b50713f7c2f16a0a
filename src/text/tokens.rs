//! Estimates how many tokens a text costs an agent, without a vocabulary.
//!
//! Pieces are cut as `o200k_base` does: words with the character before them, up to three digits,
//! runs of signs, runs of blanks. A piece costs one token, or more if its characters seldom follow
//! each other, by constants fitted to `o200k_base` counts of prose in several languages, records,
//! code and logs. They are in hundredths of a token; a digit of a table, `0` to `z`, is five.

use crate::text::shorten::word_end;

/// Cost of a letter (column) after another (row), `a` to `z`, in three blocks: the second letter
/// of a word, a later one with a vowel two letters before it, a later one with a consonant there.
const PAIRS: [&[u8; 78]; 26] = [
    b"b100c378bgd5a3j08550840d6ba022ce0mjcc069bcb164afffiib213b14044g01102604044840g",
    b"6ace4b4kbgj2gk1gn3cc3qjg7i8fka5n81a0b06733ef651a98bj8bac7gbi8iebf359jb2i2lga9h",
    b"4ccf3d40ehj7ha1cm52804ngae6kcj2li44h08u75s89503glq0odc640dh96gb0dc87e5a19meg3g",
    b"59d82dnm2fq5ge0jieih7pge7188776i0h739h0h8dgc9856zbcn98ea7fdhafa68hc5na6nfhcfda",
    b"5646b88e8dk2c0op807363r0eiaa607fe9gfb564l4e70b6606ff1930739a9fj432037027a3288f",
    b"aece67ll3qh2fd6eq5gg0qkgln2fl5440j1q6gp08fgfg04bie0a7d9b075n4ci49g0dec470cff8d",
    b"emjl1qomemr405a9ta1ebsnni99bbf0o704e03750fj6975cng0ai3cl8ki0gfi7hpf5icb98nlifh",
    b"8jsv4oln2iklno1ll0f0fjgg1j0cdmdncfbehg7008f0i68edbbc45g15n0i5g04100bf6g00edg8g",
    b"fg06cb07lnaf5087h746nqljmbca001m01cep081i2d012o0khha3300060g46d06100841044ibc3",
    b"3onrbs7rhmpjrmc3ho2n9ilsnt28j84ec8570g5k1lf84m0d9bcgbhcg6fceidfefcjgfc7g9ifgbk",
    b"gbqk1qqdhslkl0gmspj76mbqku8lb507bj4b7bcodkda80fkrcg6dad5991l9fgaf8c2io6bcgbg89",
    b"5hg33hdr3kq10p0lumnlahrpeu8a92552a5re5bd815026341f0s60e70jan4ldf0c4gjd962ekj0l",
    b"3jgg0kje7qfmhe1igl0j8pkg6m30hf0g3d8eln5m71ec4f6okgo83fd30geh5oi09083ie035j9h9h",
    b"9gj15o03ghjidq8csocn4knhnjad406607a96502f8ej30e8cj8f5jf64haa6fk53hdiii0df9if99",
    b"930gr0shhkf0u5j4s0c7080jijde71a2035g0550dbf4900nfgih1532775a80b43000e051061010",
    b"4ki76no3hjf1f46ll5eeckb45s7ma00k066bv35d230b70e8dp0zaibi4ch8bhm28g0be8546ikjlh",
    b"fpksrsltksskpnslnfll5nzsqufbbg7jdc7ceceieadafb0agfaehedgiiihfjj0dfhgd0mc4kikgl",
    b"cgcn0ddhnnpjglbhhnjjckldcq93063409bs2777f56a46b67f0h3d5i1hji3gj7le09im6d4bsj0i",
    b"fh6e0kf15hhd502370007dam2hdq482d356i9ggc8260020qic5j8g3756c98rfbfi69do738e0egl",
    b"27le0fm08nh9gs3ns3gnaj570j640d28900hh6ah84f9983e0m079be83b617f485968i8403d7e7i",
    b"i6ifnqlj9ph1h6t2s5518kigjijvb284926hd0b0h5b000f3eddm303625106j8040j4m050l0k0ao",
    b"7poh5qvkfpginibgqmmm6kloon7ilr0ime3eg0fk4iajs4kz0u0fcfba4j0d1edea5bbdebgjcdbfe",
    b"7pnh0p426rrosn9ls98gbm0cev95afbd304fs0k08gd70dbcccec1e7b0nd70fgdgf4ij10clb607k",
    b"fciggkspirn87jmhtrgnopwnkw4b7adyqf7eikkhm0ege1ijgc3ffcdfeajgflffagfdifd6hif70i",
    b"6skn3rrsfxnh0k7qukj7frmnime68i4fbf8fg3g28aibaf7f0c0dpm9edlrn6hf3c58ao965klchl0",
    b"mtjhbtnihovvohhjsrpp0sejhh16ee09bicdmaeb066lhe79e90j6bab0c8fiig7g7afe9f27kef08",
];

const SIGNS: &str = r##"!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"##;
/// Signs that open a word: what they cost before any word, and before any but a short common one.
const OPENS: &[u8; 32] = b"ce571e7004ge0006h0099504jc28hq1a";
const JOINS: &[u8; 32] = b"3137hc95mje3e4he2klajqmm412ha0b4";
/// Signs in a run: leaving one for a different one, and arriving there.
const LEAVES: &[u8; 32] = b"72038c0258h80914000620703ddd300o";
const ARRIVES: &[u8; 32] = b"57mee28a1g84h20405c4go9e6kef5la8";
/// `ß` to `ÿ`: the letter to look up in `PAIRS`, and the cost of its accent; then `а` to `џ`.
const PLAIN: &[u8] = b"saaaaaaaceeeeiiiidnooooo.ouuuuyty";
const ACCENTS: &[u8] = b"0f7g2igg89c7gg9ggg0g740g0gg8g8ggg";
const CYRILLIC: &[u8] = b"688853755883751572387807a3000365tttttttttttttttt";
const COMMON: &str = "\
    ✅✓✔✨★☆❤⭐👇👉👌👍👏💕🔥😀😁😂😉😊😍😘😭🙂🙏🤣的一个在用你是以这件中可有会不如为了组使它\
    并时将新要们行数分到来提果作更和能交支对本文下上我后发于染渲应项过器所其同些方或目式加需现子工\
    通次合出代例置定建变开改当内示样就被成之重多地入程前取与进库而选务但面看理户码者何服值该据因常\
    接也他最自动包然生法都请部运调版命性题存化点想只意人此从象令容修设指问每么任标种函名那大解回表";
/// Any character: its cost at the start of a piece, after its like, after another letter.
const RANGES: [(char, char, [u64; 3]); 19] = [
    ('\0', '\u{7f}', [0; 3]),                 // ASCII, counted elsewhere
    ('一', '一', [92, 58, 58]),               // those in COMMON
    ('\u{3400}', '\u{9fff}', [145, 88, 88]),  // other Han
    ('\u{3040}', '\u{309f}', [74, 61, 92]),   // Hiragana
    ('\u{30a0}', '\u{30ff}', [88, 64, 68]),   // Katakana
    ('\u{ac00}', '\u{d7af}', [104, 54, 128]), // Hangul
    ('\u{100}', '\u{36f}', [76, 21, 94]),     // rarer accents
    ('\u{370}', '\u{77f}', [62, 33, 62]),     // Greek to Arabic
    ('\u{900}', '\u{10ff}', [10, 43, 43]),    // Devanagari to Georgian
    ('\u{80}', '\u{ff}', [50; 3]),            // degrees, quotation marks
    ('\u{2300}', '\u{23ff}', [280; 3]),       // clocks
    ('\u{2010}', '\u{25ff}', [36; 3]),        // dashes, arrows, boxes
    ('\u{2600}', '\u{27bf}', [205; 3]),       // older emoji
    ('\u{3000}', '\u{303f}', [0; 3]),         // East Asian punctuation
    ('\u{ff00}', '\u{ff20}', [0; 3]),         // East Asian punctuation
    ('\u{1f540}', '\u{1f5ff}', [300; 3]),     // emoji spelt in more bytes
    ('\u{1f980}', char::MAX, [300; 3]),       // emoji spelt in more bytes
    ('\u{10000}', char::MAX, [210; 3]),       // emoji
    ('\u{80}', char::MAX, [100; 3]),          // anything else
];

/// Estimates the number of tokens in `text`.
///
/// Returns whole tokens: 0 for empty text, else at least 1. Calibrated against `o200k_base`: texts
/// of 100 tokens and more mostly come out 0 to 8 % high; Russian or Chinese may come out 10 % low.
pub fn estimate(text: &str) -> usize {
    let mut meter = Meter::default();
    text.chars().for_each(|c| meter.push(c));
    meter.tokens()
}

/// Whether this program can count tokens exactly: it was built with the feature `exact-tokens`.
pub const CAN_COUNT: bool = cfg!(feature = "exact-tokens");

/// Number of tokens in `text`: an estimate, or with `exact` as many as `o200k_base` makes, special tokens as plain text.
///
/// Without the feature `exact-tokens` it is always an estimate. The first exact count reads the tables, which takes some
/// tenths of a second.
pub fn count(text: &str, exact: bool) -> usize {
    if exact { count_exactly(text) } else { estimate(text) }
}

#[cfg(feature = "exact-tokens")]
fn count_exactly(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

#[cfg(not(feature = "exact-tokens"))]
use estimate as count_exactly;

/// The longest word that is kept whole, in bytes: a path, not a document without spaces.
const MAX_PIECE_BYTES: usize = 128;

/// Cuts `text` to the longest prefix whose [`estimate`] is at most `budget` tokens.
///
/// Returns the prefix and whether anything was cut off; it splits no word of up to
/// 128 bytes that would fit by itself.
/// Empty text comes back whole, and a budget of 0 leaves nothing of any other.
/// The rule is calibrated against `o200k_base`.
pub fn truncate_to(text: &str, budget: usize) -> (&str, bool) {
    let mut meter = Meter::default();
    for (at, c) in text.char_indices() {
        meter.push(c);
        if meter.tokens() > budget {
            let end = word_end(text, at, |word| word.len() <= MAX_PIECE_BYTES && estimate(word) <= budget);
            return (text[..end].trim_end(), true);
        }
    }
    (text, false)
}

/// Content of the open piece; after an apostrophe the next letter decides whether the word continues.
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
    /// Whole tokens, and 3.5 % more: an estimate too low costs an agent more than one too high.
    fn tokens(&self) -> usize {
        let total = (self.closed + self.open()).max(100 * u64::from(self.len > 0));
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
        let (line, again) = (matches!(c, '\n' | '\r'), c == self.last);
        let (run, cost) = match (self.run, line) {
            (Run::Signs, true) if !self.last.is_ascii() => (Run::SignsLineEnd, 99),
            (Run::Signs | Run::SignsLineEnd, true) => (Run::SignsLineEnd, 40),
            (Run::LineEnd | Run::Blank, true) => (Run::LineEnd, if again { 3 } else { 25 }),
            (Run::Blank, false) => (Run::Blank, if again { 3 } else { 133 }),
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
        let lower =
            if c.is_ascii() { c.to_ascii_lowercase() } else { c.to_lowercase().next().unwrap_or_default() } as usize;
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
                    of_sign(JOINS, sign, 100)
                }
                _ => 30,
            };
            self.start(Run::Word, if latin { sum } else { sum / 3 });
        }
        let pair = self.pair.take();
        let range = range_of(c);
        self.sum += u64::from(c.is_uppercase()) * if latin { 12 } else { 50 };
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

fn cost(digit: u8) -> u64 {
    u64::from(char::from(digit).to_digit(36).unwrap_or(0)) * 5
}

fn of_sign(table: &[u8; 32], sign: char, wide: u64) -> u64 {
    SIGNS.find(sign).map_or(wide, |at| cost(table[at]))
}

fn range_of(c: char) -> usize {
    if c.is_ascii() {
        return 0;
    }
    let found = RANGES.iter().position(|r| (r.0..=r.1).contains(&c));
    let common = c >= '\u{2600}' && COMMON.contains(c);
    if common { 1 } else { found.unwrap_or_default() }
}
