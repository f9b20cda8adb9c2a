package tasks_test

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

// quietRedis keeps go-redis from telling of each outage that a test makes.
type quietRedis struct{}

func (quietRedis) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quietRedis{})
	if addr := os.Getenv(poisonedEnv); addr != "" {
		os.Exit(workPoisoned(addr))
	}
	os.Exit(m.Run())
}
