package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// A bom is a bill of materials in CycloneDX 1.5. It has no date and no serial
// number, which are optional: the same programs have the same bill.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     bomMetadata  `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type bomMetadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []bomHash  `json:"hashes,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type bomHash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// bill returns the bill of materials: every program with the modules that the
// build recorded in it.
func (r *release) bill(built []programs) (name string, data []byte, err error) {
	whole := component{Type: "application", Ref: "pretext", Name: "pretext", Version: r.version}
	out := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Metadata: bomMetadata{whole}}
	modules, all := map[string]component{}, dependency{Ref: whole.Ref}
	var uses []dependency
	for _, p := range built {
		for i, f := range p.files {
			program, has := describe(p.platform, f, p.built[i])
			program.Version = r.version
			out.Components = append(out.Components, program)
			all.DependsOn = append(all.DependsOn, program.Ref)
			use := dependency{Ref: program.Ref}
			for _, m := range has {
				modules[m.Ref] = m
				use.DependsOn = append(use.DependsOn, m.Ref)
			}
			slices.Sort(use.DependsOn)
			uses = append(uses, use)
		}
	}
	out.Dependencies = append([]dependency{all}, uses...)
	for _, ref := range slices.Sorted(maps.Keys(modules)) {
		out.Components = append(out.Components, modules[ref])
	}
	data, err = json.MarshalIndent(out, "", " ")
	return "pretext-" + r.version + ".cdx.json", append(data, '\n'), err
}

// describe returns a program and its modules as components.
func describe(p platform, f file, info *debug.BuildInfo) (program component, modules []component) {
	program = component{Type: "application", Ref: p.String() + "/" + f.name, Name: f.name,
		Hashes: []bomHash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(f.data))}}}
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
	}
	for _, m := range linked(info) {
		path := strings.ToLower(m.Path) // as the specification of package URLs says
		purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
		c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		modules = append(modules, c)
	}
	return program, modules
}

// linked returns the modules that are linked into a program, and the standard
// library.
func linked(info *debug.BuildInfo) []debug.Module {
	modules := []debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, *m)
	}
	return modules
}

// noticesName is the name of the file with the licences of all modules that the
// programs contain.
const noticesName = "NOTICES.txt"

var licenceFile = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents)([.-].*)?$`)

// makeNotices returns the licences of Go and of all modules in the programs.
func (r *release) makeNotices(ctx context.Context, built []programs) ([]byte, error) {
	folders := map[string]string{}
	for _, p := range built {
		for _, info := range p.built {
			for _, m := range linked(info) {
				folders[m.Path+" "+m.Version] = ""
			}
		}
	}
	// Sets the folder of each module, of which the keys are path and
	// version. The licence of the standard library lies above it.
	args := []string{"list", "-m", "-mod=readonly", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}
	for module := range folders {
		if path, _, _ := strings.Cut(module, " "); path != "std" {
			args = append(args, path)
		}
	}
	for _, question := range [][]string{args, {"env", "GOROOT"}} {
		cmd := exec.CommandContext(ctx, "go", question...)
		cmd.Dir = r.source
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go %s: %w", question[0], err)
		}
		for line := range strings.Lines(string(out)) {
			module, folder, listed := strings.Cut(strings.TrimSpace(line), "\t")
			if listed {
				folders[module] = folder
				continue
			}
			for m := range folders {
				if strings.HasPrefix(m, "std ") {
					folders[m] = module
				}
			}
		}
	}

	var b bytes.Buffer
	b.WriteString("The programs contain these modules, under the licences below.\n")
	for _, module := range slices.Sorted(maps.Keys(folders)) {
		if err := licences(&b, module, folders[module]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// licences appends the licence files of a module.
func licences(b *bytes.Buffer, module, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", module, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n\n%s\n%s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), module, e.Name(), strings.Repeat("=", 80), bytes.TrimSpace(text))
		found = true
	}
	if !found {
		return fmt.Errorf("%s has no licence file in %s: without one it may not be passed on", module, folder)
	}
	return nil
}
