// Package formats lists the formats of examples by name.
package formats

import (
	"maps"
	"slices"

	"pretext/records/columns"
	"pretext/records/columns/hdf5"
	"pretext/records/columns/lddl"
	"pretext/records/columns/mds"
	"pretext/records/columns/megatron"
	"pretext/records/columns/npy"
	"pretext/records/columns/parquetfile"
	"pretext/records/columns/webdataset"
)

var formats = map[string]columns.Format{
	"hdf5":       hdf5.Format{},
	"lddl":       lddl.Format{},
	"mds":        mds.Format{},
	"megatron":   megatron.Format{},
	"parquet":    parquetfile.Format{},
	"npy":        npy.Format{},
	"webdataset": webdataset.Format{},
}

// Get returns the format with the given name; ok is false if there is none.
func Get(name string) (f columns.Format, ok bool) {
	f, ok = formats[name]
	return f, ok
}

// Names returns the names of all formats, sorted.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }
