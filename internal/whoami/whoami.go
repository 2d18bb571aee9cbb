// Package whoami lets Beam start for users without a name.
//
// A package of Beam looks up the current user when it is initialized, and
// panics if there is none: if the user ID has no entry in /etc/passwd and USER
// or HOME is unset, as in many containers. This package sets both variables
// first.
//
// It must be initialized before Beam. Go initializes packages in the order of
// their import paths as soon as all that they import is initialized, so this
// one imports nothing but the os package and what os/user needs too. A test of
// cmd/prepare-data checks the order in the real binary.
package whoami

import (
	"fmt"
	"os"
	"os/user"
)

func init() {
	for name, value := range map[string]string{"USER": "nobody", "HOME": "/"} {
		if os.Getenv(name) == "" {
			os.Setenv(name, value)
		}
	}
	// A program linked with the C library looks up the user only in the system's user
	// database (/etc/passwd); the environment variables have no effect.
	if _, err := user.Current(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: no user has ID %d: add one to /etc/passwd, or use the static program that CGO_ENABLED=0 go build makes (make build)\n",
			os.Args[0], os.Getuid())
		os.Exit(1)
	}
}
