//go:build !unix

package store

func umask() fsMode { return 0 }
