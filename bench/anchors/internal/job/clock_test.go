package job

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bell is an alarm that somebody else rings.
type bell struct{ times []time.Duration }

func (b *bell) set(after time.Duration) error {
	b.times = append(b.times, after)
	return nil
}

func (*bell) wait() error { select {} }

func TestClockEndsWhatIsDueAndIsSetForTheNext(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		b := &bell{}
		c := &clock{alarm: b}
		var over []<-chan struct{}
		for _, d := range []time.Duration{30 * ms, 10 * ms, 20 * ms, 20 * ms} {
			over = append(over, c.after(d))
		}
		for _, want := range [][]bool{{false, true, false, false}, {false, true, true, true}, {true, true, true, true}} {
			time.Sleep(10 * ms)
			c.ring()
			var got []bool
			for _, ch := range over {
				select {
				case <-ch:
					got = append(got, true)
				default:
					got = append(got, false)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("over (-want +got):\n%s", diff)
			}
		}
		if diff := cmp.Diff([]time.Duration{30 * ms, 10 * ms, 10 * ms, 10 * ms}, b.times); diff != "" {
			t.Errorf("set (-want +got):\n%s", diff)
		}
	})
}

func TestTheMachinesAlarmRings(t *testing.T) {
	c, err := startClock()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // also when it has had nothing to do
		begun := time.Now()
		<-c.after(time.Millisecond)
		if took := time.Since(begun); took < time.Millisecond {
			t.Errorf("a millisecond was over after %v", took)
		}
	}
}
