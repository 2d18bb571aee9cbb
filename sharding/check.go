package sharding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"runtime"

	"golang.org/x/sync/errgroup"

	"pretext/internal/store"
)

// A Problem is one defect of a folder.
type Problem struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`           // position of the defect in the file; 0 if it concerns the whole file
	Record *int64 `json:"record,omitempty"` // number of the record, from 0; nil if unknown
	Reason string `json:"reason"`
}

func (p Problem) String() string { return p.File + ": " + p.Reason }

// HashFile returns the size of a file in bytes and its SHA-256 in hexadecimal.
func HashFile(ctx context.Context, folder Folder, name string) (bytes int64, sum string, err error) {
	f, err := store.OpenAt(ctx, folder, name, 0, store.ToEnd)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	return hashOf(ctx, f, name)
}

// hashOf implements [HashFile] for an open file.
func hashOf(ctx context.Context, f File, name string) (bytes int64, sum string, err error) {
	h := sha256.New()
	n, err := copyChunks(ctx, h, f)
	if err != nil {
		return 0, "", fmt.Errorf("read %s: %w", name, err)
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

func copyChunks(ctx context.Context, h hash.Hash, f File) (int64, error) {
	buf := make([]byte, min(1<<20, f.Size())) // most files of a run are small
	var offset int64
	for offset < f.Size() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), f.Size()-offset)], offset)
		h.Write(buf[:n])
		offset += int64(n)
		if err != nil && (err != io.EOF || n == 0) {
			return 0, err
		}
	}
	return offset, nil
}

// endsBytes is the number of bytes at each end of a source file that EndsHash
// reads.
const endsBytes = 1 << 20

// EndsHash returns the SHA-256 of the first and the last MiB of a source file,
// or of the whole file if it is shorter than 2 MiB. Together with the size it
// identifies a source without reading all of it. The tasks that read the source
// hash every byte.
func EndsHash(f File) (string, error) {
	size := f.Size()
	h := sha256.New()
	first := min(size, endsBytes)
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, first)); err != nil {
		return "", err
	}
	last := max(first, size-endsBytes)
	if _, err := io.Copy(h, io.NewSectionReader(f, last, size-last)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// SourceInput returns a source file as an input of a stage, with its base name, size and
// [EndsHash].
func SourceInput(ctx context.Context, path string) (Input, error) {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return Input{}, err
	}
	defer f.Close()
	sum, err := EndsHash(f)
	if err != nil {
		return Input{}, fmt.Errorf("read %s: %w", path, err)
	}
	return Input{Name: store.Base(path), Bytes: f.Size(), SHA256: sum}, nil
}

// CheckSize compares the file in folder with e, its manifest entry: it must
// exist and have the same size. It returns nil if they agree.
func (e FileEntry) CheckSize(ctx context.Context, folder Folder) (*Problem, error) {
	info, err := folder.Stat(ctx, e.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return e.checkSize(store.Missing), nil
	}
	if err != nil {
		return nil, err
	}
	if problem := e.checkSize(info.Size()); problem != nil {
		return problem, nil
	}
	return nil, ctx.Err()
}

// checkSizes is [FileEntry.CheckSize] for many files, which must be sorted by name. It
// takes few requests to an object store.
func checkSizes(ctx context.Context, folder Folder, files []FileEntry) (problems []Problem, err error) {
	if s, ok := folder.(*Stage); ok {
		folder = s.Folder
	}
	own, ok := folder.(store.Folder)
	if !ok { // of the caller's own kind
		for _, e := range files {
			problem, err := e.CheckSize(ctx, folder)
			if err != nil {
				return nil, fmt.Errorf("check %s: %w", e.Name, err)
			}
			if problem != nil {
				problems = append(problems, *problem)
			}
		}
		return problems, nil
	}
	names := make([]string, len(files))
	for i, e := range files {
		names[i] = e.Name
	}
	sizes, err := store.Sizes(ctx, own, names)
	if err != nil {
		return nil, err
	}
	for i, e := range files {
		if problem := e.checkSize(sizes[i]); problem != nil {
			problems = append(problems, *problem)
		}
	}
	return problems, nil
}

// checkSize compares the size of a file with its manifest entry.
func (e FileEntry) checkSize(size int64) *Problem {
	switch size {
	case e.Bytes:
		return nil
	case store.Missing:
		return &Problem{File: e.Name, Reason: "missing"}
	}
	return &Problem{File: e.Name, Offset: min(size, e.Bytes), Reason: fmt.Sprintf("%d bytes long, the manifest says %d", size, e.Bytes)}
}

// Compare compares the size in bytes and the hexadecimal SHA-256 of a file with e, its
// manifest entry. It returns nil if they agree.
func (e FileEntry) Compare(size int64, sum string) *Problem {
	if problem := e.checkSize(size); problem != nil {
		return problem
	}
	if sum != e.SHA256 {
		return &Problem{File: e.Name, Reason: "content differs from the manifest (SHA-256)"}
	}
	return nil
}

// Check compares the file in folder with e, its manifest entry: it must exist
// and have the same size and SHA-256. It returns nil if they agree.
func (e FileEntry) Check(ctx context.Context, folder Folder) (*Problem, error) {
	f, err := store.OpenAt(ctx, folder, e.Name, 0, max(1, e.Bytes))
	if err != nil {
		if problem, err := e.CheckSize(ctx, folder); problem != nil || err != nil {
			return problem, err
		}
		return nil, err
	}
	defer f.Close()
	if problem := e.checkSize(f.Size()); problem != nil {
		return problem, nil
	}
	_, sum, err := hashOf(ctx, f, e.Name)
	if err != nil {
		return nil, err
	}
	return e.Compare(f.Size(), sum), nil
}

// CheckFiles compares files of a folder with their manifest entries: their sizes, as
// checkSizes does, and with hashes their SHA-256 too, several files at a time. If any
// differ, the error is a [DamageError] that names them by path, in the order of files.
func CheckFiles(ctx context.Context, folder Folder, files []FileEntry, hashes bool) error {
	problems, err := []Problem(nil), error(nil)
	if hashes {
		problems, err = checkHashes(ctx, folder, files)
	} else {
		problems, err = checkSizes(ctx, folder, files)
	}
	if err != nil || len(problems) == 0 {
		return err
	}
	for i := range problems {
		problems[i].File = store.Join(folder.String(), problems[i].File)
	}
	return &DamageError{Problems: problems}
}

// checkHashes is [FileEntry.Check] for many files.
func checkHashes(ctx context.Context, folder Folder, files []FileEntry) (problems []Problem, err error) {
	found := make([]*Problem, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range files {
		g.Go(func() error {
			var err error
			if found[i], err = e.Check(ctx, folder); err != nil {
				return fmt.Errorf("check %s: %w", store.Join(folder.String(), e.Name), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, p := range found {
		if p != nil {
			problems = append(problems, *p)
		}
	}
	return problems, nil
}

// Proved reports whether the side-car with the given name proves that its task is
// complete: its fingerprint is the given one, and the files it lists exist and match. If
// so, ok is true, car is the side-car, and proof is its manifest entry: name, size and
// SHA-256.
func Proved(ctx context.Context, folder Folder, name, fingerprint string) (car *SideCar, proof FileEntry, ok bool, err error) {
	car, proof, ok, err = ReadProof(ctx, folder, name, fingerprint)
	if err != nil || !ok {
		return nil, proof, false, err
	}
	for _, e := range append([]FileEntry{car.File, car.Index}, car.More...) {
		if e.Name == "" {
			continue
		}
		problem, err := e.Check(ctx, folder)
		if err != nil || problem != nil {
			return nil, proof, false, err
		}
	}
	return car, proof, true, nil
}

// ReadProof is like [Proved], but does not read the files that the side-car lists.
func ReadProof(ctx context.Context, folder Folder, name, fingerprint string) (car *SideCar, proof FileEntry, ok bool, err error) {
	raw, err := store.ReadFile(ctx, folder, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, proof, false, nil
	}
	if err != nil {
		return nil, proof, false, err
	}
	car = new(SideCar)
	if err := parseJSON(raw, car); err != nil || car.Fingerprint != fingerprint {
		return nil, proof, false, nil // corrupt or of another plan: no proof
	}
	return car, entry(name, raw), true, nil
}
