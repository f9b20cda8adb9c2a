package main

import (
	"context"
	"os"

	"fourfold/cmd/internal/config"
	"fourfold/cmd/internal/version"
	"fourfold/telemetry"
	"fourfold/telemetry/traces"
)

// openTraces returns what makes and sends spans; nil when traces are off.
func openTraces(ctx context.Context, file *config.File, log *telemetry.Logger) (*traces.Provider, error) {
	if file.Traces == nil {
		return nil, nil //nolint:nilnil // the nil Provider is that of traces that are off
	}
	service := os.Getenv("DD_SERVICE")
	release := os.Getenv("DD_VERSION")
	if release == "" {
		release = version.String()
	}
	p, err := traces.Open(ctx, traces.Config{
		Endpoint: file.Traces.OTLPEndpoint, Sample: *file.Traces.Sample,
		Service: service, Env: os.Getenv("DD_ENV"), Version: release, Log: log,
	})
	if err == nil {
		log.Info("traces are sent", "sample", *file.Traces.Sample)
	}
	return p, err
}
