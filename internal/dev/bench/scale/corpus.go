package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/sharding"
)

// makeDocuments writes a documents directory with a manifest and side-cars, but
// without documents files: planning does not read them. It returns the
// manifest's counts.
func makeDocuments(ctx context.Context, folder store.Folder, files, blocks int) (sharding.Counts, error) {
	random := rand.New(rand.NewPCG(1, 2))
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "extract", Algorithm: 1, Options: []byte("{}"),
		Inputs: []sharding.Input{{Name: "synthetic.xml.bz2", Bytes: int64(files) << 25, SHA256: sharding.Hash(nil)}}}
	m := sharding.Manifest{Recipe: recipe, Fingerprint: recipe.Fingerprint(), Counts: sharding.Counts{}}
	for i := range files {
		stem := fmt.Sprintf("%ssynthetic-%05d", sharding.DocumentsPrefix, i)
		body := sharding.DocumentsBody{SourceSHA256: sharding.Hash([]byte(stem))}
		counts := sharding.Counts{extract.Documents.Key: 0, extract.TextBytes.Key: 0}
		offset := int64(0)
		for range blocks*(i+1)/files - blocks*i/files {
			text := 230_000 + random.Int64N(32_000)
			b := extract.Block{Offset: offset, Length: text * 2 / 5, RawLength: text + 9000, Documents: 60 + random.Int64N(80), TextBytes: text}
			offset += b.Length
			body.Blocks = append(body.Blocks, b)
			counts.Add(sharding.Counts{extract.Documents.Key: b.Documents, extract.TextBytes.Key: b.TextBytes})
		}
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		car := sharding.SideCar{FormatVersion: sharding.FormatVersion, Stage: recipe.Stage, Fingerprint: m.Fingerprint, Task: i, Body: raw,
			File: sharding.FileEntry{Name: stem + sharding.DocumentsSuffix, Task: i, Bytes: offset, SHA256: body.SourceSHA256, Counts: counts}}
		data := sharding.Compact(car)
		proof := sharding.FileEntry{Name: stem + sharding.SideCarSuffix, Task: i, Bytes: int64(len(data)), SHA256: sharding.Hash(data)}
		m.Files = append(m.Files, proof, car.File) // sorted: .json comes before .jsonl.zst
		m.Counts.Add(counts)
		if err := writeUnsynced(folder, proof.Name, data); err != nil {
			return nil, err
		}
	}
	return m.Counts, writeUnsynced(folder, sharding.ManifestName, sharding.Marshal(m))
}
