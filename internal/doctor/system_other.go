//go:build !linux

package doctor

func systemMemory() (free, total int64, ok bool) { return 0, 0, false }

func openFiles() (n uint64, ok bool) { return 0, false }

func fileSize() (n int64, ok bool) { return 0, false }
