package telemetry_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"fourfold/executor"
	"fourfold/telemetry"
)

// A worker's wiring: a log, a Sink that writes to it, and, at the end, both closed in the order in which they are needed.
func Example() {
	log, err := telemetry.NewLogger(os.Stderr, "info", "json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	sink, err := telemetry.New(telemetry.Config{Statsd: "127.0.0.1:8125", Log: log})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sink.Close()

	// tasks does this for each settled step.
	sink.StepFinished(context.Background(), telemetry.StepFinished{
		Run: "default.4k2abcdefghijklmnopqrstuvw", Flow: "document-intake", Queue: "default",
		Envelope: executor.Envelope{
			Step: executor.MustStepID("classify-tables"), Outcome: executor.OutcomeOK, Attempts: 1, Latency: 1200 * time.Millisecond,
		},
		Worst: executor.OutcomeOK,
	})
	// Output:
}

// What could be content is not printed, whoever logs it.
func ExampleLogger() {
	log, err := telemetry.NewLogger(withoutTime{}, "info", "json")
	if err != nil {
		fmt.Println(err)
		return
	}
	log.Info("bundle loaded", "flow", "document-intake", "steps", 4, "took", 12*time.Millisecond, "title", "Dear Ms Smith, thank you")
	log.Close()
	// Output:
	// {"level":"info","flow":"document-intake","steps":4,"took_ms":12,"title":"[content]","message":"bundle loaded"}
}

// withoutTime prints lines without what differs each time.
type withoutTime struct{}

var stamped = regexp.MustCompile(`"timestamp":"[^"]*",`)

func (withoutTime) Write(p []byte) (int, error) {
	fmt.Print(stamped.ReplaceAllString(string(p), ""))
	return len(p), nil
}
