package runstate

import (
	"testing"
	"time"

	"fourfold/executor"
	"fourfold/provider"
)

// The records of the state, as a worker writes and reads them.
func BenchmarkCodec(b *testing.B) {
	end := StepEnd{
		Attempts: 3, Latency: 60_012 * time.Millisecond, Model: executor.ModelVersionOf("gpt-4o-2024-08-06"), Usage: executor.Tokens(812, 64),
		Prompted: true, Provider: provider.MustName("primary"), ErrorKind: provider.KindNetwork, Reason: provider.ReasonTimeout,
	}
	record := end.encode()
	marker := NewMarker(executor.OutcomeDegraded, 3, Cause(executor.ClassTimeout))
	settled := []any{
		string(Settled), "o|1|2|0|2", int64(1_796_000_000_000), []any{"1", "2", "2", "2"}, []any{"0|2|0|0|2"}, nil,
	}
	b.Run("write an end", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = end.encode()
		}
	})
	b.Run("read an end", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeEnd(record); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write and read a marker", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if m, err := ParseMarker(marker.String()); err != nil || m != marker {
				b.Fatal(m, err)
			}
		}
	})
	b.Run("read a change", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if c, err := decodeChange(settled, Onward{}); err != nil || len(c.Ready) != 2 || len(c.Closed) != 1 {
				b.Fatal(c, err)
			}
		}
	})
}
