package provider

import (
	"context"
	"testing"
	"time"
)

// ear is a gate that hears only what is said on a living context with a bound.
type ear struct{ until time.Time }

func (*ear) Enter(context.Context, Name) (func(), error) { return func() {}, nil }

func (e *ear) Close(ctx context.Context, _ Name, until time.Time) {
	if _, bounded := ctx.Deadline(); bounded && ctx.Err() == nil {
		e.until = until
	}
}

func TestTheFleetHearsOfA429AlsoWhenTheCallerIsGone(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	e := &ear{}
	c := &call{guard: &guard{Client: named{}, cfg: GuardConfig{Gate: e}}, ctx: gone}
	c.closeGate(start)
	if !e.until.Equal(start) {
		t.Error("it was told on the caller's context, or without a bound")
	}
}

// named is a client of which only the name is asked.
type named struct{ Client }

func (named) Name() Name { return Name{"primary"} }
