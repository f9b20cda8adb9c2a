-- Shared by every script over one run. Formats are described in doc.go of the package.
-- KEYS: 1 run, 2 values, 3 outbox, 4 due, 5 claims, 6 failed.  ARGV[1]: run id.
local run, vals, outbox, due, claims, failed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id = ARGV[1]
local call, match, format = redis.call, string.match, string.format
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local GRACE = 2000 -- the script's caller rings at once; the sweeper only after this many milliseconds

local ABSTAINED, OK, DEGRADED, FAILED, SKIPPED = 1, 2, 3, 4, 5
local CANCELED, DEADLINE, DEPENDENCY, CRASH, REJECTED = 6, 7, 8, 9, 10

-- R is the run's changing record, S its fixed one.
local R, S
local fired = {}  -- what this script made runnable: unit, marker, unit, marker ...
local ready = {}  -- what of it the caller must ring for, in the same form
local onward      -- how the caller wants to go on with one of them itself: token, lease, wants; nil: not
local taken       -- the one that it may go on with: unit, grant; nil: none
local closed = {} -- what it ended: index|outcome|cause|skipped|outgoing marker

local function load()
  local got = call('HMGET', run, 'r', 'k')
  if not got[1] then return false end
  local state, gen, open, a, o, d, f, s, fin, mk =
    match(got[1], '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  R = { state = state, gen = gen, open = tonumber(open), fin = fin, mk = mk,
    n = { tonumber(a), tonumber(o), tonumber(d), tonumber(f), tonumber(s) } }
  local n, created, dl, window, ret, fast, done = match(got[2], '^(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d)|(.*)$')
  S = { n = tonumber(n), created = created, deadline = tonumber(dl), window = window,
    retention = ret, fast = fast == '1', done = done }
  return true
end

local function save()
  local n = R.n
  call('HSET', run, 'r', R.state .. '|' .. R.gen .. '|' .. R.open .. '|' .. n[1] .. '|' .. n[2] .. '|' .. n[3] .. '|' ..
    n[4] .. '|' .. n[5] .. '|' .. R.fin .. '|' .. R.mk)
end

local function member(unit) return id .. ':' .. R.gen .. ':' .. unit end

-- join is the maximum by severity, then smaller index, then smaller cause. '' is the identity.
local function join(a, b)
  if a == b or b == '' then return a end
  if a == '' then return b end
  local sa, sb = string.byte(a), string.byte(b)
  if sa ~= sb then return sa > sb and a or b end
  local ia, ca = match(a, '^%d%.(%d+)%.(%d+)$')
  if not ia then return a end
  local ib, cb = match(b, '^%d%.(%d+)%.(%d+)$')
  ia, ib, ca, cb = tonumber(ia), tonumber(ib), tonumber(ca), tonumber(cb)
  if ia ~= ib then return ia < ib and a or b end
  return ca <= cb and a or b
end

local function marker(outcome, index, cause)
  if outcome < DEGRADED then return tostring(outcome) end
  return outcome .. '.' .. index .. '.' .. cause
end

local function lowered(mk) -- what an optional edge passes on of a failed parent
  if string.byte(mk) == 52 then return '3' .. string.sub(mk, 2) end
  return mk
end

-- post makes a unit runnable: its record and its outbox entry are written by the same script.
local function post(unit, redrive, deliveries, since, spent, mk, at)
  call('HSET', run, 's' .. unit, 'q|' .. redrive .. '|' .. deliveries .. '|' .. since .. '|' .. spent .. '|' .. mk)
  call('ZADD', outbox, at, member(unit) .. ':' .. redrive)
end

local function fire(unit, mk)
  fired[#fired + 1] = unit
  fired[#fired + 1] = mk
end

local function claim(unit, token, lease, redrive, deliveries, since, spent, mk)
  call('HSET', run, 'c' .. unit, token, 's' .. unit, 'q|' .. redrive .. '|' .. deliveries .. '|' .. since .. '|' .. spent .. '|' .. mk)
  call('ZADD', claims, now + tonumber(lease), member(unit))
end

-- grant is what a worker is handed with a claim. wants: i for the input, and parents' indices, comma separated.
local function grant(unit, mk, deliveries, waited, spent, wants)
  local step, k = match(unit, '^(%d+)%.(%d+)$')
  local fixed = call('HMGET', run, 'g' .. (step or unit), 't')
  local outcomes, wanted = {}, {}
  for p in string.gmatch(match(fixed[1], '^[^|]*|[^|]*|([^|]*)|'), '(%d+)%a') do
    outcomes[#outcomes + 1] = p
    outcomes[#outcomes + 1] = match(call('HGET', run, 's' .. p), '^d|(%d)')
  end
  for w in string.gmatch(wants, '[^,]+') do wanted[#wanted + 1] = call('HGET', vals, w == 'i' and 'input' or w) end
  local item = step and call('HGET', vals, step .. ':' .. k) or false
  local left = S.deadline > 0 and S.deadline - now or 0
  return { 'claimed', mk, deliveries, format('%.0f', waited), spent, format('%.0f', left), outcomes, wanted, item, fixed[2] }
end

-- flush makes what was fired runnable: the caller takes the first that it may, and rings for the others.
local function flush()
  for i = 1, #fired, 2 do
    local unit, mk = tostring(fired[i]), fired[i + 1]
    local over = S.fast and string.sub(call('HGET', run, 's' .. unit) or '', 1, 1) == 'd'
    local wants = onward and not taken and not (S.deadline > 0 and now >= S.deadline) and
      match(onward.wants, ';' .. match(unit, '^%d+') .. '=([^;]*);')
    if over then -- cancelled by the failure that fired it
    elseif wants then
      claim(unit, onward.token, onward.lease, 0, 1, format('%.0f', now), '', mk)
      taken = { unit, grant(unit, mk, 1, 0, '', wants) }
    else
      post(unit, 0, 0, format('%.0f', now), '', mk, now + GRACE)
      ready[#ready + 1] = unit
      ready[#ready + 1] = mk
    end
  end
end

local function unclaim(unit)
  call('HDEL', run, 'c' .. unit)
  call('ZREM', claims, member(unit))
end

local function finish()
  R.state, R.fin = 'd', format('%.0f', now)
  call('ZREM', due, id)
  if tonumber(string.sub(R.mk, 1, 1)) == FAILED then call('ZADD', failed, now, id) end
  call('PEXPIRE', run, S.retention)
  call('PEXPIRE', vals, S.retention)
  if S.done ~= '' then call('ZADD', outbox, now + GRACE, member('!') .. ':0') ready[#ready + 1] = '!' ready[#ready + 1] = R.mk end
  call('PUBLISH', 'fourfold:done:' .. id, R.gen)
end

-- close writes a step's end: record, counts, the run's marker. It says the outgoing marker.
local function close(index, flags, outcome, cause, skipped, mkin, env)
  local own = marker(outcome, index, cause)
  local out = join(own, mkin)
  call('HSET', run, 's' .. index, 'd|' .. outcome .. '|' .. cause .. '|' .. (skipped and 1 or 0) .. '|' .. R.gen .. '|' .. out .. '|' .. env)
  R.open = R.open - 1
  local slot = skipped and SKIPPED or outcome
  R.n[slot] = R.n[slot] + 1
  if outcome == FAILED and string.find(flags, 'a', 1, true) and cause ~= CANCELED and cause ~= DEADLINE then
    own = lowered(own)
  end
  R.mk = join(R.mk, own)
  closed[#closed + 1] = index .. '|' .. outcome .. '|' .. cause .. '|' .. (skipped and 1 or 0) .. '|' .. out
  return out
end

local settle

-- pass tells one child that a parent has ended.
local function pass(child, mode, outcome, out)
  local rec = call('HGET', run, 's' .. child)
  local left, mk = match(rec, '^w|(%d+)|(.*)$')
  if not left then return end -- skipped or cancelled already
  if outcome == FAILED then
    if mode == 'r' then return settle(child, FAILED, DEPENDENCY, true, '', '') end
    if mode == 'o' then out = lowered(out) end
  end
  mk = join(mk, out)
  left = tonumber(left) - 1
  if left == 0 then return fire(child, mk) end
  call('HSET', run, 's' .. child, 'w|' .. left .. '|' .. mk)
end

-- settle ends one step and tells its children. The caller has seen that it is not done.
settle = function(index, outcome, cause, skipped, mkin, env)
  local _, flags, children = match(call('HGET', run, 'g' .. index), '^([^|]*)|([^|]*)|[^|]*|(.*)$')
  local out = close(index, flags, outcome, cause, skipped, mkin, env)
  for child, mode in string.gmatch(children, '(%d+)(%a)') do pass(child, mode, outcome, out) end
  return out
end

-- release takes back the claims on an open step, its items' included, so that the next beat of their workers says that they are lost.
local function release(index, kind, rec)
  if kind == 'q' then return unclaim(index) end
  for k = 0, tonumber(match(rec, '^e|(%d+)|') or '0') - 1 do unclaim(index .. '.' .. k) end
end

-- closeall ends every open step at once and passes nothing on: a cancelled or overdue run.
local function closeall(cause)
  for i = 0, S.n - 1 do
    local rec = call('HGET', run, 's' .. i)
    local kind = string.sub(rec, 1, 1)
    if kind ~= 'd' then
      local _, flags = match(call('HGET', run, 'g' .. i), '^([^|]*)|([^|]*)')
      release(i, kind, rec)
      close(i, flags, FAILED, cause, false, '', '')
    end
  end
end

-- failfast cancels what is open and independent of the failure; steps with an always edge still run.
local function failfast()
  for i = 0, S.n - 1 do
    local rec = call('HGET', run, 's' .. i)
    local kind = string.sub(rec, 1, 1)
    if kind ~= 'd' then
      local _, flags = match(call('HGET', run, 'g' .. i), '^([^|]*)|([^|]*)')
      if not string.find(flags, 'v', 1, true) then
        release(i, kind, rec)
        settle(i, FAILED, CANCELED, false, '', '')
      end
    end
  end
end

-- ended settles a step that was worked on, with what follows from it.
local function ended(index, outcome, cause, mkin, env)
  settle(index, outcome, cause, false, mkin, env)
  if outcome == FAILED and S.fast and R.open > 0 then
    local _, flags = match(call('HGET', run, 'g' .. index), '^([^|]*)|([^|]*)')
    if not string.find(flags, 'a', 1, true) then failfast() end
  end
  if R.open == 0 then finish() end
end

-- joinitems settles a for_each step whose items have all ended: values in the order of the items, worst outcome, first cause.
local function joinitems(step, n, worst, mk)
  local outcome = tonumber(string.sub(worst, 1, 1))
  local cause = tonumber(match(worst, '%.(%d+)$') or '0')
  if outcome ~= FAILED then
    local all = {}
    for k = 0, n - 1 do all[k + 1] = call('HGET', vals, step .. '.' .. k) end
    call('HSET', vals, step, '[' .. table.concat(all, ',') .. ']')
  end
  ended(tonumber(step), outcome, cause, mk, '')
end

-- enditem ends one item of a for_each step, releases the next, and settles the step with the last one.
-- It says how many items were joined, or false while some are open.
local function enditem(step, k, outcome, cause, env)
  local _, flags = match(call('HGET', run, 'g' .. step), '^([^|]*)|([^|]*)')
  if outcome == FAILED and string.find(flags, 'n', 1, true) then
    outcome = DEGRADED
    call('HSET', vals, step .. '.' .. k, 'null')
  end
  call('HSET', run, 's' .. step .. '.' .. k, 'd|' .. outcome .. '|' .. cause .. '|0|' .. R.gen .. '||' .. env)
  local n, open, nxt, worst, mk = match(call('HGET', run, 's' .. step), '^e|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
  n, open, nxt = tonumber(n), tonumber(open) - 1, tonumber(nxt)
  worst = join(worst, marker(outcome, k, cause))
  while nxt < n do -- items that a rerun kept have ended already
    nxt = nxt + 1
    if not call('HGET', run, 's' .. step .. '.' .. (nxt - 1)) then
      fire(step .. '.' .. (nxt - 1), mk)
      break
    end
  end
  if open == 0 then
    joinitems(step, n, worst, mk)
    return n
  end
  call('HSET', run, 's' .. step, 'e|' .. n .. '|' .. open .. '|' .. nxt .. '|' .. worst .. '|' .. mk)
  return false
end

-- endunit ends a step or an item, whichever the unit names. It says whether a step was settled by it: false, or the
-- number of items joined (0 for a plain step).
local function endunit(unit, outcome, cause, mkin, env)
  local step, k = match(unit, '^(%d+)%.(%d+)$')
  if step then return enditem(step, k, outcome, cause, env) end
  ended(tonumber(unit), outcome, cause, mkin, env)
  return 0
end

-- itemrecords are the ends of the n items of a step, for the envelope of the whole.
local function itemrecords(unit, n)
  local step, records = match(unit, '^(%d+)'), {}
  for i = 0, n - 1 do records[i + 1] = call('HGET', run, 's' .. step .. '.' .. i) end
  return records
end

-- summary is what every settling script answers: the run's record, when it was made, what became runnable, what ended,
-- what the caller goes on with.
local function summary(word, ...)
  flush()
  return { word, R.state .. '|' .. R.gen .. '|' .. R.open .. '|' .. R.fin .. '|' .. R.mk, S.created, ready, closed, taken or false, ... }
end
