package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// greenFile holds, for each check that has succeeded, the hash of what it read.
const greenFile = folder + "/green.txt"

const greenHead = "# Written by the checks themselves (go run ./internal/dev/checks): what each had read when it last succeeded.\n"

func readGreen(root string) (map[string]string, error) {
	green := map[string]string{}
	text, err := os.ReadFile(filepath.Join(root, greenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return green, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] != "#" {
			green[fields[0]] = fields[1]
		}
	}
	return green, nil
}

func writeGreen(root string, green map[string]string) error {
	text := greenHead
	for _, name := range slices.Sorted(maps.Keys(green)) {
		text += fmt.Sprintf("%s %s\n", name, green[name])
	}
	path := filepath.Join(root, greenFile)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
