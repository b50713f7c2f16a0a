//! One list of two rankings: reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).

use std::collections::BTreeMap;

use empirica_notes::model::Id;

/// The constant of the method: how much less the first places count.
const K: f64 = 60.0;

/// The ids of both lists, best first, each with the sum of weight/(60 + rank) over the lists that have it; of equals those of the first.
pub fn fuse(lists: [&[(Id, f64)]; 2]) -> Vec<(&Id, f64)> {
    let mut scores: BTreeMap<&Id, (f64, usize)> = BTreeMap::new();
    let mut order = 0;
    for (rank, (id, weight)) in lists.iter().flat_map(|list| (1..).zip(*list)) {
        let entry = scores.entry(id).or_insert_with(|| {
            order += 1;
            (0.0, order)
        });
        entry.0 += weight / (K + f64::from(rank));
    }
    let mut out: Vec<(&Id, (f64, usize))> = scores.into_iter().collect();
    out.sort_by(|a, b| b.1.0.total_cmp(&a.1.0).then(a.1.1.cmp(&b.1.1)));
    out.into_iter().map(|(id, (score, _))| (id, score)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_have_is_first() {
        let ids: Vec<Id> = (0..4).map(Id::at).collect();
        let [a, b, c, d] = &ids[..] else { panic!("four") };
        let list = |ids: &[&Id], weight: f64| ids.iter().map(|id| ((*id).clone(), weight)).collect::<Vec<_>>();
        let order = |words: f64| {
            let (words, meaning) = (list(&[a, b, c], words), list(&[d, b], 1.0));
            fuse([&words, &meaning]).into_iter().map(|(id, _)| id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(order(1.0).iter().collect::<Vec<_>>(), [b, a, d, c]);
        assert_eq!(order(0.5).iter().collect::<Vec<_>>(), [b, d, a, c], "words that say less come behind");
        assert!(fuse([&[], &[]]).is_empty());
    }
}
