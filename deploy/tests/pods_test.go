package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What pod security `restricted` asks for, and what we ask for besides.
func TestPodsAreRestricted(t *testing.T) {
	for _, o := range overlays(t) {
		pods := of[workload](t, o, "Deployment")
		for name, w := range of[workload](t, o, "StatefulSet") {
			pods[name] = w
		}
		for name, w := range pods {
			for _, fault := range faults(w.Spec.Template.Spec) {
				t.Errorf("%s %s: %s", o.name, name, fault)
			}
		}
	}
}

func faults(p pod) []string {
	var found []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	check(p.SecurityContext.RunAsNonRoot && p.SecurityContext.RunAsUser > 0, "may run as root")
	check(p.SecurityContext.SeccompProfile.Type == "RuntimeDefault", "seccomp profile %q", p.SecurityContext.SeccompProfile.Type)
	check(p.AutomountServiceAccountToken != nil && !*p.AutomountServiceAccountToken, "has a token for the API server")
	check(p.EnableServiceLinks != nil && !*p.EnableServiceLinks, "has service links in its environment")
	check(!p.HostNetwork && !p.HostPID && !p.HostIPC, "shares a namespace with the host")
	for _, v := range p.Volumes {
		check(v.ConfigMap != nil || v.Secret != nil || v.CSI != nil || v.EmptyDir != nil, "volume %s is of a kind that restricted forbids", v.Name)
	}
	for _, c := range append(slices.Clone(p.Containers), p.InitContainers...) {
		s := c.SecurityContext
		check(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation && !s.Privileged, "%s may gain privileges", c.Name)
		check(s.ReadOnlyRootFilesystem, "%s may write to its image", c.Name)
		check(slices.Equal(s.Capabilities.Drop, []string{"ALL"}) && len(s.Capabilities.Add) == 0, "%s keeps capabilities", c.Name)
		check(c.Resources.Requests["cpu"] != "" && c.Resources.Requests["memory"] != "", "%s requests no cpu or memory", c.Name)
		check(c.Resources.Limits["memory"] != "", "%s has no limit on memory", c.Name)
		check(c.Resources.Limits["cpu"] == "", "%s has a limit on cpu: throttling looks like slow providers", c.Name)
	}
	return found
}

func TestNamespacesEnforceRestricted(t *testing.T) {
	for _, name := range []string{"dev", "prod"} {
		o := render(t, name, "")
		namespaces := of[object](t, o, "Namespace")
		for _, obj := range o.objects {
			if obj.Kind == "Namespace" {
				continue
			}
			ns, ok := namespaces[obj.Metadata.Namespace]
			if !ok {
				t.Errorf("%s: %s is in namespace %q, which the overlay does not make", name, obj, obj.Metadata.Namespace)
			} else if ns.Metadata.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("%s: namespace %s does not enforce restricted", name, ns.Metadata.Name)
			}
		}
	}
}

func TestWorkersAreRolledOutWithoutAGap(t *testing.T) {
	for _, o := range overlays(t) {
		budgets := of[disruptionBudget](t, o, "PodDisruptionBudget")
		for class, w := range workers(t, o) {
			r := w.Spec.Strategy.RollingUpdate
			if r.MaxSurge != "25%" || fmt.Sprint(r.MaxUnavailable) != "0" {
				t.Errorf("%s %s: rolls out by %s more and %v fewer", o.name, class, r.MaxSurge, r.MaxUnavailable)
			}
			b := budgets[w.Metadata.Name]
			if fmt.Sprint(b.Spec.MaxUnavailable) != "1" || b.Spec.UnhealthyPodEvictionPolicy != "AlwaysAllow" {
				t.Errorf("%s %s: disruption budget %+v", o.name, class, b.Spec)
			}
			if diff := cmp.Diff(w.Spec.Selector, b.Spec.Selector); diff != "" {
				t.Errorf("%s %s: the disruption budget is another class's (-deployment +budget):\n%s", o.name, class, diff)
			}
			for _, s := range w.Spec.Template.Spec.TopologySpreadConstraints {
				if diff := cmp.Diff(w.Spec.Selector, s.LabelSelector); diff != "" || !slices.Equal(s.MatchLabelKeys, []string{"pod-template-hash"}) {
					t.Errorf("%s %s: spread over %s counts other pods (-deployment +spread):\n%s", o.name, class, s.TopologyKey, diff)
				}
			}
			if n := len(w.Spec.Template.Spec.TopologySpreadConstraints); n != 2 {
				t.Errorf("%s %s: spread over %d topologies, want zones and nodes", o.name, class, n)
			}
		}
	}
}

type disruptionBudget struct {
	Spec struct {
		MaxUnavailable             any      `json:"maxUnavailable"`
		UnhealthyPodEvictionPolicy string   `json:"unhealthyPodEvictionPolicy"`
		Selector                   selector `json:"selector"`
	} `json:"spec"`
}

func TestSelectorsOfQueueClassesAreApart(t *testing.T) {
	for _, o := range overlays(t) {
		all := workers(t, o)
		for class, w := range all {
			for other, v := range all {
				if class != other && matches(w.Spec.Selector, v.Spec.Template.Metadata.Labels) {
					t.Errorf("%s: the selector of %s takes pods of %s", o.name, class, other)
				}
			}
			if !matches(w.Spec.Selector, w.Spec.Template.Metadata.Labels) {
				t.Errorf("%s: the selector of %s does not take its own pods", o.name, class)
			}
		}
	}
}

func matches(s selector, labels map[string]string) bool {
	for k, v := range s.MatchLabels {
		if labels[k] != v {
			return false
		}
	}
	return len(s.MatchLabels) > 0
}

func TestWorkersAreProbedAndStartedAsTheyExpect(t *testing.T) {
	for _, o := range overlays(t) {
		for class, w := range workers(t, o) {
			c := w.Spec.Template.Spec.Containers[0]
			// Exec form, no shell between: the worker is process 1 and gets the signals.
			if diff := cmp.Diff([]string{"/worker", "run", "--config", "/etc/fourfold/worker.yaml"}, append(c.Command, c.Args...)); diff != "" {
				t.Errorf("%s %s: command (-want +got):\n%s", o.name, class, diff)
			}
			if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.StartupProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
				t.Errorf("%s %s: probes %q %q %q", o.name, class, c.StartupProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path)
			}
			ports := map[string]int{}
			for _, p := range c.Ports {
				ports[p.Name] = p.ContainerPort
			}
			if diff := cmp.Diff(map[string]int{"health": 8080}, ports); diff != "" {
				t.Errorf("%s %s: ports (-want +got):\n%s", o.name, class, diff)
			}
		}
	}
}

// Unified service tagging: the same three labels on the Deployment and its pods, handed to the worker by reference.
func TestWorkersAreTagged(t *testing.T) {
	for _, o := range overlays(t) {
		for class, w := range workers(t, o) {
			c := w.Spec.Template.Spec.Containers[0]
			for _, tag := range []string{"env", "service", "version"} {
				label := "tags.datadoghq.com/" + tag
				if v := w.Metadata.Labels[label]; v == "" || v != w.Spec.Template.Metadata.Labels[label] {
					t.Errorf("%s %s: label %s is %q on the Deployment and %q on its pods", o.name, class, label, v, w.Spec.Template.Metadata.Labels[label])
				}
				if got, want := c.field("DD_"+strings.ToUpper(tag)), "metadata.labels['"+label+"']"; got != want {
					t.Errorf("%s %s: DD_%s comes from %q", o.name, class, strings.ToUpper(tag), got)
				}
			}
			if c.field("DD_ENTITY_ID") != "metadata.uid" {
				t.Errorf("%s %s: DD_ENTITY_ID comes from %q", o.name, class, c.field("DD_ENTITY_ID"))
			}
			socket := strings.HasPrefix(c.env("FOURFOLD_STATSD"), "unix:///var/run/datadog/")
			if udp := c.field("DD_AGENT_HOST") == "status.hostIP"; udp == socket {
				t.Errorf("%s %s: DogStatsD by UDP %v, by socket %v: want one of them", o.name, class, udp, socket)
			}
			if _, version, _ := strings.Cut(c.Image, ":"); o.name != "bare" && w.Metadata.Labels["tags.datadoghq.com/version"] != version {
				t.Errorf("%s %s: image %s, version %s", o.name, class, c.Image, w.Metadata.Labels["tags.datadoghq.com/version"])
			}
		}
	}
}
