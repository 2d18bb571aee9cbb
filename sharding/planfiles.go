package sharding

import (
	"bytes"
	"fmt"
)

// A PlanFile is a file of the folder [PlanFolder].
type PlanFile struct {
	Name string
	Data []byte
}

// PlanFiles returns the plans of the tasks, then the list of their hashes.
func PlanFiles(tasks []any) (files []PlanFile) {
	for i, t := range tasks {
		files = append(files, PlanFile{TaskFile(i), Compact(t)})
	}
	return append(files, PlanFile{SumsName, PlanSums(files)})
}

// PlanSums returns the list of the files' hashes in the form of sha256sum.
func PlanSums(files []PlanFile) []byte {
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&sums, "%s  %s\n", Hash(f.Data), f.Name)
	}
	return sums.Bytes()
}
