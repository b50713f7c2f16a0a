//! How much of an object is read.

/// The size limit of a note, and of any other object of the notes, in bytes. Some kilobytes can unpack to any number.
pub(crate) const MAX_OBJECT_BYTES: u64 = 64 << 20;

/// Most bytes that gix allocates for an object: for one that is stored as a delta, its size twice and that of all deltas.
pub(crate) const MAX_ALLOCATED_BYTES: u64 = 3 * MAX_OBJECT_BYTES;
