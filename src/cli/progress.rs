//! Progress of long work, as a bar on standard error of a terminal.

use std::cell::OnceCell;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::Output;

/// The bar of one task; removed on drop.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar named `task`, shown from the first step on.
    pub fn new(output: &Output, task: &'static str) -> Self {
        Progress::shown(output.shows_progress(), task)
    }

    fn shown(is_shown: bool, task: &'static str) -> Self {
        let bar = match is_shown {
            true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
            false => ProgressBar::hidden(),
        };
        let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar: bar.with_message(task) }
    }

    /// A counter for a task of unknown size, shown from the first call until the process ends.
    pub fn counting(output: &Output, task: &'static str) -> impl Fn(usize) + 'static {
        let is_shown = output.shows_progress();
        let progress = OnceCell::new();
        move |done| {
            let progress = progress.get_or_init(|| {
                let progress = Progress::shown(is_shown, task);
                if let Ok(style) = ProgressStyle::with_template("{msg}: {human_pos}") {
                    progress.bar.set_style(style);
                }
                progress
            });
            progress.bar.set_position(done as u64);
        }
    }

    /// Shows that `done` of `total` steps are done.
    pub fn set(&self, done: usize, total: usize) {
        let total = total as u64;
        if self.bar.length().is_some_and(|before| total < before) {
            // the next part of the task starts
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
