package pipeline

import (
	"context"
	"errors"
	"io/fs"

	"pretext/internal/recognize"
	"pretext/internal/store"
)

// Advice for files and directories that are not of the kind for which they were given.
// Kinds that are not in a table are opened, and the reader of the source reports the
// error.
var (
	noText = recognize.Each("it holds no text to learn from; give the file of its dump that is called …-pages-articles….xml.bz2 as --wiki-dump",
		recognize.DumpIndex, recognize.SQL, recognize.Checksums, recognize.Abstracts, recognize.Titles, recognize.RSS).
		With(recognize.Each("it holds no text to learn from; give books, dumps or documents",
			recognize.ModelConfig, recognize.SentencePiece, recognize.Weights, recognize.NumPy, recognize.SQLite)).
		With(recognize.Each("convert it to .txt or .epub first", recognize.PDF, recognize.Office)).
		With(recognize.Each("unpack it first", recognize.SevenZip, recognize.RAR, recognize.Xz)).
		With(recognize.Cures{
			recognize.Vocab: "give it as --vocab PATH", recognize.TokenizerJSON: "give it as --tokenizer PATH",
			recognize.Records: "examples are made already; train-bert train --data reads them",
			recognize.Arrow:   "write it as Parquet or JSON lines first (to_parquet, to_json)",
		})

	notBook = noText.With(recognize.Cures{
		recognize.Dump:  "give it as --wiki-dump PATH",
		recognize.Bzip2: "unpack it, or compress it with gzip or zstd",
		recognize.HTML:  "convert it to text first; pages of a wiki as HTML go to --wiki-html",
		recognize.XML:   "convert it to text first",
		recognize.JSON:  "JSON lines go to prepare-data examples PATH",
	})

	// made holds the advice for an input that is a directory written by pretext. Such
	// directories are recognized because some contain .txt files that are not books, such as
	// vocab.txt.
	made = recognize.Cures{
		recognize.Documents:   "its text is extracted already: prepare-data examples PATH",
		recognize.PreparedRun: "its text is extracted already: prepare-data examples PATH/documents",
		recognize.Shards:      "examples are made already; train-bert train --data reads them",
		recognize.VocabFolder: "it holds no text; give its vocab.txt as --vocab",
		recognize.Converted:   "examples are made already",
		recognize.Model:       "it holds no text; its vocab.txt goes to --vocab",
		recognize.TrainingRun: "it holds no text",
		recognize.Saved:       "write it as Parquet or JSON lines first (to_parquet, to_json)",
	}

	// notBooks holds the advice for an input of --books that is a directory without books.
	notBooks = recognize.Cures{
		recognize.EmptyFolder:   "give a folder with .txt, .epub or .parquet files",
		recognize.DumpFolder:    "give it as --wiki-dump PATH",
		recognize.HTMLFolder:    "convert them to text first; pages of a wiki as HTML go to --wiki-html",
		recognize.PDFFolder:     "convert them to .txt or .epub first",
		recognize.JSONFolder:    "JSON lines go to prepare-data examples PATH",
		recognize.ArchiveFolder: "archives in a folder are not opened: give each with a --books of its own, as in --books PATH/*",
	}

	// notDumps holds the advice for an input of --wiki-dump that is a directory without dumps.
	notDumps = made.With(recognize.Cures{
		recognize.EmptyFolder:   "give a folder with dumps (.xml, .xml.bz2 or .xml.gz)",
		recognize.TextFolder:    "texts and books go to --books PATH",
		recognize.ParquetFolder: "give it as --books PATH",
		recognize.HTMLFolder:    "give it as --wiki-html PATH",
		recognize.JSONFolder:    "JSON lines go to prepare-data examples PATH",
		recognize.ArchiveFolder: "unpack the archives first",
	})

	notLines = noText.With(recognize.Each("make documents of it first: prepare-data extract --books PATH --out DOCUMENTS",
		recognize.EPUB, recognize.Zip, recognize.Tar, recognize.Parquet)).
		With(recognize.Cures{
			recognize.Dump:  "make documents of it first: prepare-data extract --wiki-dump PATH --out DOCUMENTS, or all at once: prepare-data run --wiki-dump PATH",
			recognize.Bzip2: "unpack it, or compress it with gzip or zstd",
			recognize.HTML:  "convert it to text or JSON lines first", recognize.XML: "convert it to text or JSON lines first",
		})

	notJSONLines = notLines.With(recognize.Each("JSON lines are wanted here; give text in BERT's form as --text PATH, and books to prepare-data extract --books PATH", recognize.Text, recognize.Empty))

	notBERTText = notLines.With(recognize.Cures{recognize.JSON: "JSON lines are given without --text: prepare-data examples PATH"})

	notModel = recognize.Each("it holds no text; give documents", recognize.Model, recognize.TrainingRun)

	notDocuments = recognize.Cures{
		recognize.EmptyFolder:     "give a folder of documents (prepare-data extract writes one), or JSON lines",
		recognize.PreparedRun:     "name its documents: PATH/documents",
		recognize.Downloads:       "make documents of it first: prepare-data extract --wiki-dump PATH --out DOCUMENTS",
		recognize.DumpFolder:      "make documents of it first: prepare-data extract --wiki-dump PATH --out DOCUMENTS",
		recognize.TextFolder:      "books: prepare-data extract --books PATH --out DOCUMENTS; a sentence a line: --text PATH",
		recognize.ParquetFolder:   "make documents of it first: prepare-data extract --books PATH --out DOCUMENTS",
		recognize.ArchiveFolder:   "make documents of them first: prepare-data extract --books PATH/* --out DOCUMENTS",
		recognize.HTMLFolder:      "pages of a wiki: prepare-data extract --wiki-html PATH --out DOCUMENTS",
		recognize.PDFFolder:       "convert them to text first",
		recognize.VocabFolder:     "give documents; the vocabulary goes to --vocab PATH/vocab.txt",
		recognize.TokenizerFolder: "give documents; a vocabulary goes to --vocab or --tokenizer",
		recognize.Shards:          "its examples are made already; give the documents that they were made of",
		recognize.Converted:       "its examples are made already; give the documents that they were made of",
		recognize.Saved:           "write it as Parquet or JSON lines first (to_parquet, to_json)",
	}
)

// checkBook returns a usage error if a file or directory given as a book is something else.
func checkBook(ctx context.Context, path string) error {
	switch info, err := store.Stat(ctx, path); {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		return nil // reading it will report the error
	case info.IsDir():
		return made.Check(ctx, path)
	}
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.ReadAt(head, 0) // a shorter file has no signature
	kind := recognize.File(f, f.Size())
	if recognize.Magic(head[:n]) == recognize.Bzip2 && kind != recognize.Dump {
		kind = recognize.Bzip2
	}
	return notBook.For(path, kind)
}
