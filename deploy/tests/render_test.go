package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// top is the repository, seen from this package.
const top = "../.."

// An object is one rendered manifest.
type object struct {
	Kind     string   `json:"kind"`
	Metadata metadata `json:"metadata"`
	text     []byte   // as YAML
}

type metadata struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels"`
}

func (o object) String() string { return o.Kind + "/" + o.Metadata.Name }

// An overlay is what `kubectl apply -k` would send.
type overlay struct {
	name    string
	objects []object
}

// overlays renders those that are in the tree, and further ones that put each component to use: by a socket for DogStatsD,
// with traces, on a Redis Cluster, and without a scaler.
func overlays(t *testing.T) []overlay {
	t.Helper()
	return []overlay{
		render(t, "dev", ""),
		render(t, "prod", ""),
		render(t, "dev-csi", "resources: [../dev]\ncomponents: [../../components/datadog-csi]\n"),
		render(t, "prod-csi", "resources: [../prod]\ncomponents: [../../components/datadog-csi]\n"),
		render(t, "dev-traces", "resources: [../dev]\ncomponents: [../../components/traces]\n"),
		render(t, "prod-csi-traces", "resources: [../prod]\ncomponents: [../../components/traces, ../../components/datadog-csi]\n"),
		render(t, "prod-cluster", "resources: [../prod]\ncomponents: [../../components/keda-cluster]\n"),
		render(t, "bare", "namespace: bare\nresources: [../../base]\nconfigMapGenerator: [{name: fourfold-config, literals: [worker.yaml=]}]\n"+
			"labels: [{pairs: {tags.datadoghq.com/env: bare, tags.datadoghq.com/version: '1'}, includeTemplates: true}]\n"),
	}
}

// render builds overlays/<name>: the one in the tree, or the given kustomization in that place.
func render(t *testing.T, name, kustomization string) overlay {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	err := filepath.WalkDir(filepath.Join(top, "deploy/k8s"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Join(top, "deploy/k8s"), path)
		if err != nil {
			return err
		}
		return fs.WriteFile("/k8s/"+filepath.ToSlash(rel), text)
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := "/k8s/overlays/" + name
	if kustomization != "" {
		if err := fs.WriteFile(folder+"/kustomization.yaml", []byte(kustomization)); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, folder)
	if err != nil {
		t.Fatalf("overlay %s: %v", name, err)
	}
	o := overlay{name: name}
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var obj object
		if err := yaml.Unmarshal(text, &obj); err != nil {
			t.Fatal(err)
		}
		obj.text = text
		o.objects = append(o.objects, obj)
	}
	return o
}

// of returns the overlay's objects of one kind, decoded.
func of[T any](t *testing.T, o overlay, kind string) map[string]T {
	t.Helper()
	found := map[string]T{}
	for _, obj := range o.objects {
		if obj.Kind != kind {
			continue
		}
		var v T
		if err := yaml.Unmarshal(obj.text, &v); err != nil {
			t.Fatalf("%s %s: %v", o.name, obj, err)
		}
		found[obj.Metadata.Name] = v
	}
	return found
}

// workers returns the Deployments of the fleet by queue class.
func workers(t *testing.T, o overlay) map[string]workload {
	t.Helper()
	byClass := map[string]workload{}
	for name, w := range of[workload](t, o, "Deployment") {
		class, ok := strings.CutPrefix(name, "fourfold-worker-")
		if !ok {
			t.Errorf("%s: Deployment %s is no queue class of the fleet", o.name, name)
		}
		byClass[class] = w
	}
	if len(byClass) < 2 {
		t.Fatalf("%s: %d queue classes, want default and bulk", o.name, len(byClass))
	}
	return byClass
}

// A workload is what the tests look at of a Deployment or StatefulSet.
type workload struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Replicas *int `json:"replicas"`
		Strategy struct {
			RollingUpdate struct {
				MaxSurge       string `json:"maxSurge"`
				MaxUnavailable any    `json:"maxUnavailable"`
			} `json:"rollingUpdate"`
		} `json:"strategy"`
		Selector selector `json:"selector"`
		Template struct {
			Metadata metadata `json:"metadata"`
			Spec     pod      `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type pod struct {
	ServiceAccountName            string             `json:"serviceAccountName"`
	AutomountServiceAccountToken  *bool              `json:"automountServiceAccountToken"`
	EnableServiceLinks            *bool              `json:"enableServiceLinks"`
	HostNetwork                   bool               `json:"hostNetwork"`
	HostPID                       bool               `json:"hostPID"`
	HostIPC                       bool               `json:"hostIPC"`
	TerminationGracePeriodSeconds int                `json:"terminationGracePeriodSeconds"`
	SecurityContext               podSecurity        `json:"securityContext"`
	Containers                    []container        `json:"containers"`
	InitContainers                []container        `json:"initContainers"`
	Volumes                       []volume           `json:"volumes"`
	TopologySpreadConstraints     []spreadConstraint `json:"topologySpreadConstraints"`
}

type podSecurity struct {
	RunAsNonRoot   bool `json:"runAsNonRoot"`
	RunAsUser      int  `json:"runAsUser"`
	SeccompProfile struct {
		Type string `json:"type"`
	} `json:"seccompProfile"`
}

type spreadConstraint struct {
	TopologyKey    string   `json:"topologyKey"`
	MatchLabelKeys []string `json:"matchLabelKeys"`
	LabelSelector  selector `json:"labelSelector"`
}

type container struct {
	Name    string   `json:"name"`
	Image   string   `json:"image"`
	Command []string `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name      string `json:"name"`
		Value     string `json:"value"`
		ValueFrom struct {
			FieldRef struct {
				FieldPath string `json:"fieldPath"`
			} `json:"fieldRef"`
			SecretKeyRef struct {
				Name string `json:"name"`
				Key  string `json:"key"`
			} `json:"secretKeyRef"`
		} `json:"valueFrom"`
	} `json:"env"`
	Ports []struct {
		Name          string `json:"name"`
		ContainerPort int    `json:"containerPort"`
	} `json:"ports"`
	LivenessProbe  probe `json:"livenessProbe"`
	ReadinessProbe probe `json:"readinessProbe"`
	StartupProbe   probe `json:"startupProbe"`
	Resources      struct {
		Requests map[string]string `json:"requests"`
		Limits   map[string]string `json:"limits"`
	} `json:"resources"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `json:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `json:"readOnlyRootFilesystem"`
		Privileged               bool  `json:"privileged"`
		Capabilities             struct {
			Add  []string `json:"add"`
			Drop []string `json:"drop"`
		} `json:"capabilities"`
	} `json:"securityContext"`
	VolumeMounts []struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	} `json:"volumeMounts"`
}

type probe struct {
	HTTPGet struct {
		Path string `json:"path"`
		Port any    `json:"port"`
	} `json:"httpGet"`
}

type volume struct {
	Name      string `json:"name"`
	ConfigMap *struct {
		Name string `json:"name"`
	} `json:"configMap"`
	Secret *struct {
		SecretName string `json:"secretName"`
	} `json:"secret"`
	CSI      *struct{} `json:"csi"`
	EmptyDir *struct{} `json:"emptyDir"`
}

// env returns the value of a variable that is written out in the manifest.
func (c container) env(name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

// field returns the field of the pod that a variable is taken from.
func (c container) field(name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.ValueFrom.FieldRef.FieldPath
		}
	}
	return ""
}
