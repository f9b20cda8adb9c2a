package traces

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"fourfold/provider"
)

// runIDs makes trace ids of runs, so that the steps of a run whose producer has no trace meet in one, and random ids
// otherwise.
type runIDs struct{}

// NewIDs is asked for a root span.
func (g runIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	if s := provider.ScopeOf(ctx); s.Run != "" && s.Attempt == 0 {
		sum := sha256.Sum256([]byte(s.Run))
		copy(id[:], sum[:])
	}
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID is asked for every other span.
func (runIDs) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
