//go:build !linux

package job

import "time"

// timer is Go's own.
type timer struct{ *time.Timer }

func newAlarm() (alarm, error) {
	t := timer{time.NewTimer(time.Hour)}
	t.Stop()
	return t, nil
}

func (t timer) set(after time.Duration) error {
	t.Reset(after)
	return nil
}

func (t timer) wait() error {
	<-t.C
	return nil
}
