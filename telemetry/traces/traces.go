package traces

import (
	"context"
	"errors"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"fourfold/telemetry"
)

const (
	// closeWithin bounds Close: a worker must be gone soon whatever its receiver does.
	closeWithin = time.Second
	// spansKept is how many ended spans wait while the receiver takes none; what ends then is dropped.
	spansKept = 8192
	// scopeName is the instrumentation scope of all spans.
	scopeName = "fourfold"
)

// Config says where spans go and of what. Endpoint or Exporter is required.
type Config struct {
	// Endpoint is the address to which spans are posted as OTLP over HTTP, path included: http://127.0.0.1:4318/v1/traces.
	// The receiver may come and go at any time. OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_HEADERS, …_CERTIFICATE,
	// …_COMPRESSION and so on) are honoured.
	Endpoint string
	// Exporter takes the spans instead.
	Exporter sdk.SpanExporter
	// Sample is the share of runs that are recorded, 0 to 1, among those whose producers did not decide.
	Sample float64
	// Service, Env and Version are what unified service tagging calls so; empty ones are left out, save the service, which
	// is then fourfold-worker. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES stand above them.
	Service, Env, Version string
	// Log is told when spans could not be sent, at most every half minute; nil: nobody is.
	Log telemetry.Leveled
}

// Provider makes spans and sends them. The nil Provider is that of traces that are off: it makes none.
type Provider struct{ sdk *sdk.TracerProvider }

// Open returns a Provider that sends in batches, from a goroutine of its own. Whoever makes spans never waits for the
// receiver. A root span that is started in the [provider.Scope] of a run and of no attempt, as steps are, has a trace id
// made of the run's. The error is that of a configuration that cannot be one; a receiver that is not there is no error.
// The caller calls Close after the last span.
func Open(ctx context.Context, cfg Config) (*Provider, error) {
	if cfg.Sample < 0 || cfg.Sample > 1 || math.IsNaN(cfg.Sample) {
		return nil, errors.New("traces: the sample is a share, from 0 to 1")
	}
	to := cfg.Exporter
	if to == nil {
		if cfg.Endpoint == "" {
			return nil, errors.New("traces: Config.Endpoint or Exporter is required")
		}
		var err error
		if to, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(cfg.Endpoint)); err != nil {
			return nil, errors.New("traces: the exporter cannot be made") // the text may quote the environment
		}
	}
	about, err := describe(ctx, cfg)
	if err != nil {
		return nil, errors.New("traces: OTEL_RESOURCE_ATTRIBUTES cannot be read")
	}
	return &Provider{sdk.NewTracerProvider(
		sdk.WithBatcher(&exporter{SpanExporter: to, log: cfg.Log}, sdk.WithMaxQueueSize(spansKept)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(cfg.Sample))),
		sdk.WithIDGenerator(runIDs{}),
		sdk.WithResource(about),
	)}, nil
}

// describe says whose spans they are.
func describe(ctx context.Context, cfg Config) (*resource.Resource, error) {
	service := cfg.Service
	if service == "" {
		service = "fourfold-worker"
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", service)}
	for key, value := range map[string]string{"deployment.environment.name": cfg.Env, "service.version": cfg.Version} {
		if value != "" {
			attributes = append(attributes, attribute.String(key, value))
		}
	}
	return resource.New(ctx, resource.WithAttributes(attributes...), resource.WithTelemetrySDK(), resource.WithFromEnv())
}

// Tracer is what tasks.WorkerConfig takes; nil for the nil Provider.
func (p *Provider) Tracer() trace.Tracer {
	if p == nil {
		return nil
	}
	return p.sdk.Tracer(scopeName)
}

// Flush sends what has ended so far. It returns when that is sent, or with ctx.
func (p *Provider) Flush(ctx context.Context) {
	if p != nil {
		_ = p.sdk.ForceFlush(ctx) // the exporter has logged it
	}
}

// Close sends what has ended and ends the Provider, within a second: what the receiver has not taken by then is lost.
func (p *Provider) Close() {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = p.sdk.Shutdown(ctx) // the exporter has logged it, or the time was up
}
