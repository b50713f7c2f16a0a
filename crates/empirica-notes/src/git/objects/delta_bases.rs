//! Blobs of packs that were read last: the bases of those that follow. Notes with similar texts are stored as chains of up to 50
//! deltas, each of which is read from its beginning without this. Trees of one version of the notes are no such chains.

use std::collections::HashMap;
use std::mem::take;

use gix::objs::Kind;
use gix::odb::pack::cache::DecodeEntry;

/// Bytes of the blobs of one generation; two are kept.
const GENERATION: usize = 4 << 20;
/// A larger one is not kept.
const LARGEST: usize = GENERATION / 8;

/// By pack and offset in it.
type Objects = HashMap<(u32, u64), DecodedObject>;

struct DecodedObject {
    kind: Kind,
    compressed: usize,
    data: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct DeltaBases {
    young: Objects,
    old: Objects,
    /// Those of `young`.
    bytes: usize,
}

impl DecodeEntry for DeltaBases {
    fn put(&mut self, pack_id: u32, offset: u64, data: &[u8], kind: Kind, compressed_size: usize) {
        if kind != Kind::Blob || data.len() > LARGEST {
            return;
        }
        if self.bytes + data.len() > GENERATION {
            self.old = take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += data.len();
        let object = DecodedObject { kind, compressed: compressed_size, data: data.to_vec() };
        self.young.insert((pack_id, offset), object);
    }

    fn get(&mut self, pack_id: u32, offset: u64, out: &mut Vec<u8>) -> Option<(Kind, usize)> {
        let at = (pack_id, offset);
        let object = self.young.get(&at).or_else(|| self.old.get(&at))?;
        out.clear();
        out.extend_from_slice(&object.data);
        Some((object.kind, object.compressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_objects_are_kept_within_two_generations() {
        let mut bases = DeltaBases::default();
        let text = |n: usize| vec![n as u8; LARGEST];
        let mut out = vec![9];
        assert_eq!(bases.get(0, 0, &mut out), None);
        for n in 0..40 {
            bases.put(1, n as u64, &text(n), Kind::Blob, n);
        }
        assert_eq!(bases.get(1, 39, &mut out), Some((Kind::Blob, 39)));
        assert_eq!(out, text(39));
        assert!(bases.get(0, 39, &mut out).is_none(), "of another pack");
        let kept = (0..40).filter(|n| bases.get(1, *n, &mut out).is_some()).count();
        assert!((8..=16).contains(&kept), "{kept}");
        bases.put(1, 99, &vec![0; LARGEST + 1], Kind::Blob, 1);
        bases.put(1, 100, &[0], Kind::Tree, 1);
        assert!(bases.get(1, 99, &mut out).is_none() && bases.get(1, 100, &mut out).is_none());
    }
}
