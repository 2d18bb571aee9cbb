// Package version returns the version of these programs.
package version

import "runtime/debug"

// release is the version of a release. internal/dev/release sets it with
// -ldflags -X, from the first heading of CHANGELOG.md.
var release string

// String returns the version of the release. If the program is not a release build, it
// returns the version of the module that Go recorded at build time, or "unknown".
func String() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
