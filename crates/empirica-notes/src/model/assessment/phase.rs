//! The phases of the workflow.

crate::named_enum! {
    /// A phase of the workflow.
    pub enum Phase {
        /// Before the work.
        Preflight = "PREFLIGHT",
        /// Before acting: may I?
        Check = "CHECK",
        /// While acting; checkpoints only.
        Act = "ACT",
        /// After the work.
        Postflight = "POSTFLIGHT",
    }
}
