// Package recognize determines the kind of a file or directory. A command that was given a
// wrong one can name its kind and give advice in the error message:
//
//	switch what := recognize.Path(ctx, path); what {
//	case recognize.Dump:
//		return failure.Usagef("%s is %s: give it as --wiki-dump", path, what)
//
// It uses only names and first bytes. If these are not conclusive, the kind is "", and the
// command reports the error of its reader.
package recognize

import (
	"cmp"
	"context"
	"io"

	"pretext/internal/store"
)

// A Kind is the kind of a file or directory, in words that can follow "it is"; "" if it is
// not recognized.
type Kind string

// Kinds of files.
const (
	Empty         Kind = "an empty file"
	Dump          Kind = "a MediaWiki dump"
	DumpIndex     Kind = "the index of a multistream dump"
	SQL           Kind = "an SQL table"
	Checksums     Kind = "a list of checksums"
	Abstracts     Kind = "the abstracts of pages"
	Titles        Kind = "a list of titles"
	RSS           Kind = "an RSS feed"
	XML           Kind = "an XML file"
	HTML          Kind = "a web page (HTML)"
	JSON          Kind = "JSON"
	TokenizerJSON Kind = "a tokenizer.json"
	ModelConfig   Kind = "the config.json of a model"
	Vocab         Kind = "a vocabulary (vocab.txt)"
	SentencePiece Kind = "a SentencePiece model"
	Text          Kind = "plain text"
	Tar           Kind = "a tar archive"
	Zip           Kind = "a zip archive"
	EPUB          Kind = "an EPUB"
	SevenZip      Kind = "a 7-Zip archive"
	RAR           Kind = "a RAR archive"
	Xz            Kind = "compressed with xz"
	Zstd          Kind = "compressed with zstd"
	Gzip          Kind = "compressed with gzip"
	Bzip2         Kind = "compressed with bzip2"
	PDF           Kind = "a PDF file"
	Parquet       Kind = "a Parquet file"
	Arrow         Kind = "an Arrow file"
	SQLite        Kind = "an SQLite database"
	Office        Kind = "a document of an office program"
	Records       Kind = "a file of TFRecord records"
	Weights       Kind = "a file with the weights of a model"
	NumPy         Kind = "a NumPy file"
)

// Kinds of directories.
const (
	EmptyFolder     Kind = "an empty folder"
	PreparedRun     Kind = "a run of prepare-data"
	TrainingRun     Kind = "a run of train-bert"
	Model           Kind = "a model's folder"
	TokenizerFolder Kind = "a folder with a tokenizer"
	Downloads       Kind = "a folder of downloads"
	Documents       Kind = "a folder of documents"
	VocabFolder     Kind = "a folder with a vocabulary"
	Shards          Kind = "a folder of shards"
	Converted       Kind = "a folder of converted examples"
	Saved           Kind = "a data set of Hugging Face datasets (save_to_disk)"
	TextFolder      Kind = "a folder of text files"
	DumpFolder      Kind = "a folder of dumps"
	JSONFolder      Kind = "a folder of JSON files"
	ParquetFolder   Kind = "a folder of Parquet files"
	ArchiveFolder   Kind = "a folder of archives"
	HTMLFolder      Kind = "a folder of web pages (HTML)"
	PDFFolder       Kind = "a folder of PDF files"
	WeightsFolder   Kind = "a folder of PyTorch files"
)

// Path returns the kind of the file or directory at a location; "" if it does not
// exist or was not recognized.
func Path(ctx context.Context, location string) Kind {
	info, err := store.Stat(ctx, location)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return folder(ctx, location)
	}
	f, err := store.OpenPath(ctx, location)
	if err != nil {
		return ""
	}
	defer f.Close()
	return File(f, f.Size())
}

// headBytes is the number of bytes, after decompression, by which a file is
// recognized.
const headBytes = 64 << 10

// packedBytes is the maximum number of compressed bytes that are read to get headBytes. It
// has room for one bzip2 block: up to 900,000 bytes, or slightly more when compressed.
const packedBytes = 1 << 20

// File returns the kind of a file with size bytes. It decompresses the beginning of
// compressed files.
func File(r io.ReaderAt, size int64) Kind {
	if size == 0 {
		return Empty
	}
	head := make([]byte, min(size, headBytes))
	n, err := r.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return ""
	}
	head = head[:n]
	packing := Magic(head)
	switch packing {
	case "":
		return Content(head)
	case Gzip, Bzip2, Zstd:
		return cmp.Or(Content(unpacked(packing, io.NewSectionReader(r, 0, min(size, packedBytes)))), packing)
	}
	return packing
}

// Content returns the kind of a file from its first bytes after decompression.
func Content(head []byte) Kind {
	switch {
	case IsTar(head):
		return Tar
	case isRecords(head):
		return Records
	case isDump(head):
		return Dump
	}
	if k := markup(head); k != "" {
		return k
	}
	switch {
	case isVocab(head):
		return Vocab
	case isText(head):
		return Text
	}
	return ""
}
