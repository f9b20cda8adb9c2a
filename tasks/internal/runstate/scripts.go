package runstate

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/prelude.lua
var prelude string

var (
	//go:embed lua/create.lua
	createLua string
	//go:embed lua/begin.lua
	beginLua string
	//go:embed lua/expand.lua
	expandLua string
	//go:embed lua/complete.lua
	completeLua string
	//go:embed lua/park.lua
	parkLua string
	//go:embed lua/cancel.lua
	cancelLua string
	//go:embed lua/reject.lua
	rejectLua string
	//go:embed lua/rerun.lua
	rerunLua string
	//go:embed lua/visit.lua
	visitLua string
	//go:embed lua/redrive.lua
	redriveLua string
	//go:embed lua/beat.lua
	beatLua string
)

var (
	createScript   = overRun(createLua)
	beginScript    = overRun(beginLua)
	expandScript   = overRun(expandLua)
	completeScript = overRun(completeLua)
	parkScript     = overRun(parkLua)
	cancelScript   = overRun(cancelLua)
	rejectScript   = overRun(rejectLua)
	rerunScript    = overRun(rerunLua)
	visitScript    = overRun(visitLua)
	redriveScript  = overRun(redriveLua)
	beatScript     = redis.NewScript(beatLua)
)

func overRun(body string) *redis.Script { return redis.NewScript(prelude + body) }

// Load sends all scripts to Redis, so that no first call has to. Calls work without it.
func (s *Store) Load(ctx context.Context) error {
	for _, script := range []*redis.Script{
		createScript, beginScript, expandScript, completeScript, parkScript, cancelScript, rejectScript, rerunScript, visitScript,
		redriveScript, beatScript,
	} {
		if err := script.Load(ctx, s.rdb).Err(); err != nil {
			return err
		}
	}
	return nil
}

// IsComplete says whether cmd is the script that settles a unit: before it, an answer may still be lost.
func IsComplete(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 1 && args[1] == completeScript.Hash()
}
