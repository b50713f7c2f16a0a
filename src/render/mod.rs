//! Shared by all views: answers, safe text, formats, templates, colors, budgets.

pub mod answer;
pub mod budget;
pub mod color;
pub mod counts;
pub mod drift;
pub mod fill;
pub mod format;
pub mod pairs;
pub mod safe;
pub mod sparkline;
pub mod template;
