//! Detects imperative sentences by their first words.

/// Words that may precede the verb of an imperative.
const BEFORE: &str = "please then first firstly second secondly third next now finally also and but so don't not never always just only again otherwise to you must should it's let's do";

/// Verbs in base form that instructions begin with.
const VERBS: &str = "\
    abort accept acquire adapt add adjust adopt align allocate allow amend analyse analyze annotate append apply \
    appoint approve archive arrange ask assert assign assume attach audit authorise authorize avoid backport be \
    begin benchmark bind bisect blame block boot bring build bump buy cache call cancel capture catch change check \
    cherry-pick choose clarify clean clear click clone close collapse collect combine commit compare compile \
    complete compute configure confirm connect consider consult contact continue convert cope copy correct count \
    cover create cut debug decide declare decouple deduplicate defer define delay delete deliver deploy deprecate \
    derive describe design detect determine disable discard discuss divide document double-check download draft \
    drop edit eliminate embed emit enable encode encrypt enforce ensure enter escalate escape establish estimate \
    evaluate examine execute expand expect explain explore export expose extend extract factor fail fetch figure \
    fill filter find finish fix flag flush follow force fork format free generalise generalize generate get give go \
    grant group grow guard hand handle help hide hire hoist hold identify ignore implement import improve include \
    increase index inline insert inspect install instrument integrate introduce invalidate investigate invite \
    isolate iterate join keep kill land launch learn leave lift limit link list load localise localize lock log \
    look loosen lower make map mark match measure merge migrate minimise minimize mock model modify monitor mount \
    move name negotiate normalise normalize note notify observe obtain omit onboard open optimise optimize order \
    organise organize override own package parse pass paste patch pause pay perform persist pick pin place plan \
    port postpone prefer prepare preserve prevent print proceed profile propagate propose protect prove provide \
    prune publish pull purge push put query quote raise read rebase reboot rebuild reconcile record recover redact \
    redesign reduce refactor refine register reject relax release reload remember remove rename render reorder \
    repair repeat rephrase replace replay report reproduce request require rerun reset resolve respect restart \
    restore restrict resume retain retry return reuse revert review revise reword rewrite roll rollback rotate \
    route run sanitise sanitize save scan schedule search see select send separate serialise serialize serve set \
    share ship show shrink sign simplify simulate skip slow sort specify speed split squash stabilise stabilize \
    stage start stay stop store streamline strip stub submit supply support swap switch sync synchronise \
    synchronize tag take talk teach tell test think throw tidy tighten touch track transform translate treat \
    trigger trim truncate try tune turn type understand undo unify uninstall unlock unmount unpin unquote unstage \
    update upgrade upload use validate verify wait warn watch widen wire wrap write yield";

/// Whether a text can be judged: it has letters, and all are ASCII, as in the verbs.
pub fn can_judge(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| c.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(|c| c.is_ascii_alphabetic())
}

/// Number of steps of a text: list entries if it has any, otherwise imperative sentences.
pub fn steps(text: &str) -> usize {
    let entries = text.lines().filter(|line| is_entry(line.trim_start())).count();
    if entries > 0 { entries } else { sentences(text).iter().filter(|sentence| is_imperative(sentence)).count() }
}

/// Whether a sentence, or a part after a comma, colon, semicolon or dash, begins with a verb in base form, possibly
/// after polite or ordering words.
pub fn has_imperative(text: &str) -> bool {
    sentences(text).iter().any(|sentence| is_imperative(sentence))
}

fn is_entry(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match rest.len() < line.len() {
        true => rest.starts_with(". ") || rest.starts_with(") "),
        false => ["- ", "* ", "+ ", "• "].iter().any(|mark| line.starts_with(mark)),
    }
}

/// The words of each sentence, or part up to punctuation.
fn sentences(text: &str) -> Vec<Vec<&str>> {
    let mut out = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let parts = words.split_inclusive(|word| word.ends_with(['.', ';', ':', '!', '?', ',', '—', '–']));
        out.extend(parts.map(<[&str]>::to_vec));
    }
    out
}

/// A word in lower case without surrounding punctuation.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().replace('’', "'")
}

fn is_one(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Whether the first word is a verb in its base form.
pub fn begins_with_verb(text: &str) -> bool {
    text.split_whitespace().next().map(bare).is_some_and(|word| is_verb(&word) && !is_one(BEFORE, &word))
}

fn is_verb(word: &str) -> bool {
    // any of them may have the prefix "re"
    is_one(VERBS, word) || word.strip_prefix("re").is_some_and(|rest| is_one(VERBS, rest))
}

fn is_imperative(sentence: &[&str]) -> bool {
    let words = sentence.iter().map(|word| bare(word)).filter(|word| !word.is_empty());
    let mut rest = words.skip_while(|word| {
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        is_number || ((word.ends_with("ly") || is_one(BEFORE, word)) && !is_one(VERBS, word))
    });
    rest.next().is_some_and(|word| is_verb(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_begin_with_a_verb() {
        for text in [
            "Add a login form",
            "Apply the patch",
            "Reimplement the parser",
            "Please then carefully fix the test",
            "- Update the docs",
            "1) Run the tests",
            "The form is missing. Add it",
            "Next: rebase onto main",
            "do not touch main",
            "Never push to main",
            "When it fails, retry it",
        ] {
            assert!(has_imperative(text), "{text}");
        }
        assert!(!VERBS.contains("  ") && VERBS.split(' ').count() > 300, "words with one space between them");
        for text in ["The login form", "it adds a form", "additional work", "", "tests", "fixing the login"] {
            assert!(!has_imperative(text), "{text}");
        }
    }

    #[test]
    fn entries_of_lists_are_steps_else_sentences() {
        assert_eq!(steps("Do this:\n- a\n- b\n3. c"), 3);
        assert_eq!(steps("Add a form. The form is blue. Test it."), 2);
        assert_eq!(steps(""), 0);
        assert!(!can_judge("登录表单") && !can_judge("Füge es hinzu") && can_judge("a") && !can_judge("1"));
    }
}
