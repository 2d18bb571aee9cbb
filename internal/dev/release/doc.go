// Release writes what a release consists of:
//
//	go run ./internal/dev/release            # make release: every platform, into bin/release
//	go run ./internal/dev/release -platforms linux/amd64
//
//	pretext-VERSION-OS-ARCH.tar.gz, .zip    programs, manual pages, completions
//	pretext-VERSION-py3-none-….whl          the same for pip, with the package of python/pretext
//	pretext-VERSION-oci.tar                 an image of the Linux programs and nothing else
//	pretext-VERSION.cdx.json                what the programs consist of (CycloneDX)
//	SHA256SUMS
//
// The version is that of the first heading of CHANGELOG.md; the programs get it
// with -ldflags -X. The output is a function of the source and the version of Go:
// lists are sorted, every file has the same date and owner, and the programs hold
// neither paths nor the state of the repository (-trimpath, -buildvcs=false).
package main
