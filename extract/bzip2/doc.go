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
//		if !b.Owned && nothingBegun {
//			break
//		}
//		use(b.Data)
//	}
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
// Data is handed out when the checksum of its block was found right: damaged
// data never leaves. The checksum of a stream is compared where the reader
// read it from its beginning. A block of a stream whose header the reader did
// not see may be as large as level 9 permits. Codes, tables and lengths are
// checked as compress/bzip2 does, so both accept the same files, with these
// exceptions, which no encoder writes: Huffman codes that are not complete are
// read as libbz2 does; four equal bytes with the count 0 and the same byte
// behind them begin a new run, as for libbz2; and data behind the last stream
// is told apart by [ErrTrailing].
//
// # Memory
//
// The file is read by ReadAt through a window of 1 MiB. A reader holds about
// 12 MB, whatever the file holds; [Reader.Reset] uses them again.
package bzip2
