//! `query` over random histories and filters answers what a plain scan of the notes does, with none of our own code.
