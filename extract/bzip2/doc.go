// Package bzip2 decodes bzip2 files block by block, starting at any byte, so
// that several workers can decode parts of the same file.
//
//	file     stream stream ...
//	stream   "BZh" level '1'-'9' | block block ... | end magic, CRC-32 | padding to a byte
//	block    48-bit magic, CRC-32, Huffman tables, up to 900 kB of text before run expansion
//
// Blocks are independent of each other and may begin at any bit. A [Reader] of a
// byte range finds the first block that begins in the range and decodes from
// there:
//
//	r := bzip2.NewReader(file, size, bzip2.Range{Start: start, End: end})
//	for {
//		b, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		if err != nil {
//			return err
//		}
//		if !b.Owned && complete {
//			break // the last document of this range is complete
//		}
//		use(b.Data) // before the next call
//	}
//
// Use [Reader.Peek] first to avoid decoding a block after the range that is not
// needed.
//
// # Ranges
//
// A block belongs to the range that contains the first bit of its magic number;
// the header of its stream does not matter. If ranges [a,b), [b,c), … cover the
// file, every block belongs to exactly one of them.
//
// The magic number may also occur by chance inside a block (once in 2^48 bits).
// If a reader cannot decode the first block that it finds, it decodes the valid
// block before it. If the valid block ends where the magic number begins, the
// found block is corrupt, which is an error. If the valid block extends further,
// the magic number is a chance match and is skipped. If there is no valid block
// before it, that is an error too.
//
// # Checks
//
// A block's data is returned only after its checksum was verified. The checksum
// of a stream is verified if the reader read the stream from its beginning. If
// the reader did not read the stream's header, it accepts blocks up to the size
// of level 9.
//
// The package accepts the same files as compress/bzip2; both reject randomised
// blocks, obsolete since 1999. There are two exceptions, which no encoder
// writes:
//
//   - Huffman codes that are not complete are read as libbz2 reads them.
//   - After four equal bytes and the count 0, the same byte begins a new run,
//     as in libbz2.
//
// In both packages, data after the last stream is an error; here the error
// matches [ErrTrailing].
//
// # Memory
//
// The file is read by ReadAt through a window of 1 MiB. A reader takes about 9
// MB and 1 to 4 MiB for the largest piece of data, for any file. [Reader.Reset]
// reuses this memory.
//
// # Concurrency
//
// A Reader must not be used by several goroutines at once. Several Readers may
// share an io.ReaderAt that is safe for concurrent use.
package bzip2
