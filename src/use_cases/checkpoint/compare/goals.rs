//! The goals of two operands: which are missing, done, taken over, and which made progress.

use crate::use_cases::checkpoint::compare::changes::{ChangeKind, Changes, HistoryBetween, Noun, counted};
use crate::use_cases::checkpoint::compare::operand::{Operand, OperandGoal, OperandGoals};
use empirica_notes::model::Id;

const DIMENSION: &str = "goals";
const GOAL: Noun = ("goal", "goals");

impl Changes {
    /// Compares open goals, numbers and progress; closed goals are not missing.
    pub fn goals(&mut self, a: &Operand, b: &Operand, history: &HistoryBetween, exists: &dyn Fn(&Id) -> bool) {
        let (Some(was), Some(is)) = (&a.goals, &b.goals) else { return };
        self.compared.push(DIMENSION);
        let left = was.open.iter().filter(|goal| !is.open.iter().any(|now| now.id == goal.id));
        let taken_over = |id: &Id| !self.same_session && history.held.contains(id);
        let left = left.filter(|goal| !history.closed.contains(&goal.id) && !taken_over(&goal.id));
        let left: Vec<&OperandGoal> = left.collect();
        let names = |goals: &[&OperandGoal]| goals.iter().map(|goal| goal.text.clone()).collect::<Vec<_>>();
        // open goals that the later operand does not list
        let unnamed = is.active.saturating_sub(is.open.len() as u64);
        if !self.same_session {
            let count = (left.len() as u64).saturating_sub(unnamed);
            if count > 0 {
                let verb = if count == 1 { "was" } else { "were" };
                let what = format!("{} {verb} not taken over", counted(count, ("open goal", "open goals")));
                self.add(DIMENSION, ChangeKind::Lost, what, if unnamed == 0 { names(&left) } else { Vec::new() });
            }
        } else {
            let (stored, forgotten): (Vec<_>, Vec<_>) = left.into_iter().partition(|goal| exists(&goal.id));
            // another session took them over
            let taken = if unnamed == 0 { stored } else { Vec::new() };
            self.numbers(was, is, taken.len() as u64, names(&forgotten));
            if !taken.is_empty() {
                let verb = if taken.len() == 1 { "was" } else { "were" };
                let what = format!("{} {verb} taken over by another session", counted(taken.len() as u64, GOAL));
                self.add(DIMENSION, ChangeKind::Changed, what, names(&taken));
            }
        }
        self.progress(was, is);
    }

    fn numbers(&mut self, was: &OperandGoals, is: &OperandGoals, taken: u64, forgotten: Vec<String>) {
        let missing = was.total.saturating_sub(is.total + taken).max(forgotten.len() as u64);
        if missing > 0 {
            self.missing(DIMENSION, GOAL, missing, forgotten);
        } else {
            self.more(DIMENSION, GOAL, is.total.saturating_sub(was.total), Vec::new());
        }
        if is.completed < was.completed {
            self.add(DIMENSION, ChangeKind::Lost, "the completion of goals was forgotten", Vec::new());
        } else if is.completed > was.completed {
            let what = format!("{} done", counted(is.completed - was.completed, GOAL));
            self.add(DIMENSION, ChangeKind::Gained, what, Vec::new());
        }
        if let Some(before) = was.current.as_ref().filter(|before| is.current.as_ref() != Some(*before))
            && let Some(goal) = was.open.iter().find(|goal| goal.id == *before)
            && (is.open.iter().any(|goal| goal.id == *before) || is.completed == was.completed)
        {
            let what = if is.current.is_some() { "another goal is worked on" } else { "no goal is worked on" };
            self.add(DIMENSION, ChangeKind::Changed, what, vec![goal.text.clone()]);
        }
    }

    /// Compares the subtasks of goals that both operands list.
    fn progress(&mut self, was: &OperandGoals, is: &OperandGoals) {
        let steps = |progress: Option<(u64, u64)>| {
            progress.map_or_else(|| "no steps".to_owned(), |(done, all)| format!("{done}/{all} subtasks"))
        };
        let done = |goal: &OperandGoal| goal.progress.map_or(0, |(done, _)| done);
        let (mut back, mut on) = (Vec::new(), Vec::new());
        for goal in &was.open {
            let Some(now) = is.open.iter().find(|now| now.id == goal.id) else { continue };
            let item = format!("{}: {} → {}", goal.text, steps(goal.progress), steps(now.progress));
            if done(now) < done(goal) {
                back.push(item);
            } else if now.progress != goal.progress {
                on.push(item);
            }
        }
        let of = |items: &[String], one: &str, many: &str| match items.len() {
            1 => one.to_owned(),
            count => format!("{count} {many}"),
        };
        if !back.is_empty() {
            let what = of(&back, "the goal's progress was forgotten", "goals' progress was forgotten");
            self.add(DIMENSION, ChangeKind::Lost, what, back);
        }
        if !on.is_empty() {
            let what = of(&on, "the goal made progress", "goals made progress");
            self.add(DIMENSION, ChangeKind::Gained, what, on);
        }
    }
}
