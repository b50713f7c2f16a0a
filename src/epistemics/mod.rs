//! Pure rules over the model: what follows from what an agent said. No input or output.

pub mod arrival;
pub mod belief;
pub mod bound;
pub mod calibration;
pub mod chains;
pub mod compare;
pub mod confidence;
pub mod digest;
pub mod drift;
pub mod gaps;
pub mod gate;
pub mod gathered;
pub mod journal;
pub mod matching;
pub mod overview;
pub mod proposals;
pub mod recommend;
pub mod report;
pub mod short;
pub mod side;
pub mod snapshot;
pub mod tokens;
pub mod track;
pub mod trajectory;
