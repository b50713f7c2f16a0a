//! Rules over assessments: confidence, trajectory, calibration, track record.

pub mod belief;
pub mod calibration;
pub mod confidence;
pub mod gaps;
pub mod track_record;
pub mod trajectory;
