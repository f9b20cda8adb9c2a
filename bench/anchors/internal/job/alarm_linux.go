package job

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerfd is an alarm that Go's poller waits for as for a connection: to the microsecond.
type timerfd struct {
	fd   int
	file *os.File // of fd
}

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &timerfd{fd, os.NewFile(uintptr(fd), "timerfd")}, nil
}

func (t *timerfd) set(after time.Duration) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	return os.NewSyscallError("timerfd_settime", unix.TimerfdSettime(t.fd, 0, &spec, nil))
}

func (t *timerfd) wait() error {
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	return err
}
