package tasks_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// quietRedis keeps go-redis from telling of each outage that a test makes.
type quietRedis struct{}

func (quietRedis) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quietRedis{})
	_ = flag.Set("test.parallel", "6") // most of these tests wait; the command line may say otherwise
	if addr := os.Getenv(poisonedEnv); addr != "" {
		os.Exit(workPoisoned(addr))
	}
	if d, err := time.ParseDuration(os.Getenv("FOURFOLD_TEST_PATIENCE")); err == nil {
		patience = d
	}
	os.Exit(m.Run())
}
