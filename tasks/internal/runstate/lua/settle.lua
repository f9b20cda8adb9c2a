-- Shared by the scripts that end steps.

local function finish()
  R.state, R.fin = 'd', nowtext
  call('ZREM', due, id)
  if tonumber(sub(R.mk, 1, 1)) == FAILED then call('ZADD', failed, now, id) end
  call('PEXPIRE', run, S.retention)
  call('PEXPIRE', vals, S.retention)
  if S.done ~= '' then
    call('ZADD', outbox, now + GRACE, member('!') .. ':0')
    ready[#ready + 1] = '!'
    ready[#ready + 1] = R.mk
  end
  call('PUBLISH', 'fourfold:done:' .. id, R.gen)
end

-- close writes a step's end: record, counts, the run's marker. It says the outgoing marker.
local function close(index, outcome, cause, skipped, mkin, env)
  local own = marker(outcome, index, cause)
  local out = join(own, mkin)
  local skip = skipped and 1 or 0
  put('s' .. index, 'd|' .. outcome .. '|' .. cause .. '|' .. skip .. '|' .. R.gen .. '|' .. out .. '|' .. env)
  R.open = R.open - 1
  local slot = skipped and SKIPPED or outcome
  R.n[slot] = R.n[slot] + 1
  if outcome == FAILED and cause ~= CANCELED and cause ~= DEADLINE and flagged(index, 'a') then own = lowered(own) end
  R.mk = join(R.mk, own)
  closed[#closed + 1] = index .. '|' .. outcome .. '|' .. cause .. '|' .. skip .. '|' .. out
  return out
end

local settle

-- pass tells one child that a parent has ended.
local function pass(child, mode, outcome, out)
  local left, mk = match(get('s' .. child), '^w|(%d+)|(.*)$')
  if not left then return end -- skipped or cancelled already
  if outcome == FAILED then
    if mode == 'r' then return settle(child, FAILED, DEPENDENCY, true, '', '') end
    if mode == 'o' then out = lowered(out) end
  end
  mk = join(mk, out)
  left = tonumber(left) - 1
  put('s' .. child, 'w|' .. left .. '|' .. mk)
  if left == 0 then fire(child, mk) end
end

-- settle ends one step and tells its children. The caller has seen that it is not done.
settle = function(index, outcome, cause, skipped, mkin, env)
  local out = close(index, outcome, cause, skipped, mkin, env)
  local children = match(get('g' .. index), '|([^|]*)$')
  for child, mode in string.gmatch(children, '(%d+)(%a)') do pass(child, mode, outcome, out) end
end

-- release takes back the claims on an open step, its items' included, so that the next beat of their workers says that they
-- are lost.
local function release(index)
  local items = match(get('s' .. index), '^e|(%d+)|')
  if not items then return unclaim(index) end
  for k = 0, tonumber(items) - 1 do unclaim(index .. '.' .. k) end
end

-- endopen ends, by finishing, the open steps that picked says.
local function endopen(picked, finishing)
  for i = 0, S.n - 1 do
    if sub(get('s' .. i), 1, 1) ~= 'd' and picked(i) then
      release(i)
      finishing(i)
    end
  end
end

-- closeall ends every open step at once and passes nothing on: a cancelled or overdue run.
local function closeall(cause)
  endopen(function() return true end, function(i) close(i, FAILED, cause, false, '', '') end)
end

-- ended settles a step that was worked on, with what follows from it. With fail_fast a failure cancels what is open and
-- independent of it; steps with an always edge still run.
local function ended(index, outcome, cause, mkin, env)
  settle(index, outcome, cause, false, mkin, env)
  if outcome == FAILED and S.fast and R.open > 0 and not flagged(index, 'a') then
    endopen(function(i) return not flagged(i, 'v') end, function(i) settle(i, FAILED, CANCELED, false, '', '') end)
    call('PUBLISH', 'fourfold:cancel:' .. id, R.gen)
  end
  if R.open == 0 then finish() end
end

-- joinitems settles a for_each step whose items have all ended: values in the order of the items, worst outcome, first cause.
local function joinitems(step, n, worst, mk)
  local outcome = tonumber(sub(worst, 1, 1))
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
  if outcome == FAILED and flagged(step, 'n') then
    outcome = DEGRADED
    call('HSET', vals, step .. '.' .. k, 'null')
  end
  put('s' .. step .. '.' .. k, 'd|' .. outcome .. '|' .. cause .. '|0|' .. R.gen .. '||' .. env)
  local n, open, nxt, worst, mk = match(get('s' .. step), '^e|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
  n, open, nxt = tonumber(n), tonumber(open) - 1, tonumber(nxt)
  worst = join(worst, marker(outcome, k, cause))
  while nxt < n do -- items that a rerun kept have ended already
    nxt = nxt + 1
    if not get('s' .. step .. '.' .. (nxt - 1)) then
      fire(step .. '.' .. (nxt - 1), mk)
      break
    end
  end
  if open == 0 then
    joinitems(step, n, worst, mk)
    return n
  end
  put('s' .. step, 'e|' .. n .. '|' .. open .. '|' .. nxt .. '|' .. worst .. '|' .. mk)
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

-- settled answers for a unit that has ended: whether a step was settled, and the ends of the items that were joined, for
-- the envelope of the whole.
local function settled(word, unit, joined)
  local step, records = match(unit, '^(%d+)'), {}
  for k = 0, (joined or 0) - 1 do records[k + 1] = get('s' .. step .. '.' .. k) end
  return summary(word, joined and 1 or 0, records)
end

-- mine is the unit after a step that the caller holds under the token to go on with: a child, or an item of the step.
local function mine(step)
  local function holds(unit) return get('c' .. unit) == onward.token and sub(get('s' .. unit) or '', 1, 1) == 'q' end
  for child in string.gmatch(match(get('g' .. step), '|([^|]*)$'), '(%d+)%a') do
    if holds(child) then return child end
  end
  for k = 0, tonumber(match(get('s' .. step), '^e|(%d+)|') or 0) - 1 do
    if holds(step .. '.' .. k) then return step .. '.' .. k end
  end
end

-- repeated answers for a unit that has ended. If the caller holds what it wants to go on with, it ended the unit itself and the
-- answer was lost: it gets it again, and the claim begins anew. Else somebody else did, or nothing can be gone on with.
local function repeated(word, unit)
  local step = match(unit, '^%d+')
  local following = onward and mine(step)
  if not following or S.deadline > 0 and now >= S.deadline then return { 'done' } end
  call('ZREM', claims, member(following)) -- before it is set, since a Redis without memory lets a script go on that has begun with this
  call('ZADD', claims, now + tonumber(onward.lease), member(following))
  local deliveries, mk = match(get('s' .. following), '^q|%d+|(%d+)|%d+|[^|]*|(.*)$')
  taken = { following, grant(following, mk, deliveries, 0, '', match(onward.wants, ';' .. match(following, '^%d+') .. '=([^;]*);')) }
  local ending, out = match(get('s' .. step), '^d|(%d|%d+|%d)|%d+|([^|]*)|')
  local joined
  if ending then
    closed[1] = step .. '|' .. ending .. '|' .. out
    joined = 0
    while unit ~= step and get('s' .. step .. '.' .. joined) do joined = joined + 1 end
  end
  return settled(word, unit, joined)
end
