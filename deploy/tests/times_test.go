package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// flushMargin is what a worker needs after its drain: to give steps back, to flush metrics and to end.
const flushMargin = 15 * time.Second

// Longest step budget ≤ drain < grace − margin: in this order a step that a stop cuts short is back on its queue at once.
// The other way round it is killed, and stays away until its claim has ended.
func TestTimesStandInTheirOrder(t *testing.T) {
	budget, step := longestBudget(t)
	for _, o := range overlays(t) {
		for class, w := range workers(t, o) {
			c := w.Spec.Template.Spec.Containers[0]
			drain := duration(t, c.env("FOURFOLD_DRAIN"))
			grace := time.Duration(w.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
			if budget > drain {
				t.Errorf("%s %s: drain %v is shorter than %v, the total budget of %s", o.name, class, drain, budget, step)
			}
			if drain >= grace-flushMargin {
				t.Errorf("%s %s: grace %v leaves less than %v after the drain of %v", o.name, class, grace, flushMargin, drain)
			}
			if told := duration(t, c.env("FOURFOLD_GRACE")); told != grace {
				t.Errorf("%s %s: the worker is told a grace of %v, it has %v", o.name, class, told, grace)
			}
		}
		for name, s := range of[scaledObject](t, o, "ScaledObject") {
			for what, seconds := range map[string]int{
				"cooldownPeriod":                       s.Spec.CooldownPeriod,
				"scaleDown.stabilizationWindowSeconds": s.Spec.Advanced.HPA.Behavior.ScaleDown.StabilizationWindowSeconds,
			} {
				if d := time.Duration(seconds) * time.Second; d < budget {
					t.Errorf("%s %s: %s of %v is shorter than the longest step budget, %v", o.name, name, what, d, budget)
				}
			}
		}
	}
}

// longestBudget returns the largest total of a step in the flows under examples/, and whose it is.
func longestBudget(t *testing.T) (longest time.Duration, step string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(top, "examples"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var flow struct {
			Flow  string `json:"flow"`
			Steps []struct {
				ID     string `json:"id"`
				Budget struct {
					Total string `json:"total"`
				} `json:"budget"`
			} `json:"steps"`
		}
		if err := yaml.Unmarshal(text, &flow); err != nil || flow.Flow == "" {
			return err
		}
		for _, s := range flow.Steps {
			if s.Budget.Total == "" {
				continue // a handler's step may leave it to the worker
			}
			if total := duration(t, s.Budget.Total); total > longest {
				longest, step = total, strings.Join([]string{flow.Flow, s.ID}, "/")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if longest == 0 {
		t.Fatal("examples/ has no flow with a budget: the order of times cannot be checked")
	}
	return longest, step
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
