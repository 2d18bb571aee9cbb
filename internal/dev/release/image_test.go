package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
)

// layout returns the files of the image of a release.
func layout(t *testing.T) (files map[string]file, built []programs) {
	t.Helper()
	r, built := small(t)
	built[1].platform, built[1].files = platforms[1], slices.Clone(built[0].files)
	built[1].files[0].data = []byte("program for another processor")
	name, data, err := r.image(built)
	if err != nil || name != "pretext-1.2.3-oci.tar" {
		t.Fatalf("got %q, %v", name, err)
	}
	packed, err := gzipped(data)
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, ".tar.gz", packed), built
}

// blob decodes the JSON of a descriptor into v, after a check of digest and size.
func blob(t *testing.T, files map[string]file, d descriptor, v any) []byte {
	t.Helper()
	data := files["blobs/sha256/"+d.Digest[len("sha256:"):]].data
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); got != d.Digest || len(data) != d.Size {
		t.Fatalf("blob %s has %d bytes and hash %s, want %d", d.Digest, len(data), got, d.Size)
	}
	if v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func TestTheImageHasTheProgramsOfBothProcessorsAndNothingElse(t *testing.T) {
	files, built := layout(t)
	var entry, all imageIndex
	if err := json.Unmarshal(files["index.json"].data, &entry); err != nil {
		t.Fatal(err)
	}
	if len(entry.Manifests) != 1 || entry.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("index.json: got %+v, want one entry named 1.2.3", entry)
	}
	blob(t, files, entry.Manifests[0], &all)
	if len(all.Manifests) != 2 {
		t.Fatalf("%d images, want 2", len(all.Manifests))
	}
	for n, d := range all.Manifests {
		var m imageManifest
		var c imageConfig
		blob(t, files, d, &m)
		blob(t, files, m.Config, &c)
		if want := (imagePlatform{built[n].arch, "linux"}); *d.Platform != want || c.imagePlatform != want {
			t.Errorf("image %d is for %+v and %+v, want %+v", n, *d.Platform, c.imagePlatform, want)
		}
		if c.Config.User != "65532:65532" || c.Config.WorkingDir != "/data" || len(m.Layers) != 1 {
			t.Errorf("image %d: got %+v and %d layers", n, c.Config, len(m.Layers))
		}
		packed := blob(t, files, m.Layers[0], nil)
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); len(c.RootFS.DiffIDs) != 1 || c.RootFS.DiffIDs[0] != got {
			t.Errorf("image %d: diff_ids %v, want %s", n, c.RootFS.DiffIDs, got)
		}
		root := contents(t, ".tar.gz", packed)
		if len(root) != 4 || root["data/"].mode != 0o777 || root["prepare-data"].mode != 0o755 || root["train-bert"].mode != 0o755 {
			t.Errorf("image %d: got %v", n, root)
		}
		if !bytes.Equal(root["prepare-data"].data, built[n].files[0].data) {
			t.Errorf("image %d has another program", n)
		}
	}
}

func TestWithoutLinuxThereIsNoImage(t *testing.T) {
	r, built := small(t)
	if name, _, err := r.image(built[1:]); name != "" || err != nil {
		t.Errorf("got %q, %v", name, err)
	}
}
