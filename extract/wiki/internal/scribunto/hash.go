package scribunto

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"pretext/extract/wiki/internal/lua"
)

// hashLibrary returns mw.hash, with the algorithms that modules use. PHP knows more.
func hashLibrary() *lua.Table {
	t := lua.NewTable()
	register(t, map[string]lua.Native{
		"hashValue": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			name, data := a.String(0), []byte(a.String(1))
			m.Step(len(data) / 8)
			text, ok := hashValue(name, data)
			if !ok {
				m.Fail(failWiki, "hash "+name)
			}
			return []lua.Value{m.String(text)}
		},
		"listAlgorithms": func(m *lua.Machine, _ []lua.Value) []lua.Value {
			m.Fail(failWiki, "hash.listAlgorithms")
			return nil
		},
	})
	return t
}

// hashValue returns the hash of data in hexadecimal digits.
func hashValue(algorithm string, data []byte) (text string, ok bool) {
	switch algorithm {
	case "md5":
		sum := md5.Sum(data)
		return hex.EncodeToString(sum[:]), true
	case "sha1":
		sum := sha1.Sum(data)
		return hex.EncodeToString(sum[:]), true
	case "sha256":
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), true
	case "sha512":
		sum := sha512.Sum512(data)
		return hex.EncodeToString(sum[:]), true
	case "crc32b":
		return fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)), true
	}
	return "", false
}
