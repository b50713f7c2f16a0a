//! The file of the vectors of a source: appended to, read as a whole for a search.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::EmbedError;
use crate::quantized::{Nearest, Quantized, product};

/// The first bytes; the number of numbers of a vector follows, as 4 bytes, little end first.
const MAGIC: &[u8; 8] = b"EMPVEC1\n";
const HEAD: usize = MAGIC.len() + 4;
/// The bytes of an id, and of the scale behind it.
const ID: usize = 16;
const SCALE: usize = 4;
/// The most numbers of a vector that are believed.
const LONGEST: usize = 1 << 16;
/// How much is read at once, at least a row.
const CHUNK: usize = 1 << 20;

/// The 16 bytes of an id.
pub type Key = [u8; ID];

/// The vectors nearest to another.
#[derive(Debug)]
pub struct Neighbors {
    /// With the cosine, the nearest first.
    pub nearest: Vec<(f32, Key)>,
    /// How many vectors were compared.
    pub count: u32,
    /// The mean of all cosines.
    pub mean: f32,
    /// Their standard deviation.
    pub deviation: f32,
}

/// A file of vectors. One process writes at a time; a row that is not whole counts as absent.
#[derive(Debug, Clone)]
pub struct VectorFile(PathBuf);

impl VectorFile {
    /// At a path; it need not exist.
    pub fn at(path: &Path) -> Self {
        VectorFile(path.to_owned())
    }

    /// The ids with a vector, and the length of the vectors; none, and 0, without a usable file.
    pub fn keys(&self) -> io::Result<(HashSet<Key>, usize)> {
        let mut keys = HashSet::new();
        let length = self.each(|key, _, _| {
            keys.insert(key);
        })?;
        Ok((keys, length))
    }

    /// Calls `visit` with the id, the scale and the numbers of each vector, a signed byte each; returns their length, 0 without a usable file.
    fn each(&self, mut visit: impl FnMut(Key, f32, &[u8])) -> io::Result<usize> {
        let mut file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let Some(length) = length(&mut file)? else { return Ok(0) };
        let row = ID + SCALE + length;
        let mut buffer = vec![0_u8; (CHUNK / row).max(1) * row];
        loop {
            let read = fill(&mut file, &mut buffer)?;
            for row in buffer[..read].chunks_exact(row) {
                let (key, rest) = row.split_at(ID);
                let (scale, numbers) = rest.split_at(SCALE);
                let key = Key::try_from(key).unwrap_or_default();
                let scale = f32::from_le_bytes(scale.try_into().unwrap_or_default());
                if scale.is_finite() {
                    visit(key, scale, numbers);
                }
            }
            if read < buffer.len() {
                return Ok(length);
            }
        }
    }

    /// How many numbers a vector has; `None` without a usable file.
    pub fn length(&self) -> Option<usize> {
        length(&mut File::open(&self.0).ok()?).ok()?
    }

    /// How many vectors there are; 0 without a usable file.
    pub fn count(&self) -> usize {
        let Some(length) = self.length() else { return 0 };
        let bytes = fs::metadata(&self.0).map_or(0, |meta| usize::try_from(meta.len()).unwrap_or(0));
        bytes.saturating_sub(HEAD) / (ID + SCALE + length)
    }

    /// The vectors nearest to a query, at most `most`, of those that `counts` admits. A vector of zeros is near to nothing.
    pub fn nearest(&self, query: &[f32], most: usize, counts: impl Fn(&Key) -> bool) -> Result<Neighbors, EmbedError> {
        let wanted = Quantized::of(query);
        // a text without a word that the model knows is near to nothing
        let mut nearest = Nearest::new(if wanted.scale == 0.0 { 0 } else { most });
        let (mut count, mut sum, mut squares) = (0_u32, 0.0_f64, 0.0_f64);
        let length = self.each(|key, scale, numbers| {
            if numbers.len() == wanted.numbers.len() && scale != 0.0 && counts(&key) {
                let cosine = product(numbers, &wanted.numbers) as f32 * scale * wanted.scale;
                count += 1;
                sum += f64::from(cosine);
                squares += f64::from(cosine) * f64::from(cosine);
                nearest.offer(cosine, || key);
            }
        })?;
        if length != 0 && length != query.len() {
            return Err(EmbedError::Length(length, query.len()));
        }
        let mean = sum / f64::from(count.max(1));
        let deviation = (squares / f64::from(count.max(1)) - mean * mean).max(0.0).sqrt();
        Ok(Neighbors { nearest: nearest.found(), count, mean: mean as f32, deviation: deviation as f32 })
    }

    /// The mean of the vectors of these ids, each at length 1; `None` without any.
    pub fn mean(&self, wanted: &HashSet<Key>) -> io::Result<Option<Vec<f32>>> {
        let mut sum: Vec<f32> = Vec::new();
        self.each(|key, scale, numbers| {
            if scale != 0.0 && wanted.contains(&key) {
                sum.resize(numbers.len(), 0.0);
                sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += f32::from(number.cast_signed()) * scale);
            }
        })?;
        Ok((!sum.is_empty()).then_some(sum))
    }

    /// The vectors of these ids, each at length 1; without those of zeros.
    pub fn vectors(&self, wanted: &HashSet<Key>) -> io::Result<HashMap<Key, Vec<f32>>> {
        let mut out = HashMap::new();
        self.each(|key, scale, numbers| {
            if scale != 0.0 && wanted.contains(&key) {
                out.insert(key, numbers.iter().map(|number| f32::from(number.cast_signed()) * scale).collect());
            }
        })?;
        Ok(out)
    }

    /// Adds vectors; the file begins with the first. Refuses vectors of another length than those in it.
    pub fn append(&self, rows: &[(Key, Vec<f32>)]) -> Result<(), EmbedError> {
        let Some((_, first)) = rows.first() else { return Ok(()) };
        if first.len() > LONGEST {
            return Err(EmbedError::Answer(format!("its vectors have {} numbers, more than {LONGEST}", first.len())));
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.0)?;
        let mut end = HEAD as u64;
        match length(&mut file)? {
            Some(kept) if kept != first.len() => return Err(EmbedError::Length(kept, first.len())),
            Some(kept) => {
                let row = (ID + SCALE + kept) as u64;
                // what a write that was interrupted left
                end += (file.metadata()?.len() - end) / row * row;
            }
            None => {
                let length = u32::try_from(first.len()).unwrap_or(u32::MAX);
                file.set_len(0)?;
                io::Seek::seek(&mut file, io::SeekFrom::Start(0))?;
                file.write_all(&[&MAGIC[..], &length.to_le_bytes()].concat())?;
            }
        }
        file.set_len(end)?;
        io::Seek::seek(&mut file, io::SeekFrom::Start(end))?;
        let mut bytes = Vec::with_capacity(rows.len() * (ID + SCALE + first.len()));
        for (key, vector) in rows {
            let Quantized { scale, numbers } = Quantized::of(vector);
            push(&mut bytes, key, scale, &numbers);
        }
        Ok(file.write_all(&bytes)?)
    }

    /// Removes the vectors of all other ids; returns the ids that are left.
    pub fn retain(&self, wanted: &HashSet<Key>) -> io::Result<HashSet<Key>> {
        let (mut keys, length) = self.keys()?;
        let before = keys.len();
        keys.retain(|key| wanted.contains(key));
        if keys.len() < before || self.count() > before {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
            let mut left = keys.clone();
            self.each(|key, scale, numbers| {
                if left.remove(&key) {
                    push(&mut bytes, &key, scale, numbers);
                }
            })?;
            let new = self.0.with_extension("new");
            fs::write(&new, bytes)?;
            fs::rename(new, &self.0)?;
        }
        Ok(keys)
    }

    /// Makes the file, without vectors, unless it is there.
    pub fn begin(&self) -> io::Result<()> {
        OpenOptions::new().append(true).create(true).open(&self.0).map(|_| ())
    }

    /// A file beside it, empty, to take its place.
    pub fn successor(&self) -> io::Result<VectorFile> {
        let new = VectorFile(self.0.with_extension("new"));
        fs::write(&new.0, b"").map(|()| new)
    }

    /// Replaces the file by its successor.
    pub fn replace_by(&self, successor: &VectorFile) -> io::Result<()> {
        fs::rename(&successor.0, &self.0)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes all other files of its folder.
    pub fn remove_others(&self) -> io::Result<()> {
        let Some(folder) = self.0.parent() else { return Ok(()) };
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path != self.0 {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn push(bytes: &mut Vec<u8>, key: &Key, scale: f32, numbers: &[u8]) {
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(&scale.to_le_bytes());
    bytes.extend_from_slice(numbers);
}

/// The length of the vectors of a file, at whose beginning it stands; `None` for a file that is none.
fn length(file: &mut File) -> io::Result<Option<usize>> {
    let mut head = [0; HEAD];
    if fill(file, &mut head)? < HEAD || !head.starts_with(MAGIC) {
        return Ok(None);
    }
    let length = u32::from_le_bytes(head[MAGIC.len()..].try_into().unwrap_or_default()) as usize;
    Ok((1..=LONGEST).contains(&length).then_some(length))
}

/// Reads until the buffer is full or the file ends; returns how much.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read(&mut buffer[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        [n; ID]
    }

    fn turned(degrees: f32) -> Vec<f32> {
        vec![degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0]
    }

    fn found(file: &VectorFile, most: usize) -> Vec<u8> {
        let found = file.nearest(&turned(0.0), most, |key| key[0] != 9).expect("a file");
        found.nearest.into_iter().map(|(_, key)| key[0]).collect()
    }

    #[test]
    fn the_nearest_are_found_in_order() {
        let place = tempfile::tempdir().expect("a folder");
        let file = VectorFile::at(&place.path().join("v"));
        assert!(found(&file, 5).is_empty(), "no file");
        file.append(&[(key(1), turned(40.0)), (key(2), turned(5.0)), (key(9), turned(0.0))]).expect("written");
        file.append(&[(key(3), turned(20.0)), (key(4), turned(180.0))]).expect("written");
        assert_eq!(found(&file, 5), [2, 3, 1, 4]);
        assert_eq!(found(&file, 2), [2, 3]);
        let (keys, length) = file.keys().expect("read");
        assert_eq!((keys.len(), length), (5, 3));
        let mean = file.mean(&HashSet::from([key(2), key(3)])).expect("read").expect("two");
        assert!((mean[1] / mean[0] - 12.5_f32.to_radians().tan()).abs() < 0.01, "{mean:?}");
        assert!(file.mean(&HashSet::from([key(8)])).expect("read").is_none());
        assert_eq!(file.count(), 5);
        let left = file.retain(&HashSet::from([key(1), key(4), key(8)])).expect("written");
        assert_eq!((left.len(), found(&file, 5)), (2, vec![1, 4]));
        file.append(&[(key(1), turned(1.0))]).expect("written");
        file.retain(&left).expect("written");
        assert_eq!(file.count(), 2, "an id has one vector");
        fs::write(place.path().join("other"), "").expect("written");
        file.remove_others().expect("removed");
        assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 1);
        let new = file.successor().expect("written");
        new.append(&[(key(5), turned(0.0)), (key(6), turned(0.0))]).expect("written");
        assert_eq!(file.count(), 2);
        file.replace_by(&new).expect("renamed");
        file.begin().expect("written");
        assert_eq!(found(&file, 9), [5, 6]);
        assert!(file.nearest(&[0.0; 3], 9, |_| true).expect("a file").nearest.is_empty(), "zeros are near to nothing");
        assert!(matches!(file.append(&[(key(1), vec![0.5; LONGEST + 1])]), Err(EmbedError::Answer(_))));
    }

    #[test]
    fn vectors_of_another_length_are_refused_and_torn_rows_written_over() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("v");
        let file = VectorFile::at(&path);
        file.append(&[(key(1), turned(1.0)), (key(2), turned(2.0))]).expect("written");
        assert!(matches!(file.append(&[(key(3), vec![1.0])]), Err(EmbedError::Length(3, 1))));
        assert!(matches!(file.nearest(&[1.0], 1, |_| true), Err(EmbedError::Length(3, 1))));
        let whole = fs::read(&path).expect("bytes");
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).expect("written");
            let before = found(&file, 5).len();
            assert_eq!(before, end.saturating_sub(HEAD) / (ID + SCALE + 3), "{end}");
            file.append(&[(key(7), turned(0.0))]).expect("written");
            assert_eq!(found(&file, 5).len(), before + 1, "{end}");
        }
        for hostile in [&b"EMPVEC1\n\xff\xff\xff\xff"[..], b"EMPVEC1\n\0\0\0\0", b"something else that is longer"] {
            fs::write(&path, hostile).expect("written");
            assert!(found(&file, 5).is_empty());
        }
    }

    #[test]
    fn many_chunks_are_read() {
        let place = tempfile::tempdir().expect("a folder");
        let file = VectorFile::at(&place.path().join("v"));
        let rows: Vec<(Key, Vec<f32>)> = (0..5000_u32)
            .map(|n| {
                let mut key = key(0);
                key[..4].copy_from_slice(&n.to_le_bytes());
                let mut vector = vec![0.1; 300];
                vector[n as usize % 300] = n as f32;
                (key, vector)
            })
            .collect();
        rows.chunks(999).for_each(|rows| file.append(rows).expect("written"));
        let found = file.nearest(&rows[4321].1, 1, |_| true).expect("found").nearest;
        assert_eq!(u32::from_le_bytes(found[0].1[..4].try_into().expect("four")) % 300, 4321 % 300);
        assert_eq!(file.keys().expect("read").0.len(), 5000);
    }
}
