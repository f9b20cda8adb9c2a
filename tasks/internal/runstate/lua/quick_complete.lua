-- complete for the common case: a step with a value, in a run without fail_fast, and markers that compare by severity alone; for
-- several steps of a queue at once, which then share what a call costs. It does without the prelude, whose functions cost more
-- to make than all that is done here; where it does not apply to a step it answers 'slow' and has changed nothing. What it
-- answers else is one text, since each value of a table costs Redis and the worker more than all that is in it: what summary
-- says in the prelude, with ; between its parts, for the step that the worker goes on with the unit, its marker and the time
-- left, and at the end what must be rung for. Each step has an answer of its own, or an error.
-- KEYS: 1 outbox, 2 due, 3 claims; then of each step: run, values.
-- ARGV, of each step: 1 run id, 2 generation, 3 step, 4 outcome and cause (<o>|<c>), 5 envelope record, 6 marker carried by the
-- task, 7 value, 8 token to go on with ('': not), 9 its lease (ms), 10 the children that may be gone on with, since the worker has
-- all their inputs (,<child>,...,).
local call, match, byte, find, format = redis.call, string.match, string.byte, string.find, string.format
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local nowtext = format('%.0f', now)
local ended, freed, held = {}, {}, {} -- runs, claims that are over, claims that begin: written for all at once

local ends = {} -- of leases, as text: Redis and Lua take long to write a number
local function over(lease)
  if not ends[lease] then ends[lease] = format('%.0f', now + lease) end
  return ends[lease]
end

local clear -- markers compare by severity alone
local function join(a, b)
  if a == b or b == '' then return a end
  if a == '' then return b end
  local sa, sb = byte(a), byte(b)
  if sa == sb then clear = false end
  return sa > sb and a or b
end

local function settle(run, values, id, generation, step, ending, envelope, carrying, value, token, lease, known)
  local got = call('HMGET', run, 'r', 'k', 's' .. step, 'g' .. step)
  if not got[1] or not got[3] then return 'slow' end
  local state, gen, open, abstained, ok, degraded, rest, mk = match(got[1], '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+|%d+)|0|(.*)$')
  local created, deadline, retention, done = match(got[2], '^%d+|(%d+)|(%d+)|%d+|(%d+)|0|(.*)$')
  local carried = match(got[3], '^q|%d+|%d+|%d+|[^|]*|(.*)$')
  if state ~= 'o' or gen ~= generation or not created or not carried then return 'slow' end

  clear = true
  local outcome, cause = match(ending, '^(%d)|(%d+)$')
  local own = outcome == '3' and '3.' .. step .. '.' .. cause or outcome
  local out = join(join(own, carried), carrying)
  mk = join(mk, own)
  local last = open == '1'
  if last and (done ~= '' or byte(mk) == 52) then return 'slow' end -- somebody is told, or the run failed

  -- What the children become is worked out before anything is changed.
  local onward, taken, ready, sets = token ~= '', false, {}, {}
  for child in string.gmatch(match(got[4], '|([^|]*)$'), '(%d+)%a') do
    local left, mark = match(call('HGET', run, 's' .. child), '^w|(%d+)|(.*)$')
    if left then -- else it was skipped
      mark = join(mark, out)
      if left ~= '1' then
        sets[#sets + 1] = 's' .. child
        sets[#sets + 1] = 'w|' .. (left - 1) .. '|' .. mark
      elseif not onward or taken then
        ready[#ready + 1] = child
        ready[#ready + 1] = mark
      elseif find(known, ',' .. child .. ',', 1, true) then
        taken = { child, mark }
      else
        return 'slow'
      end
    end
  end
  if not clear or #sets + #ready > 2000 then return 'slow' end
  local left = deadline
  if deadline ~= '0' then
    left = deadline - now
    if left <= 0 then return 'slow' end -- 0 is no deadline
  end

  local prefix = id .. ':' .. gen .. ':'
  if freed[1] then
    freed[#freed + 1] = prefix .. step
  else -- at once, since a Redis without memory lets a script go on that has begun with this
    freed[1] = prefix .. step
    call('ZREM', KEYS[3], freed[1])
  end
  call('HDEL', run, 'c' .. step)
  call('HSET', values, step, value)
  for i = 1, #ready, 2 do
    sets[#sets + 1] = 's' .. ready[i]
    sets[#sets + 1] = 'q|0|0|' .. nowtext .. '||' .. ready[i + 1]
    call('ZADD', KEYS[1], now + 2000, prefix .. ready[i] .. ':0')
  end
  local grant = ';;'
  if taken then
    sets[#sets + 1] = 's' .. taken[1]
    sets[#sets + 1] = 'q|0|1|' .. nowtext .. '||' .. taken[2]
    sets[#sets + 1] = 'c' .. taken[1]
    sets[#sets + 1] = token
    held[#held + 1] = over(lease)
    held[#held + 1] = prefix .. taken[1]
    grant = taken[1] .. ';' .. taken[2] .. ';' .. left
  end
  if outcome == '1' then abstained = abstained + 1 elseif outcome == '2' then ok = ok + 1 else degraded = degraded + 1 end
  local finished = last and nowtext or '0'
  local standing = (last and 'd|' or 'o|') .. gen .. '|' .. (last and '0' or open - 1) .. '|'
  call('HSET', run, 's' .. step, 'd|' .. outcome .. '|' .. cause .. '|0|' .. gen .. '|' .. out .. '|' .. envelope, 'r',
    standing .. abstained .. '|' .. ok .. '|' .. degraded .. '|' .. rest .. '|' .. finished .. '|' .. mk, unpack(sets))
  if last then
    ended[#ended + 1] = id
    call('PEXPIRE', run, retention)
    call('PEXPIRE', values, retention)
    call('PUBLISH', 'fourfold:done:' .. id, gen)
  end
  return 'settled;' .. standing .. finished .. '|' .. mk .. ';' .. created .. ';' .. step .. '|' .. outcome .. '|' .. cause .. '|0|' ..
    out .. ';' .. grant .. (ready[1] and ';' .. table.concat(ready, ';') or '')
end

local answers = {}
for i = 1, #ARGV / 10 do
  local k, a = 2 + 2 * i, 10 * i - 9
  answers[i] = answer(pcall(settle, KEYS[k], KEYS[k + 1], unpack(ARGV, a, a + 9)))
end
if freed[2] then call('ZREM', KEYS[3], unpack(freed, 2)) end
if held[1] then call('ZADD', KEYS[3], unpack(held)) end
if ended[1] then call('ZREM', KEYS[2], unpack(ended)) end
return answers
