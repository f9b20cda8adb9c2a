package runstate

import (
	"context"
	_ "embed"
	"slices"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/prelude.lua
	prelude string
	//go:embed lua/settle.lua
	settleLua string
	//go:embed lua/answer.lua
	answerLua string
	//go:embed lua/quick_begin.lua
	quickBeginLua string
	//go:embed lua/meet.lua
	meetLua string
	//go:embed lua/quick_complete.lua
	quickCompleteLua string
	//go:embed lua/crash.lua
	crashLua string
	//go:embed lua/rung.lua
	rungLua string
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
	//go:embed lua/overdue.lua
	overdueLua string
	//go:embed lua/visit.lua
	visitLua string
	//go:embed lua/redrive.lua
	redriveLua string
	//go:embed lua/beat.lua
	beatLua string
	//go:embed lua/lead.lua
	leadLua string
)

var (
	createScript   = ofMany("local post\n" + createLua)
	beginScript    = overRun(beginLua)
	expandScript   = overRun(settleLua + expandLua)
	completeScript = overRun(settleLua + completeLua)
	crashScript    = overRun(settleLua + crashLua)
	parkScript     = overRun(parkLua)
	cancelScript   = overRun(settleLua + cancelLua)
	rejectScript   = overRun(settleLua + rejectLua)
	rerunScript    = overRun(rerunLua)
	overdueScript  = overRun(settleLua + overdueLua)
	visitScript    = redis.NewScript(visitLua)
	redriveScript  = overRun(redriveLua)
	beatScript     = redis.NewScript(beatLua)
	rungScript     = redis.NewScript(rungLua)
	leadScript     = redis.NewScript(leadLua)

	// For the common case; they answer slow where it is not.
	quickBeginScript    = redis.NewScript(quickBeginLua)
	quickCompleteScript = ofMany(quickCompleteLua)
)

func overRun(body string) *redis.Script { return redis.NewScript(prelude + body) }

func ofMany(body string) *redis.Script { return redis.NewScript(answerLua + body) }

// Load sends all scripts to Redis, so that no first call has to. Calls work without it.
func (s *Store) Load(ctx context.Context) error {
	for _, script := range []*redis.Script{
		createScript, beginScript, expandScript, completeScript, crashScript, parkScript, cancelScript, rejectScript, rerunScript, overdueScript, visitScript,
		redriveScript, beatScript, rungScript, leadScript, quickBeginScript, quickCompleteScript,
	} {
		if err := script.Load(ctx, s.rdb).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Changed says whether a script that settles a unit, and has been answered, has done so.
func Changed(cmd redis.Cmder) bool {
	answer, ok := cmd.(*redis.Cmd)
	if !ok || answer.Err() != nil {
		return false
	}
	words := list(answer.Val())
	if cmd.Args()[1] == quickCompleteScript.Hash() {
		return slices.ContainsFunc(words, func(said any) bool { return said != any(string(slow)) })
	}
	return len(words) > 0 && Word(str(words[0])) != slow
}

// IsComplete says whether cmd is a script that settles a unit: before it, an answer may still be lost.
func IsComplete(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 1 && (args[1] == completeScript.Hash() || args[1] == quickCompleteScript.Hash())
}
