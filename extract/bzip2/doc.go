// Package bzip2 decodes bzip2 files block by block, from any byte of the file
// on, so that many workers share one file.
//
// A bzip2 file is one or more streams; a stream is a header, blocks of up to
// 900 kB of text (before runs expand) and an end. Blocks share nothing, begin
// at any bit, and begin with a 48-bit magic number. A [Reader] of a byte range
// finds the first block that begins there and reads on from it:
//
//	r := bzip2.NewReader(file, size, start, end)
//	for {
//		b, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		if err != nil {
//			return err
//		}
//		if !b.Owned && complete {
//			break // what this range began is complete
//		}
//		use(b.Data) // before the next call
//	}
//
// A caller that does not need what begins behind its range asks [Reader.Peek]
// first, which does not decode it.
//
// # Ranges
//
// A block belongs to the range in which the first bit of its magic number
// lies; the header of its stream does not count. Ranges [a,b), [b,c), … that
// cover the file partition its blocks, wherever the cuts lie.
//
// The magic number may also come about by chance inside a block (once in
// 2^48 bits). A reader that searches its first block decodes what it finds. If
// that cannot be decoded, the sound block before it tells: if that one ends
// just there, the block is damaged, which is an error; if it goes on behind,
// it was chance, and is skipped. Where no sound block precedes, it is an error.
//
// # Checks
//
// A block's data is handed out after its checksum was found right: damaged
// data never leaves. The checksum of a stream is compared where the reader read
// the stream from its beginning. A block of a stream whose header the reader
// did not see may be as large as level 9 permits.
//
// Codes, tables and lengths are checked as compress/bzip2 does, randomised
// blocks (obsolete since 1999) refused as there, and both take the same files
// but for these, which no encoder writes:
//
//   - Huffman codes that are not complete are read as libbz2 reads them.
//   - Behind four equal bytes and the count 0 the same byte begins a new run,
//     as in libbz2.
//
// Data behind the last stream is an error for both; here it is told apart, by
// [ErrTrailing].
//
// # Memory
//
// The file is read by ReadAt through a window of 1 MiB. A reader holds some
// 9 MB and the largest piece it handed out, of 1 to 4 MiB, whatever the file
// expands to; [Reader.Reset] uses them again.
//
// # Concurrency
//
// A reader is for one goroutine at a time. Readers share nothing but the
// io.ReaderAt, which each calls from its own methods only.
package bzip2
