package main

// mutation is one way to break the protocol.
type mutation struct {
	name    string
	changes []change
}

// change puts one text in the place of another, which the file has once.
type change struct{ file, old, put string }

// untouched is the code as it is: it must pass.
var untouched = mutation{name: "(nothing is changed)"}

const (
	lua    = "tasks/internal/runstate/lua/"
	states = "tasks/internal/runstate/"
)

func one(name, file, old, put string) mutation {
	return mutation{name, []change{{file, old, put}}}
}

const (
	checkpoint = "if R.state == 'd' or sub(rec, 1, 1) ~= 'q' then return { 'done' } end"
	reopened   = "if sub(rec, 1, 1) ~= 'q' then rec = 'q|0|0|' .. nowtext .. '||' end"
)

// mutations must each be noticed by some test.
var mutations = []mutation{
	// A step that is done.
	one("begin: no checkpoint, a done step is claimed again", lua+"begin.lua", checkpoint, reopened),
	one("complete: no guard, a done step is settled again", lua+"complete.lua", "if R.state == 'd' or sub(rec, 1, 1) ~= 'q' then return repeated('settled', unit) end", reopened),
	one("complete: a lost answer is not given again", lua+"complete.lua", "return repeated('settled', unit)", "return { 'done' }"),
	one("expand: a lost answer is not given again", lua+"expand.lua", "return repeated('expanded', step)", "return { 'done' }"),
	one("complete: a lost answer is given again without a claim", lua+"settle.lua", "call('ZADD', claims, now + tonumber(onward.lease), member(following))", ""),
	one("complete: to give an answer again needs memory", lua+"settle.lua", "call('ZREM', claims, member(following))", ""),
	one("complete: a lost answer is given to whoever asks", lua+"settle.lua", "get('c' .. unit) == onward.token and", "get('c' .. unit) and"),
	one("complete: no guard, quick", lua+"quick_complete.lua", "or not carried then return 'slow' end", "then return 'slow' end carried = carried or ''"),
	one("begin: an earlier generation's task works", lua+"begin.lua", "if R.gen ~= ARGV[2] then return { 'stale' } end", ""),
	one("begin: an earlier generation's task works, quick", lua+"quick_begin.lua", "or gen ~= ARGV[2] or", "or"),
	one("complete: an earlier generation's task settles", lua+"complete.lua", "if R.gen ~= ARGV[2] then return { 'stale' } end", ""),
	one("complete: an earlier generation's task settles, quick", lua+"quick_complete.lua", "or gen ~= generation or", "or"),

	// Claims.
	one("begin: no claim is respected", lua+"begin.lua", "if till and tonumber(till) > now then return { 'busy' } end", ""),
	one("beat: a claim is not extended", lua+"beat.lua", "redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), member)", "redis.call('ZADD', KEYS[1], now, member)"),
	one("beat: a lost claim is called held", lua+"beat.lua", "and got[2] == ARGV[i + 3] then", "then"),
	one("beat: it begins with what needs memory", lua+"beat.lua", "redis.call('ZREM', KEYS[1], member)", ""),
	{"complete: it begins with what needs memory, quick", []change{
		{lua + "quick_complete.lua", "call('ZREM', KEYS[3], freed[1])", "freed[2] = freed[1]"},
		{lua + "quick_complete.lua", "call('HDEL', run, 'c' .. step)", ""},
	}},
	one("begin: a repeated command counts as a delivery", lua+"begin.lua", "(holder == ARGV[4] and 0 or 1)", "1"),
	one("take: what has other inputs than the run's is not claimed", lua+"quick_begin.lua", "if state ~= 'o' or", "if step or not match(got[5], '^[^|]*|[^|]*||') or state ~= 'o' or"),
	one("take: an item is claimed whose step has ended", lua+"quick_begin.lua", " or step and not match(got[7], '^e')", ""),
	one("begin: a step claimed with its task has another token", lua+"meet.lua", "return { ARGV[3], begin(", "return { 'x' .. ARGV[3], begin("),
	one("begin: a repeated command has no new lease", lua+"begin.lua", "  call('ZADD', claims, now + tonumber(ARGV[5]), member(unit))\n", ""),
	one("begin: deliveries are not counted", lua+"begin.lua", "(holder == ARGV[4] and 0 or 1)", "0"),
	one("begin: no suspect is told", lua+"begin.lua", "and holder ~= ARGV[4] then return { 'suspect', deliveries } end", "and false then return { 'suspect', deliveries } end"),
	one("relay: what had its turn waits all over", "tasks/relay.go", "ring.Ahead = o.Lost || when == ahead", "ring.Ahead = when == ahead && false"),
	one("worker: a suspect without room waits behind its queue", "tasks/runner.go", "if err := w.store.Defer(ctx, entry, w.suspects.pause()); err != nil {", "if _ = entry; true {"),
	one("redrive: nobody stays away", lua+"redrive.lua", "now + tonumber(ARGV[3]))", "now)"),
	one("worker: suspects have all the room that there is", "tasks/isolation.go", "if n >= room {", "if false {"),
	one("park: giving back counts as a delivery", lua+"park.lua", "math.max(tonumber(deliveries) - 1, 0)", "tonumber(deliveries)"),
	one("park: anybody may give a claim back", lua+"park.lua", "if held['c' .. unit] ~= ARGV[4] then return { 'lost' } end", ""),
	one("park: for how long an outage lasts is forgotten", lua+"park.lua", "if ARGV[7] ~= '0' then put('w' .. unit, R.gen .. '|' .. ARGV[7]) end", ""),
	one("begin: a rerun has waited for an outage already", lua+"begin.lua", "'^' .. R.gen .. '|(%d+)$'", "'^%d+|(%d+)$'"),
	one("begin: what a parked unit needs stays in the run", lua+"begin.lua", "drop('w' .. unit)", ""),
	one("redrive: a held unit is rung for again", lua+"redrive.lua", "and not (till and tonumber(till) > now) then", "then"),

	one("worker: what is in hand is not extended", "tasks/stay.go", "w.claims.hold(&st.claim)", ""),

	// Markers and edges.
	one("join: minimum for maximum, in Lua", lua+"prelude.lua", "return sa > sb and a or b end", "return sa < sb and a or b end"),
	one("complete: of those that end together, one claim alone is freed", lua+"quick_complete.lua", "if freed[2] then call('ZREM', KEYS[3], unpack(freed, 2)) end", ""),
	one("complete: markers that were not clear stay so for the others", lua+"quick_complete.lua", "  clear = true\n", ""),
	one("end: a finished run is visited again, quick", lua+"quick_complete.lua", "if ended[1] then call('ZREM', KEYS[2], unpack(ended)) end", ""),
	one("join: minimum for maximum, quick", lua+"quick_complete.lua", "return sa > sb and a or b", "return sa < sb and a or b"),
	one("join: the later step is named, in Lua", lua+"prelude.lua", "return ia < ib and a or b end", "return ia > ib and a or b end"),
	one("join: equal severities are not told apart, quick", lua+"quick_complete.lua", "if sa == sb then clear = false end", ""),
	one("join: minimum for maximum, in Go", states+"marker.go", "if a.Outcome > b.Outcome {", "if a.Outcome < b.Outcome {"),
	one("join: the later step is named, in Go", states+"marker.go", "if a.Step < b.Step {", "if a.Step > b.Step {"),
	one("edges: an optional one passes FAILED on", lua+"settle.lua", "if mode == 'o' then out = lowered(out) end", ""),
	one("edges: a required step's failure skips nobody", lua+"settle.lua", "if mode == 'r' then return settle(child, FAILED, DEPENDENCY, true, '', '') end", ""),
	one("edges: a join fires with its first parent", lua+"settle.lua", "if left == 0 then fire(child, mk) end", "fire(child, mk)"),
	one("edges: a join fires with its first parent, quick", lua+"quick_complete.lua", "if left ~= '1' then", "if false then"),
	one("run: an absorbed failure stays FAILED, in Lua", lua+"settle.lua", "and flagged(index, 'a') then own = lowered(own) end", "and false then own = lowered(own) end"),
	one("run: nothing is absorbed, in Go", "tasks/shapes.go", "Absorbable: s.Absorbable(),", ""),
	one("run: its outcome is that of its last step", lua+"settle.lua", "R.mk = join(R.mk, own)", "R.mk = own"),
	one("run: its outcome is that of its last step, quick", lua+"quick_complete.lua", "mk = join(mk, own)", "mk = own"),
	one("run: skipped steps count as failed", lua+"settle.lua", "local slot = skipped and SKIPPED or outcome", "local slot = outcome"),

	// The outbox and what rings again.
	one("outbox: nothing is written", lua+"prelude.lua", "  call('ZADD', outbox, at, member(unit) .. ':' .. redrive)", ""),
	one("outbox: nothing is written, quick", lua+"quick_complete.lua", "call('ZADD', KEYS[1], now + 2000, prefix .. ready[i] .. ':0')", ""),
	{"outbox: taken off before it is rung", []change{{
		"tasks/relay.go", "	if err := r.ringer.Ring(ctx, rings...); err != nil {\n		return err\n	}\n	return r.store.Rung(ctx, run.Queue(), entries...)",
		"	if err := r.store.Rung(ctx, run.Queue(), entries...); err != nil {\n		return err\n	}\n	return r.ringer.Ring(ctx, rings...)",
	}}},
	one("outbox: what was rung stays", lua+"rung.lua", "return redis.call('ZREM', KEYS[1], unpack(ARGV))", "return 0"),
	one("sweeper: units of dead workers are not redriven", "tasks/sweeper.go", "if redriven, err = s.redriveDead(ctx, queue, found.Dead); err != nil {", "if err != nil {"),
	one("sweeper: lost rings are not redriven", "tasks/sweeper.go", "if p.Live(time.Now()) && !orphaned {", "if p.Live(time.Now()) || !orphaned {"),
	one("sweeper: the outbox is not rung", "tasks/sweeper.go", "if err := s.ring(ctx, queue, found.Unrung); err != nil {", "if err := error(nil); err != nil {"),
	one("sweeper: items are not looked at", lua+"visit.lua", "if items then", "if false then"),
	one("sweeper: live workers get no time after an outage", "tasks/sweeper.go", "return now.Sub(c.since) >= s.w.cfg.Lease", "return now.Sub(c.since) >= 0"),
	one("sweeper: runs are visited as soon as an outage is over", "tasks/sweeper.go", "if settled && visits {", "if visits {"),
	one("worker: what is paid for is not recorded after an outage", "tasks/runner.go", "if !pause(give, wait) || w.stopped.Err() != nil {", "if true {"),
	one("worker: going on is not tied to its claim", lua+"prelude.lua", "claim(unit, onward.token, onward.lease, 0, 1,", "claim(unit, 'nobody', onward.lease, 0, 1,"),
	one("worker: going on takes no claim, quick", lua+"quick_complete.lua", "if held[1] then call('ZADD', KEYS[3], unpack(held)) end", ""),
	one("worker: a draining one goes on", "tasks/onward.go", "if w.draining.Load() ||", "if"),

	// Endings from outside.
	one("cancel: no step is settled", lua+"cancel.lua", "closeall(CANCELED)", ""),
	one("cancel: nobody is told", lua+"cancel.lua", "call('PUBLISH', 'fourfold:cancel:' .. id, R.gen)", ""),
	one("deadline: begin does not look", lua+"begin.lua", "if S.deadline > 0 and now >= S.deadline then", "if false then"),
	one("deadline: a worker goes on from it on, quick", lua+"quick_complete.lua", "if left <= 0 then return 'slow' end", ""),
	one("deadline: a worker goes on in its millisecond, quick", lua+"quick_complete.lua", "if left <= 0 then return 'slow' end", "if left < 0 then return 'slow' end"),
	one("deadline: the worker is content with what the taking said", "tasks/runner.go", "task: j.task.Again()", "task: j.task"),
	one("taking: a worker that was held up trusts what it was told", "tasks/runner.go", "j.task = j.task.Again()", "_ = j.task"),
	one("deadline: the sweeper does not look", lua+"visit.lua", "if deadline > 0 and now >= deadline then", "if false then"),
	one("fail_fast: nobody is told", lua+"settle.lua", "call('PUBLISH', 'fourfold:cancel:' .. id, R.gen)", ""),
	one("fail_fast: always steps are cancelled too", lua+"settle.lua", "endopen(function(i) return not flagged(i, 'v') end,", "endopen(function(i) return true end,"),
	one("fail_fast: items in flight keep their claims", lua+"settle.lua", "for k = 0, tonumber(items) - 1 do unclaim(index .. '.' .. k) end", ""),
	one("rerun: what has a value is reset", lua+"rerun.lua", "reset[i] = sub(old[i], 1, 3) == 'd|4' or call('HEXISTS', vals, i) == 0", "reset[i] = true"),
	one("rerun: what depends on a reset step stays", lua+"rerun.lua", "reset[i] = reset[i] or reset[tonumber(p)]", "local _ = p"),
	one("rerun: items with a value are asked for again", lua+"expand.lua", "if kept then --", "if false then --"),
	one("rerun: the run stays among the failed", lua+"rerun.lua", "call('ZREM', failed, id)", ""),
	one("rerun: the run still expires", lua+"rerun.lua", "call('PERSIST', run)", ""),
	one("end: the run never expires", lua+"settle.lua", "call('PEXPIRE', run, S.retention)", ""),
	one("end: the run never expires, quick", lua+"quick_complete.lua", "call('PEXPIRE', run, retention)", ""),
	one("end: a FAILED run is not indexed", lua+"settle.lua", "if tonumber(sub(R.mk, 1, 1)) == FAILED then call('ZADD', failed, now, id) end", ""),
	one("end: the producer's queue is not told", lua+"settle.lua", "  if S.done ~= '' then", "  if false then"),

	// Items.
	one("items: joined out of order", lua+"settle.lua", "all[k + 1] = call('HGET', vals, step .. '.' .. k) end", "all[n - k] = call('HGET', vals, step .. '.' .. k) end"),
	one("items: no bound on those in flight", lua+"expand.lua", "if most == 0 or flying < most then", "if true then"),
	one("items: the end of one releases no other", lua+"settle.lua", "while nxt < n do", "while false do"),
	one("items: degraded failures fail the step", lua+"settle.lua", "if outcome == FAILED and flagged(step, 'n') then", "if false then"),

	// Submitting.
	one("create: a run is never visited", lua+"create.lua", "if #due > 0 then call('ZADD', KEYS[2], unpack(due)) end", ""),
	one("create: one run's failure is that of all that are made with it", lua+"create.lua", "pcall(make, k, a)", "true, make(k, a)"),
	one("create: a run has the input of another", lua+"create.lua", "copied and common + 1 or 1", "copied and last + 1 or 1"),
	one("create: a run that is submitted twice at once fails", lua+"create.lua", "model and model ~= run and", "model and"),
	one("create: a run that is there is taken for new", lua+"create.lua", "call('COPY', model, run) == 1", "call('COPY', model, run, 'REPLACE') == 1"),
	{"create: what is made in part is never visited", []change{
		{lua + "create.lua", "due[#due + 1], due[#due + 2] = visit, id\n", ""},
		{lua + "create.lua", "call('HSET', KEYS[k], 'input', ARGV[a])\n  end\n", "call('HSET', KEYS[k], 'input', ARGV[a])\n  end\n due[#due + 1], due[#due + 2] = visit, id\n"},
	}},
	one("create: runs with a trace and without are made together", "tasks/internal/runstate/create.go", `traced: n.Trace != "",`, ""),
	one("create: a large input is among the run's records", "tasks/internal/runstate/create.go", "len(n.Input) > smallValue", "false"),
	one("begin: a small input is not found, quick", lua+"quick_begin.lua", "got[8] or call('HGET'", "call('HGET'"),
	one("begin: a small input is not found", lua+"prelude.lua", "get('i') or call", "call"),
	one("begin: a large input is not found, quick", lua+"quick_begin.lua", "got[8] or call('HGET', KEYS[2], 'input')", "got[8]"),
	one("begin: a large input is not found", lua+"prelude.lua", "get('i') or call('HGET', vals, 'input')", "get('i')"),
	one("key: another input is taken for the same", lua+"create.lua", "return held == ARGV[a + 2] and 'exists' or 'conflict'", "return 'exists'"),
	one("key: each submit is a run of its own", "tasks/id.go", `if key == "" {`, "if true {"),
}
