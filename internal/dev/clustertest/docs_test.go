package clustertest

import (
	"errors"
	"fmt"
	"io"
	"maps"
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

// jobServer is the class that the page and the tests start as job server.
const jobServer = "org.apache.beam.runners.flink.PretextJobServer"

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
	known := []string{"set", "job-host", "job-port", "artifact-port", "expansion-port", "artifacts-dir", "flink-master", "from-literal", "follow"} // of the job server and of kubectl
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

// An object is a part of a manifest.
type object = map[string]any

// manifests returns the objects of the page's manifests.
func manifests(t *testing.T) (objects []object) {
	t.Helper()
	for _, block := range blocks(t, "yaml") {
		d := yaml.NewDecoder(strings.NewReader(block))
		for {
			var o object
			if err := d.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, block)
			}
			if o["kind"] != nil {
				objects = append(objects, o)
			}
		}
	}
	return objects
}

// at returns the value at a path of keys; nil if there is none.
func at(v any, path ...string) any {
	for _, key := range path {
		o, _ := v.(object)
		v = o[key]
	}
	return v
}

// each returns the elements of the list at a path.
func each(v any, path ...string) []any {
	list, _ := at(v, path...).([]any)
	return list
}

// The manifests are YAML, and what they name is among them or on the page.
func TestTheManifestsFitTogether(t *testing.T) {
	objects := manifests(t)
	names, kinds := map[string]bool{"Secret pretext-pool": true}, map[string]int{} // kubectl makes the secret
	for _, o := range objects {
		kind := o["kind"].(string)
		kinds[kind]++
		names[fmt.Sprint(kind, " ", at(o, "metadata", "name"))] = true
	}
	for _, o := range objects {
		switch o["kind"] {
		case "ConfigMap":
			checkConfig(t, at(o, "data"))
		case "Deployment", "Job":
			checkPod(t, at(o, "spec", "template", "spec"), names)
		}
	}
	want := map[string]int{"ServiceAccount": 1, "PersistentVolumeClaim": 1, "ConfigMap": 1, "Service": 2, "Deployment": 3, "NetworkPolicy": 1, "Job": 1}
	if !maps.Equal(kinds, want) {
		t.Errorf("objects %v, want %v", kinds, want)
	}
}

// checkConfig checks Flink's properties, and that the file of the cluster has only keys
// that prepare-data knows.
func checkConfig(t *testing.T, data any) {
	t.Helper()
	var config, cluster object
	if err := errors.Join(yaml.Unmarshal([]byte(at(data, "properties").(string)), &config), yaml.Unmarshal([]byte(at(data, "cluster.yaml").(string)), &cluster)); err != nil {
		t.Errorf("ConfigMap: %v", err)
	}
	if config["restart-strategy.type"] == nil {
		t.Error("properties have no restart strategy")
	}
	page, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for key := range cluster {
		if !strings.Contains(string(page), "| `"+key+": ") && !strings.Contains(string(page), "| `"+key+"`") {
			t.Errorf("cluster.yaml: the page does not describe %s", key)
		}
	}
}

// checkPod checks that a pod has an account, volumes for its mounts, and for each container
// requests, limits and flags that its program has.
func checkPod(t *testing.T, spec any, names map[string]bool) {
	t.Helper()
	if !names[fmt.Sprint("ServiceAccount ", at(spec, "serviceAccountName"))] {
		t.Errorf("no account %v", at(spec, "serviceAccountName"))
	}
	volumes := map[any]bool{}
	for _, v := range each(spec, "volumes") {
		volumes[at(v, "name")] = true
		for kind, name := range map[string]any{"PersistentVolumeClaim": at(v, "persistentVolumeClaim", "claimName"), "ConfigMap": at(v, "configMap", "name"), "Secret": at(v, "secret", "secretName")} {
			if name != nil && !names[fmt.Sprint(kind, " ", name)] {
				t.Errorf("volume %v: no %s %v", at(v, "name"), kind, name)
			}
		}
	}
	for _, c := range each(spec, "containers") {
		name := at(c, "name")
		for _, m := range each(c, "volumeMounts") {
			if !volumes[at(m, "name")] {
				t.Errorf("%v mounts %v, which is no volume", name, at(m, "name"))
			}
		}
		for _, path := range [][]string{{"requests", "cpu"}, {"requests", "memory"}, {"requests", "ephemeral-storage"}, {"limits", "memory"}, {"limits", "ephemeral-storage"}} {
			if at(c, append([]string{"resources"}, path...)...) == nil {
				t.Errorf("%v has no %v", name, path)
			}
		}
		if name != "submitter" && at(c, "livenessProbe") == nil {
			t.Errorf("%v has no liveness probe", name)
		}
		checkCommand(t, each(c, "command"))
	}
}

// checkCommand checks that prepare-data has the command and flags of a container.
func checkCommand(t *testing.T, words []any) {
	t.Helper()
	if len(words) > 0 && words[0] == "java" && (!slices.Contains(words, any(jobServer)) || !slices.Contains(words, any("/opt/flink/lib/*"))) {
		t.Errorf("%v does not start %s of Flink's lib/", words, jobServer)
	}
	if len(words) == 0 || words[0] != "/opt/pretext/prepare-data" {
		return
	}
	c, _, err := command.NewRoot().Find([]string{words[1].(string)})
	if err != nil {
		t.Error(err)
		return
	}
	for _, w := range words[2:] {
		if name, ok := strings.CutPrefix(w.(string), "--"); ok && c.Flags().Lookup(name) == nil {
			t.Errorf("%s has no flag --%s", words[1], name)
		}
	}
}
