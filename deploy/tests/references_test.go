package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// keptElsewhere are the Secrets of prod that no repository holds.
var keptElsewhere = []string{"fourfold-redis-v1", "fourfold-keys-v1", "fourfold-redis-ca", "fourfold-redis-scaler"}

func TestEveryNameThatIsReferredToExists(t *testing.T) {
	for _, name := range []string{"dev", "prod"} {
		o := render(t, name, "")
		exists := func(kind, wanted string) bool {
			if name == "prod" && kind == "Secret" {
				return slices.Contains(keptElsewhere, wanted)
			}
			return slices.ContainsFunc(o.objects, func(obj object) bool { return obj.Kind == kind && obj.Metadata.Name == wanted })
		}
		check := func(from, kind, wanted string) {
			if wanted != "" && !exists(kind, wanted) {
				t.Errorf("%s: %s refers to %s/%s, which is not there", name, from, kind, wanted)
			}
		}
		pods := of[workload](t, o, "Deployment")
		for n, w := range of[workload](t, o, "StatefulSet") {
			pods[n] = w
		}
		for n, w := range pods {
			p := w.Spec.Template.Spec
			check(n, "ServiceAccount", p.ServiceAccountName)
			for _, v := range p.Volumes {
				if v.ConfigMap != nil {
					check(n, "ConfigMap", v.ConfigMap.Name)
				}
				if v.Secret != nil {
					check(n, "Secret", v.Secret.SecretName)
				}
			}
			for _, c := range p.Containers {
				for _, e := range c.Env {
					check(n, "Secret", e.ValueFrom.SecretKeyRef.Name)
				}
			}
		}
		for n, s := range of[scaledObject](t, o, "ScaledObject") {
			check(n, "Deployment", s.Spec.ScaleTargetRef.Name)
			for _, tr := range s.Spec.Triggers {
				check(n, "TriggerAuthentication", tr.AuthenticationRef.Name)
			}
		}
		for n, a := range of[triggerAuthentication](t, o, "TriggerAuthentication") {
			for _, ref := range a.Spec.SecretTargetRef {
				check(n, "Secret", ref.Name)
			}
		}
	}
}

// A changed configuration or secret of dev gets a new name, and a new name rolls the Deployments out.
func TestConfigurationChangesRollOut(t *testing.T) {
	names := func(o overlay) map[string]string {
		found := map[string]string{}
		for class, w := range workers(t, o) {
			for _, v := range w.Spec.Template.Spec.Volumes {
				if v.Name == "config" {
					found[class] = v.ConfigMap.Name
				}
			}
		}
		return found
	}
	before := names(render(t, "dev", ""))
	after := names(render(t, "changed", "resources: [../dev]\nconfigMapGenerator: [{name: fourfold-config, namespace: fourfold-dev, behavior: merge, literals: ['worker.yaml=log: {level: info}']}]\n"))
	for class := range before {
		if before[class] == "" || before[class] == after[class] {
			t.Errorf("%s: the configuration changed and its name stayed %q", class, before[class])
		}
	}
}

// The configuration of each overlay is read by the worker itself, with the variables of each queue class.
func TestTheWorkerUnderstandsItsConfiguration(t *testing.T) {
	worker := buildWorker(t)
	for _, name := range []string{"dev", "prod"} {
		o := render(t, name, "")
		config := filepath.Join(t.TempDir(), "worker.yaml")
		placeConfig(t, configOf(t, o), config)
		for class, w := range workers(t, o) {
			printed := printConfig(t, worker, config, w)
			for _, want := range []string{class, w.Spec.Template.Spec.Containers[0].env("FOURFOLD_CONCURRENCY"), "drain"} {
				if !strings.Contains(printed, want) {
					t.Errorf("%s %s: --print-config does not show %s:\n%s", name, class, want, printed)
				}
			}
		}
	}
}

func configOf(t *testing.T, o overlay) string {
	t.Helper()
	for name, c := range of[struct {
		Data map[string]string `json:"data"`
	}](t, o, "ConfigMap") {
		if strings.HasPrefix(name, "fourfold-config-") {
			return c.Data["worker.yaml"]
		}
	}
	t.Fatalf("%s has no ConfigMap fourfold-config", o.name)
	return ""
}

// placeConfig writes the configuration, with the files that it names in a folder of the test's.
func placeConfig(t *testing.T, text, config string) {
	t.Helper()
	folder := t.TempDir()
	text = strings.ReplaceAll(text, "/etc/fourfold/", folder+"/")
	var named struct {
		Providers map[string]struct {
			APIKeyFile string `json:"api_key_file"`
		} `json:"providers"`
	}
	if err := yaml.Unmarshal([]byte(text), &named); err != nil {
		t.Fatal(err)
	}
	for _, p := range named.Providers {
		if p.APIKeyFile != "" {
			writeFile(t, p.APIKeyFile, "a key for the test")
		}
	}
	writeFile(t, filepath.Join(folder, "redis-ca/ca.crt"), authority(t))
	writeFile(t, config, text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func printConfig(t *testing.T, worker, config string, w workload) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), worker, "run", "--config", config, "--print-config")
	cmd.Env = append(w.Spec.Template.Spec.Containers[0].plainEnv(),
		"FOURFOLD_REDIS=rediss://worker:secret-password@127.0.0.1:6379/0", "DD_AGENT_HOST=127.0.0.1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("worker run --print-config: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "secret-password") {
		t.Error("worker run --print-config shows the password of Redis")
	}
	return string(out)
}
