package clustertest

import (
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"pretext/cmd/prepare-data/command"
)

// page is the page whose commands the cluster tests run.
const page = "../../../docs/cluster.md"

// blocks returns the code blocks of the page in a language.
func blocks(t *testing.T, language string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("no block of %s", language)
	}
	return list
}

func TestThePageNamesOnlyFlagsThatExist(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"set", "job-host", "job-port", "artifact-port", "expansion-port", "artifacts-dir", "flink-master", "from-literal"} // of the job server and of kubectl
	for _, name := range regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(string(b), -1) {
		found := slices.Contains(known, name[1])
		for _, c := range command.NewRoot().Commands() {
			f := c.Flags().Lookup(name[1])
			found = found || f != nil && !f.Hidden // settings have no flag
		}
		if !found {
			t.Errorf("no command has --%s", name[1])
		}
	}
}

// The manifests are YAML, and what they refer to is among them.
func TestTheManifestsFitTogether(t *testing.T) {
	type object = map[string]any
	kinds, volumes, claims := map[string]int{}, map[string]bool{}, 0
	for _, block := range blocks(t, "yaml") {
		d := yaml.NewDecoder(strings.NewReader(block))
		for {
			var o object
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, block)
			}
			kind, _ := o["kind"].(string)
			kinds[kind]++
			switch kind {
			case "ConfigMap":
				var config object
				if err := yaml.Unmarshal([]byte(o["data"].(object)["properties"].(string)), &config); err != nil {
					t.Errorf("properties: %v", err)
				}
				if config["restart-strategy.type"] == nil {
					t.Error("properties have no restart strategy")
				}
			case "Deployment":
				spec := o["spec"].(object)["template"].(object)["spec"].(object)
				clear(volumes)
				list, _ := spec["volumes"].([]any)
				for _, v := range list {
					volumes[v.(object)["name"].(string)] = true
					if v.(object)["persistentVolumeClaim"] != nil {
						claims++
					}
				}
				for _, c := range spec["containers"].([]any) {
					mounts, _ := c.(object)["volumeMounts"].([]any)
					for _, m := range mounts {
						if name := m.(object)["name"].(string); !volumes[name] {
							t.Errorf("%s mounts %s, which is no volume", c.(object)["name"], name)
						}
					}
				}
			}
		}
	}
	if kinds["Deployment"] != 3 || kinds["Service"] != 2 || kinds["NetworkPolicy"] != 1 || claims != 1 {
		t.Errorf("objects %v, %d claims", kinds, claims)
	}
}
