//go:build !unix

package launch

import "syscall"

// apart returns nil, the default attributes.
func apart() *syscall.SysProcAttr { return nil }
