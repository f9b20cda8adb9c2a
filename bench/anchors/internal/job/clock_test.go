package job

import (
	"testing"
	"time"
)

func TestClockEndsWhatIsDueInItsOrder(t *testing.T) {
	c, err := startClock()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	waits := []time.Duration{30 * time.Millisecond, time.Millisecond, 0, 20 * time.Millisecond, 20 * time.Millisecond}
	over := make([]<-chan struct{}, len(waits))
	for i, d := range waits {
		over[i] = c.after(d)
	}
	for _, i := range []int{2, 1, 3, 4, 0} {
		<-over[i]
		if took := time.Since(begun); took < waits[i] {
			t.Errorf("%v were over after %v", waits[i], took)
		}
	}
	<-c.after(time.Millisecond) // also when it has had nothing to do
}
