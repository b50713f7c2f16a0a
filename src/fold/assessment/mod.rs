//! Rules over assessments: confidence, trajectory, calibration, track record.

pub mod belief;
pub mod calibration;
pub mod confidence;
pub mod drift;
pub mod gaps;
pub mod gate;
pub mod session_gate;
pub mod track_record;
pub mod trajectory;
