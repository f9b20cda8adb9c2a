package tests

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type scaledObject struct {
	Spec struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int `json:"minReplicaCount"`
		MaxReplicaCount int `json:"maxReplicaCount"`
		CooldownPeriod  int `json:"cooldownPeriod"`
		Advanced        struct {
			ScalingModifiers struct {
				Formula          string `json:"formula"`
				MetricType       string `json:"metricType"`
				Target           string `json:"target"`
				ActivationTarget string `json:"activationTarget"`
			} `json:"scalingModifiers"`
			HPA struct {
				Behavior struct {
					ScaleUp   struct{ StabilizationWindowSeconds int } `json:"scaleUp"`
					ScaleDown struct{ StabilizationWindowSeconds int } `json:"scaleDown"`
				} `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
		Triggers []struct {
			Type              string            `json:"type"`
			Name              string            `json:"name"`
			Metadata          map[string]string `json:"metadata"`
			AuthenticationRef struct {
				Name string `json:"name"`
			} `json:"authenticationRef"`
		} `json:"triggers"`
	} `json:"spec"`
}

func TestEachQueueClassIsScaledByAllThatIsOpen(t *testing.T) {
	for _, name := range []string{"dev", "prod"} {
		o := render(t, name, "")
		scalers := of[scaledObject](t, o, "ScaledObject")
		for class, w := range workers(t, o) {
			s, ok := scalers[w.Metadata.Name]
			if !ok {
				t.Errorf("%s: nothing scales %s", name, w.Metadata.Name)
				continue
			}
			if s.Spec.ScaleTargetRef.Name != w.Metadata.Name {
				t.Errorf("%s: the scaler %s scales %s", name, w.Metadata.Name, s.Spec.ScaleTargetRef.Name)
			}
			queue, _, _ := strings.Cut(w.Spec.Template.Spec.Containers[0].env("FOURFOLD_QUEUES"), "=")
			if queue != class {
				t.Errorf("%s: %s serves queue %s", name, w.Metadata.Name, queue)
			}
			want := map[string]string{
				"pending":   "asynq:{" + queue + "}:pending",
				"taken":     "asynq:{" + queue + "}:active",
				"active":    "fourfold:{" + queue + "}:claims",
				"scheduled": "asynq:{" + queue + "}:scheduled",
				"retry":     "asynq:{" + queue + "}:retry",
				"outbox":    "fourfold:{" + queue + "}:outbox",
			}
			got := map[string]string{}
			for _, tr := range s.Spec.Triggers {
				got[tr.Name] = tr.Metadata["listName"]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: triggers (-want +got):\n%s", name, class, diff)
			}
			m := s.Spec.Advanced.ScalingModifiers
			if got, want := addends(m.Formula), sortedKeys(want); !slices.Equal(got, want) {
				t.Errorf("%s %s: the formula adds %v, the triggers are %v", name, class, got, want)
			}
			if m.MetricType != "AverageValue" || m.ActivationTarget != "0" {
				t.Errorf("%s %s: metric type %s, activation %s: want AverageValue, 0", name, class, m.MetricType, m.ActivationTarget)
			}
			if concurrency := w.Spec.Template.Spec.Containers[0].env("FOURFOLD_CONCURRENCY"); m.Target != concurrency {
				t.Errorf("%s %s: target %s, concurrency of a pod %s", name, class, m.Target, concurrency)
			}
			if s.Spec.MaxReplicaCount <= s.Spec.MinReplicaCount {
				t.Errorf("%s %s: from %d to %d replicas is no scaling", name, class, s.Spec.MinReplicaCount, s.Spec.MaxReplicaCount)
			}
		}
	}
}

// KEDA ignores metadata that it does not know, without a word.
func TestTriggersSayOnlyWhatKEDAKnows(t *testing.T) {
	known := triggerParameters(t)
	for _, o := range overlays(t) {
		auth := of[triggerAuthentication](t, o, "TriggerAuthentication")
		for name, s := range of[scaledObject](t, o, "ScaledObject") {
			for _, tr := range s.Spec.Triggers {
				given := map[string]bool{}
				for key := range tr.Metadata {
					given[key] = true
					if p, ok := known[tr.Type][key]; !ok || !p.InMetadata {
						t.Errorf("%s %s: trigger %s: KEDA's %s scaler does not know %s", o.name, name, tr.Name, tr.Type, key)
					}
				}
				for _, ref := range auth[tr.AuthenticationRef.Name].Spec.SecretTargetRef {
					given[ref.Parameter] = true
					if p, ok := known[tr.Type][ref.Parameter]; !ok || !p.InAuthentication {
						t.Errorf("%s %s: trigger %s: no %s in an authentication of KEDA's %s scaler", o.name, name, tr.Name, ref.Parameter, tr.Type)
					}
				}
				address, kind := "address", "redis"
				if o.name == "prod-cluster" {
					address, kind = "addresses", "redis-cluster"
				}
				if tr.Type != kind {
					t.Errorf("%s %s: trigger %s is of type %s, want %s", o.name, name, tr.Name, tr.Type, kind)
				}
				for _, need := range []string{"listName", address, "username", "password"} {
					if !given[need] {
						t.Errorf("%s %s: trigger %s has no %s", o.name, name, tr.Name, need)
					}
				}
			}
		}
	}
}

func TestNobodyElseSetsTheReplicasThatAScalerOwns(t *testing.T) {
	for _, o := range overlays(t) {
		for class, w := range workers(t, o) {
			if w.Spec.Replicas != nil {
				t.Errorf("%s %s: replicas %d: each apply would undo what the scaler did", o.name, class, *w.Spec.Replicas)
			}
		}
	}
}

type triggerAuthentication struct {
	Spec struct {
		SecretTargetRef []struct {
			Parameter string `json:"parameter"`
			Name      string `json:"name"`
			Key       string `json:"key"`
		} `json:"secretTargetRef"`
	} `json:"spec"`
}

type parameter struct {
	Name             string `json:"name"`
	InMetadata       bool   `json:"metadataVariableReadable"`
	InAuthentication bool   `json:"triggerAuthenticationVariableReadable"`
}

// triggerParameters returns what KEDA says of its scalers, by type and name.
func triggerParameters(t *testing.T) map[string]map[string]parameter {
	t.Helper()
	text, err := os.ReadFile("schemas/keda-triggers.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	delete(raw, "$comment")
	known := map[string]map[string]parameter{}
	for trigger, list := range raw {
		var parameters []parameter
		if err := json.Unmarshal(list, &parameters); err != nil {
			t.Fatal(err)
		}
		known[trigger] = map[string]parameter{}
		for _, p := range parameters {
			known[trigger][p.Name] = p
		}
	}
	return known
}

var addend = regexp.MustCompile(`[a-z]+`)

func addends(formula string) []string {
	names := addend.FindAllString(formula, -1)
	sort.Strings(names)
	return names
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
