// Package archtest holds the table of packages and arrows of ARCHITECTURE.md
// as a test. It parses files instead of asking the go tool, whose answer would
// be cached wrongly.
package archtest
