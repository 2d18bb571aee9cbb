// Package pathflags has a test of every flag of both programs that names a file or a
// folder: what happens if it names a pipe, a device, a socket, a folder, a link to one of
// these or to nothing, a file of a data set, or a user's own file. It needs both programs,
// so it stands beside them.
package pathflags
