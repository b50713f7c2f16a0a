//! How far long work has come, as a bar on standard error; nothing where nobody is there to see it.

use std::cell::OnceCell;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::Output;

/// The bar of one piece of work, gone when it is dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for work that is called `what`. Shown at a terminal only, and not when a document is wanted; from the first
    /// step on.
    pub fn new(output: &Output, what: &'static str) -> Self {
        Progress::shown(output.tells_progress(), what)
    }

    fn shown(is_shown: bool, what: &'static str) -> Self {
        let bar = match is_shown {
            true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            false => ProgressBar::hidden(),
        };
        // the template is fixed; should it not be understood, the default one serves
        let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar: bar.with_message(what) }
    }

    /// A count of work whose end is not known, in the same places, from the first time it is told on; gone with the process.
    pub fn counting(output: &Output, what: &'static str) -> impl Fn(usize) + 'static {
        let is_shown = output.tells_progress();
        let made = OnceCell::new();
        move |done| {
            let progress = made.get_or_init(|| {
                let progress = Progress::shown(is_shown, what);
                if let Ok(style) = ProgressStyle::with_template("{msg}: {human_pos}") {
                    progress.bar.set_style(style);
                }
                progress
            });
            progress.bar.set_position(done as u64);
        }
    }

    /// Says how many steps are done, of how many.
    pub fn tell(&self, done: usize, total: usize) {
        let total = total as u64;
        if self.bar.length().is_some_and(|before| total < before) {
            // another piece of the work begins
            self.bar.set_position(0);
        }
        self.bar.set_length(total);
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
