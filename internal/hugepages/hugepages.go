// Package hugepages asks the operating system for large pages of memory.
//
// Tables of megabytes that are read at random places do not fit what a processor
// remembers of the translation of addresses, if each page has 4 KiB.
package hugepages
