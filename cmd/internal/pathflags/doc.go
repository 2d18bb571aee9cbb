// Package pathflags tests all flags for files and folders, in both programs, with
// unsuitable paths: a pipe, a device, a socket, a folder, a link to one of these or to
// nothing, a file of a data set, and a user's own file. The test needs both programs, so
// it has a package of its own.
package pathflags
