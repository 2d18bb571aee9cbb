//go:build !unix

package store

func hold(string) (release func()) { return func() {} }

func held(string) bool { return false }
