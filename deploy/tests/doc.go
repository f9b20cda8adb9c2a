// Package tests checks what is deployed, without a cluster: it renders the overlays of deploy/k8s, holds each object
// against the schema of its kind, and then the relations that no schema knows: times in their order, scaling by all that
// is open, security, labels, network, and Redis users that may do what they must and no more. It lints the Dockerfile, too.
//
// It is a module of its own, so that kustomize, kubeconform and BuildKit stay out of the product's. `make manifests` runs it.
// The schemas in schemas/ were taken from the modules of Kubernetes and KEDA; `make schemas` takes them anew.
package tests

//go:generate go run ./internal/schemagen schemas
