//! Whether claims are about code that changed.

use crate::context::CommandContext;
use crate::context::claims::anchors;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use empirica_notes::error::{blank, empirica};
use empirica_notes::model::journal::anchor::AnchorState;

/// Most claims named one by one.
const NAMED: usize = 20;

/// A check for each of the newest claims whose code changed or is gone; none without claims about code. Such a claim is no fault of
/// the setup.
pub fn checks(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    context.index_cache.leave_file();
    let lost = match anchors::lost(context) {
        Ok(lost) => lost.claims,
        Err(error) => return vec![DoctorCheck::failed("claims", &error)],
    };
    let check = |(record, places): &(_, Vec<_>)| named(record, places);
    let mut out: Vec<DoctorCheck> = lost.iter().take(NAMED).map(check).collect();
    if lost.len() > NAMED {
        let more = lost.len() - NAMED;
        out.push(DoctorCheck::right("claims", format!("{more} older claims are about code that changed, too")));
    }
    out
}

fn named(record: &empirica_notes::model::Record, places: &[anchors::Place]) -> DoctorCheck {
    let id = record.envelope.id.short();
    let kind = record.body.kind().replace('_', " ");
    let is_there = places.iter().any(|place| place.state != AnchorState::Gone);
    let listed = anchors::listed(places).unwrap_or_default();
    let check = DoctorCheck::right("claims", format!("{kind} {id} may no longer hold: {listed}"));
    let check = if is_there { check.command(empirica("confirm").arg(id)) } else { check };
    check
        .command(empirica("replace").arg(id).arg(blank("<what holds now>")))
        .command(empirica("retract").arg(id).option("--why", blank("<reason>")))
}
