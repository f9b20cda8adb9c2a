package tests

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
)

func validate(t *testing.T, name string, text []byte) []validator.Result {
	t.Helper()
	v, err := validator.New([]string{"schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json"}, validator.Opts{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return v.Validate(name, io.NopCloser(bytes.NewReader(text)))
}

func TestEveryObjectFitsTheSchemaOfItsKind(t *testing.T) {
	for _, o := range overlays(t) {
		for _, obj := range o.objects {
			for _, r := range validate(t, o.name, obj.text) {
				if r.Status != validator.Valid {
					t.Errorf("%s %s: %v", o.name, obj, r.Err)
				}
			}
		}
	}
}

// The schemas must refuse what an API server would: a misspelt field, a wrong type, in our kinds and in KEDA's.
func TestSchemasRefuseMistakes(t *testing.T) {
	var all strings.Builder
	for _, obj := range render(t, "prod", "").objects {
		all.WriteString("---\n")
		all.Write(obj.text)
	}
	for _, c := range []struct{ right, wrong string }{
		{"readOnlyRootFilesystem:", "readOnlyRootFileSystem:"},
		{"terminationGracePeriodSeconds: 130", "terminationGracePeriodSeconds: soon"},
		{"unhealthyPodEvictionPolicy:", "unhealthyPodsEvictionPolicy:"},
		{"scalingModifiers:", "scalingModifier:"},
		{"cooldownPeriod: 300", `cooldownPeriod: "300"`},
		{"secretTargetRef:", "secretTargetRefs:"},
		{"policyTypes:", "policyType:"},
		{"automountServiceAccountToken: false", "automountServiceAccountToken: never"},
	} {
		text := strings.Replace(all.String(), c.right, c.wrong, 1)
		if text == all.String() {
			t.Errorf("%q is no longer in the manifests", c.right)
		}
		refused := false
		for _, r := range validate(t, "mistake", []byte(text)) {
			refused = refused || r.Status == validator.Invalid
		}
		if !refused {
			t.Errorf("%q instead of %q passed", c.wrong, c.right)
		}
	}
}
