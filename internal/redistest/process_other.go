//go:build !linux

package redistest

import "syscall"

// dieWithParent has no counterpart outside Linux; there only cleanup ends the server.
func dieWithParent() *syscall.SysProcAttr { return nil }
