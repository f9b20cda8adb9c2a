package redistest

import "syscall"

// dieWithParent lets the kernel end the server when the test process dies without cleaning up.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
