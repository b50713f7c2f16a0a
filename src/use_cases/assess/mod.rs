//! Assessments: vectors before, during and after the work, with gates, drift and calibration.

pub mod calibration;
pub mod drift;
pub mod goal_suggestions;
pub mod guide;
pub mod submit;
pub mod view;
