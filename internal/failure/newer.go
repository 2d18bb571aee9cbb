package failure

import (
	"fmt"
	"strings"
)

// A Newer is the error for a file that a later version of the program wrote, in a format
// version that this program does not support. It is a usage error: the file may be valid,
// so it is neither reported as corrupt nor written again.
type Newer struct {
	Version, Known int // format version of the file; highest version that this program supports
}

func (e *Newer) Error() string {
	return fmt.Sprintf("written by a newer pretext: format version %d, this program knows up to %d: install a newer one", e.Version, e.Known)
}

// Usage marks the error for exit codes.
func (e *Newer) Usage() bool { return true }

// CheckVersion returns a [*Newer] if version is above known.
func CheckVersion(version, known int) error {
	if version > known {
		return &Newer{version, known}
	}
	return nil
}

// CheckMagic returns a [*Newer] if got equals magic except for a higher version, the
// digit before the line feed at its end.
func CheckMagic(got, magic string) error {
	stem := magic[:len(magic)-2]
	if len(got) < len(magic) || !strings.HasPrefix(got, stem) || got[len(magic)-1] != '\n' || got[len(stem)] < '0' || got[len(stem)] > '9' {
		return nil
	}
	return CheckVersion(int(got[len(stem)]-'0'), int(magic[len(stem)]-'0'))
}
