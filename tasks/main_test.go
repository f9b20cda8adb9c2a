package tasks_test

import (
	"context"
	"flag"
	"os"
	"testing"

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
	os.Exit(m.Run())
}
