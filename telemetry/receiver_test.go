package telemetry_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"fourfold/telemetry"
	"fourfold/telemetry/telemetrytest"
)

func TestAddressThatCannotBeOneIsAnError(t *testing.T) {
	for _, addr := range []string{
		"localhost", "127.0.0.1", ":8125", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:statsd", "unix://", "unix://relative/path",
		"unixgram://x", "http://127.0.0.1:8125",
	} {
		if s, err := telemetry.New(telemetry.Config{Statsd: addr}); err == nil {
			t.Errorf("%q was taken", addr)
			s.Close()
		}
	}
}

func TestReceiverThatIsNotThereIsNoErrorAndHoldsNobodyUp(t *testing.T) {
	gone, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, addr := range []string{"", gone.LocalAddr().String(), "unix://" + filepath.Join(t.TempDir(), "none.socket"), "agent.invalid:8125", "[::1]:9"} {
		s, err := telemetry.New(telemetry.Config{Statsd: addr})
		if err != nil {
			t.Errorf("%q: %v", addr, err)
			continue
		}
		tellEverything(s)
		s.Flush()
		tellEverything(s)
		s.Close()
		tellEverything(s)
		s.Flush()
		s.Close()
	}
}

func TestSocketThatComesLaterIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dsd.socket")
	s := newSink(t, "unix://"+path, nil)
	s.StepFinished(t.Context(), degraded())
	s.Flush() // lost: nobody listens
	r, err := telemetrytest.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.StepFinished(t.Context(), degraded())
	s.Flush()
	if lines, err := r.Wait(patience(t), func(l []telemetrytest.Line) bool {
		return telemetrytest.Sum(l, "fourfold.step.finished") == 1 && telemetrytest.Sum(l, "fourfold.telemetry.dropped", "part:metrics") >= 0
	}); err != nil {
		t.Fatalf("%v: %v", err, lines)
	}
}

// datadog-go writes what it holds to a stuck socket packet by packet, each with a time-out: without a bound this Close takes
// minutes.
func TestCloseWithAStuckSocketIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dsd.socket")
	stuck, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	s := newSink(t, "unix://"+path, nil)
	for i := range 200_000 {
		f := degraded()
		f.Envelope.Latency += time.Duration(i) // numbers of full length, to fill packets
		s.StepFinished(context.Background(), f)
	}
	begin := time.Now()
	s.Close()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("Close took %v with a receiver that takes nothing", took)
	}
}

func TestFlushAndCloseTakeNoLongerThanTheyMay(t *testing.T) {
	if telemetry.CloseWithin >= 2*time.Second {
		t.Errorf("Close may take %v", telemetry.CloseWithin)
	}
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		begin := time.Now()
		telemetry.Bounded(func() { <-never })
		if took := time.Since(begin); took != telemetry.CloseWithin {
			t.Errorf("a stuck receiver holds the worker for %v, want %v", took, telemetry.CloseWithin)
		}
		close(never)
		begin = time.Now()
		telemetry.Bounded(func() {})
		if took := time.Since(begin); took != 0 {
			t.Errorf("an idle receiver holds the worker for %v", took)
		}
	})
}

func TestNilSinkIgnoresEverything(*testing.T) {
	var s *telemetry.Sink
	tellEverything(s)
	s.Flush()
	s.Close()
}
