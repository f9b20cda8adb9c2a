package tasks_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/executor"
	"fourfold/tasks"
)

// blamed says how the first step of a run ended, and what for.
func blamed(st tasks.Status) []string {
	s := st.Steps[0]
	return []string{st.Outcome.String(), s.FailureClass.String(), s.ErrorKind.String(), s.Reason.String(), s.Provider.String()}
}

func TestAStepThatWaitsNoLongerSaysWhatItHasWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"a place":                       {&executor.Parked{NotBefore: time.Now().Add(time.Hour)}, []string{"FAILED", "upstream-4xx", "rate_limit", "none", ""}},
		"a limit, as it was told":       {limitedFor(429, time.Hour), []string{"FAILED", "upstream-4xx", "rate_limit", "none", "stub"}},
		"an outage, as it was told":     {limitedFor(503, time.Hour), []string{"FAILED", "upstream-5xx", "provider_error", "none", "stub"}},
		"a conflict, as it was told":    {limitedFor(409, time.Hour), []string{"FAILED", "upstream-4xx", "provider_error", "none", "stub"}},
		"whoever says that he is down":  {&executor.Parked{NotBefore: time.Now().Add(time.Hour), Class: executor.ClassUpstream5xx}, []string{"FAILED", "upstream-5xx", "provider_error", "breaker_open", ""}},
		"whoever says that he is tired": {&executor.Parked{NotBefore: time.Now().Add(time.Hour), Class: executor.ClassTimeout}, []string{"FAILED", "timeout", "none", "none", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := realFleet(t)
			f.worker(newModel(func(context.Context, string, int) (string, error) { return "", c.err }), nil)
			flow := strings.Replace(patientSteps, "    degrade_to: '0'\n", "    max_wait: 1m\n", 1)
			if diff := cmp.Diff(c.want, blamed(f.wait(f.submit(bundle(t, flow), "1")))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStepThatHasWaitedForAProbeSaysThatItsProviderIsDown(t *testing.T) {
	f := realFleet(t)
	probing := make(chan struct{})
	m := newModel(func(ctx context.Context, _ string, n int) (string, error) {
		if n > 1 {
			close(probing)
			<-ctx.Done()
		}
		return "", sickness()
	})
	f.breaking(m, time.Nanosecond) // a probe is due at once
	f.wait(f.submit(bundle(t, onceFlow), "1"))
	f.submit(bundle(t, onceFlow), "1")
	<-probing
	st := f.wait(f.submit(bundle(t, onceFlow+"    max_wait: 500ms\n"), "1"))
	if diff := cmp.Diff([]string{"FAILED", "upstream-5xx", "provider_error", "breaker_open", ""}, blamed(st)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// hasten lets the sweeper ring at once for the step of a run that is parked under another name than the last time, and says which.
func (f *fleet) hasten(run tasks.RunID, last string) string {
	f.t.Helper()
	ctx := context.Background()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		members, err := f.rdb.ZRange(ctx, "fourfold:{default}:outbox", 0, -1).Result()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, member := range members {
			if !strings.HasPrefix(member, run.String()+":") || member == last {
				continue
			}
			if err := f.rdb.ZAddXX(ctx, "fourfold:{default}:outbox", redis.Z{Member: member}).Err(); err != nil {
				f.t.Fatal(err)
			}
			return member
		}
		if st, err := f.client.Status(ctx, run, tasks.NoValues); err != nil || st.Done() {
			f.t.Fatalf("the run has ended: %v, %v", blamed(st), err)
		}
	}
	f.t.Fatal("the step is not parked")
	return ""
}

// Hours are not waited for: what is parked is rung for early, and the record is made older.
func TestTheWaitForABreakerIsCountedApartFromThatForALimit(t *testing.T) {
	f := realFleet(t)
	m := newModel(func(_ context.Context, step string, n int) (string, error) {
		if step == "limited" && n == 1 {
			return "", &executor.Parked{NotBefore: time.Now().Add(time.Hour)}
		}
		return "", sickness()
	})
	f.breaking(m, time.Hour)
	flow := "flow: f\nsteps:\n  - id: limited\n    prompt: p.tmpl\n    output: number.json\n    max_wait: 100h\n    budget: {attempts: 1, per_attempt: 60s, total: 130m}\n"
	run := f.submit(bundle(t, flow), "1")
	f.waits(run, map[string]tasks.WaitsFor{"limited": tasks.WaitsForProvider})
	f.older(run, 50*time.Hour)
	if st := f.wait(f.submit(bundle(t, onceFlow), "1")); st.Outcome != executor.OutcomeFailed {
		t.Fatalf("%+v", st)
	}
	parked := f.hasten(run, "")
	for range 2 { // each for an hour
		parked = f.hasten(run, parked)
	}
	st := f.wait(run)
	if diff := cmp.Diff([]string{"FAILED", "upstream-5xx", "provider_error", "breaker_open", "stub"}, blamed(st)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.count("limited") != 1 {
		t.Errorf("%d calls", m.count("limited"))
	}
}

// older makes it longer ago that the first step of a run was parked first.
func (f *fleet) older(run tasks.RunID, by time.Duration) {
	f.t.Helper()
	ctx, key := context.Background(), "fourfold:{default}:run:"+run.String()
	rec, err := f.rdb.HGet(ctx, key, "s0").Result()
	if err != nil {
		f.t.Fatal(err)
	}
	parked := regexp.MustCompile(`;(\d{13})\|`)
	if !parked.MatchString(rec) {
		f.t.Fatalf("record of a parked step: %q", rec)
	}
	since := ";" + strconv.FormatInt(time.Now().Add(-by).UnixMilli(), 10) + "|"
	if err := f.rdb.HSet(ctx, key, "s0", parked.ReplaceAllString(rec, since)).Err(); err != nil {
		f.t.Fatal(err)
	}
}
