package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
)

// Media types of the OCI image specification 1.0.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// imageUser runs the programs: a number that no system gives to a person.
const imageUser = 65532

// A descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *imagePlatform    `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type imagePlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// An imageIndex lists images, or is the entry of a layout.
type imageIndex struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type imageManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type imageConfig struct {
	imagePlatform
	Config runConfig `json:"config"`
	RootFS rootFS    `json:"rootfs"`
}

// A runConfig has no entry point: the first word after the image's name is the
// program.
type runConfig struct {
	User       string            `json:"User"`
	Env        []string          `json:"Env"`
	Cmd        []string          `json:"Cmd"`
	WorkingDir string            `json:"WorkingDir"`
	Labels     map[string]string `json:"Labels"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// An image is an OCI image layout under construction.
type image struct {
	about map[string]string // annotations and labels
	files []file
}

// add adds a blob and returns its descriptor.
func (i *image) add(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	name := "blobs/sha256/" + sum
	if !slices.ContainsFunc(i.files, func(f file) bool { return f.name == name }) {
		i.files = append(i.files, file{name, 0o644, data})
	}
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

func (i *image) addJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return i.add(mediaType, data), err
}

// image returns an image of the Linux programs as a tar of an OCI layout; without
// such programs its name is "".
func (r *release) image(built []programs) (name string, data []byte, err error) {
	i := &image{about: map[string]string{
		"org.opencontainers.image.title":       "pretext",
		"org.opencontainers.image.description": "BERT pre-training data from raw dumps, and training on it",
		"org.opencontainers.image.version":     r.version,
	}}
	all := imageIndex{SchemaVersion: 2, MediaType: typeIndex, Annotations: i.about}
	for _, p := range built {
		if p.os != "linux" {
			continue
		}
		d, err := r.platformImage(i, p)
		if err != nil {
			return "", nil, err
		}
		all.Manifests = append(all.Manifests, d)
	}
	if all.Manifests == nil {
		return "", nil, nil
	}
	entry, err := i.addJSON(typeIndex, all)
	if err != nil {
		return "", nil, err
	}
	entry.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	index, err := json.Marshal(imageIndex{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{entry}})
	if err != nil {
		return "", nil, err
	}
	files := append(i.files, file{"index.json", 0o644, index}, file{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	data, err = tarred(files)
	return "pretext-" + r.version + "-oci.tar", data, err
}

// platformImage adds the image of one platform: a layer with the programs, the
// licences, and a folder that the user may write to.
func (r *release) platformImage(i *image, p programs) (d descriptor, err error) {
	root := []file{{"data/", 0o777, nil}, {noticesName, 0o644, r.notices}}
	root = append(root, p.files...)
	layer, err := tarred(root)
	if err != nil {
		return d, err
	}
	packed, err := gzipped(layer)
	if err != nil {
		return d, err
	}
	system := imagePlatform{Architecture: p.arch, OS: p.os}
	config, err := i.addJSON(typeConfig, imageConfig{imagePlatform: system,
		Config: runConfig{User: fmt.Sprintf("%d:%d", imageUser, imageUser), Env: []string{"PATH=/"}, Cmd: []string{"prepare-data", "--help"}, WorkingDir: "/data", Labels: i.about},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}}})
	if err != nil {
		return d, err
	}
	d, err = i.addJSON(typeManifest, imageManifest{SchemaVersion: 2, MediaType: typeManifest, Config: config,
		Layers: []descriptor{i.add(typeLayer, packed)}, Annotations: i.about})
	d.Platform = &system
	return d, err
}
