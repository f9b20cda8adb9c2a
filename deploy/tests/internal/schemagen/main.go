// Command schemagen writes the JSON Schemas of the kinds that deploy/k8s uses, from the Kubernetes and KEDA modules:
// schemagen FOLDER, and the script by which KEDA counts. It downloads the two through the Go module proxy; what it writes is
// committed, so that the tests need neither.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	kubernetes = "k8s.io/kubernetes@v1.37.2"
	keda       = "github.com/kedacore/keda/v2@v2.21.0"
)

// Kinds by definition in swagger.json, with the names that kubeconform asks for.
var kinds = map[string]string{
	"io.k8s.api.apps.v1.Deployment":            "deployment-apps-v1",
	"io.k8s.api.apps.v1.StatefulSet":           "statefulset-apps-v1",
	"io.k8s.api.core.v1.ConfigMap":             "configmap-v1",
	"io.k8s.api.core.v1.Namespace":             "namespace-v1",
	"io.k8s.api.core.v1.Secret":                "secret-v1",
	"io.k8s.api.core.v1.Service":               "service-v1",
	"io.k8s.api.core.v1.ServiceAccount":        "serviceaccount-v1",
	"io.k8s.api.networking.v1.NetworkPolicy":   "networkpolicy-networking-v1",
	"io.k8s.api.policy.v1.PodDisruptionBudget": "poddisruptionbudget-policy-v1",
}

// KEDA's kinds by file of their definition.
var customKinds = map[string]string{
	"keda.sh_scaledobjects.yaml":          "scaledobject-keda-v1alpha1",
	"keda.sh_triggerauthentications.yaml": "triggerauthentication-keda-v1alpha1",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemagen FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := writeKinds(folder); err != nil {
		return err
	}
	return writeKEDA(folder)
}

// object is a JSON object: a schema, or a part of one.
type object = map[string]any

func writeKinds(folder string) error {
	var swagger struct {
		Definitions map[string]object `json:"definitions"`
	}
	dir, err := download(kubernetes)
	if err != nil {
		return err
	}
	if err := readJSON(filepath.Join(dir, "api/openapi-spec/swagger.json"), &swagger); err != nil {
		return err
	}
	for definition, name := range kinds {
		root, ok := swagger.Definitions[definition]
		if !ok {
			return fmt.Errorf("%s has no %s", kubernetes, definition)
		}
		reached := map[string]object{}
		schema := strict(root, func(ref string) { reach(swagger.Definitions, ref, reached) }).(object)
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		schema["definitions"] = reached
		if err := write(filepath.Join(folder, name+".json"), kubernetes, schema); err != nil {
			return err
		}
	}
	return nil
}

// reach puts the definition of that name, and all that it refers to, into reached.
func reach(definitions map[string]object, name string, reached map[string]object) {
	if _, ok := reached[name]; ok {
		return
	}
	reached[name] = nil // a definition may refer to itself
	switch name {
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		reached[name] = object{"type": []any{"string", "integer"}}
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		reached[name] = object{"type": []any{"string", "number"}}
	default:
		reached[name] = strict(definitions[name], func(ref string) { reach(definitions, ref, reached) }).(object)
	}
}

// strict copies a schema without its prose and closes each object whose fields are listed, so that a misspelt field is an
// error. It tells found about each definition that the schema refers to.
func strict(node any, found func(ref string)) any {
	switch n := node.(type) {
	case []any:
		out := make([]any, len(n))
		for i := range n {
			out[i] = strict(n[i], found)
		}
		return out
	case object:
		out := object{}
		for key, value := range n {
			switch {
			case key == "properties":
				fields := object{}
				for name, field := range value.(object) {
					fields[name] = strict(field, found)
				}
				out[key] = fields
			case key == "$ref":
				ref := strings.TrimPrefix(value.(string), "#/definitions/")
				out[key] = "#/definitions/" + ref
				found(ref)
			case key == "description", strings.HasPrefix(key, "x-kubernetes-"):
			case key == "format" && value == "int-or-string":
			default:
				out[key] = strict(value, found)
			}
		}
		if n["x-kubernetes-int-or-string"] == true {
			return object{"type": []any{"string", "integer"}}
		}
		_, open := out["additionalProperties"]
		if _, listed := out["properties"]; listed && !open && n["x-kubernetes-preserve-unknown-fields"] != true {
			out["additionalProperties"] = false
		}
		return out
	}
	return node
}

func writeKEDA(folder string) error {
	dir, err := download(keda)
	if err != nil {
		return err
	}
	for file, name := range customKinds {
		text, err := os.ReadFile(filepath.Join(dir, "config/crd/bases", file))
		if err != nil {
			return err
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema object `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return err
		}
		schema := strict(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(string) {}).(object)
		// A custom resource's schema leaves metadata open; the API server closes it.
		schema["properties"].(object)["metadata"] = object{
			"type": "object", "required": []any{"name"}, "additionalProperties": false,
			"properties": object{
				"name": object{"type": "string"}, "namespace": object{"type": "string"},
				"labels":      object{"type": "object", "additionalProperties": object{"type": "string"}},
				"annotations": object{"type": "object", "additionalProperties": object{"type": "string"}},
			},
		}
		schema["$schema"] = "http://json-schema.org/draft-07/schema#"
		if err := write(filepath.Join(folder, name+".json"), keda, schema); err != nil {
			return err
		}
	}
	if err := writeTriggers(dir, folder); err != nil {
		return err
	}
	return writeScript(dir, folder)
}

var luaScript = regexp.MustCompile("(?s)luaScript := `(.*?)`")

// writeScript keeps the script by which KEDA counts a key, whatever its type.
func writeScript(dir, folder string) error {
	text, err := os.ReadFile(filepath.Join(dir, "pkg/scalers/redis_scaler.go"))
	if err != nil {
		return err
	}
	found := luaScript.FindSubmatch(text)
	if found == nil {
		return errors.New(keda + ": its redis scaler has no script any more")
	}
	header := "-- Code generated by schemagen from " + keda + ". DO NOT EDIT."
	script := header + strings.TrimRight(string(found[1]), " \t\n") + "\n"
	return os.WriteFile(filepath.Join(folder, "keda-redis.lua"), []byte(script), 0o644)
}

// writeTriggers keeps what KEDA says of its redis scalers: it ignores metadata that it does not know, so a test must not.
func writeTriggers(dir, folder string) error {
	var all struct {
		Scalers []struct {
			Type       string   `json:"type"`
			Parameters []object `json:"parameters"`
		} `json:"scalers"`
	}
	if err := readJSON(filepath.Join(dir, "schema/generated/scalers-schema.json"), &all); err != nil {
		return err
	}
	triggers := object{}
	for _, s := range all.Scalers {
		if strings.HasPrefix(s.Type, "redis") && !strings.Contains(s.Type, "stream") {
			triggers[s.Type] = s.Parameters
		}
	}
	return write(filepath.Join(folder, "keda-triggers.json"), keda, triggers)
}

// download returns the folder of a module's source.
func download(module string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var info struct{ Dir string }
	err = json.Unmarshal(out, &info)
	return info.Dir, err
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func write(path, from string, value object) error {
	value["$comment"] = "Code generated by schemagen from " + from + ". DO NOT EDIT."
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
