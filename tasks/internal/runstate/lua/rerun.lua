-- Starts a new generation: steps without a value, and all that depend on them, are reset; the rest stays. ARGV: 2 first visit (ms from now).
if not load() then return { 'gone' } end
if R.state ~= 'd' then return { 'open' } end
local parents, old, reset, count = {}, {}, {}, 0
for i = 0, S.n - 1 do
  parents[i], old[i] = match(get('g' .. i), '^[^|]*|[^|]*|([^|]*)|'), get('s' .. i)
  reset[i] = sub(old[i], 1, 3) == 'd|4' or call('HEXISTS', vals, i) == 0
  for p in string.gmatch(parents[i], '(%d+)%a') do reset[i] = reset[i] or reset[tonumber(p)] end
  if reset[i] then count = count + 1 end
end
if count == 0 then return { 'nothing' } end
call('PERSIST', run)
call('PERSIST', vals)
call('ZREM', failed, id)
R.state, R.gen, R.open, R.fin, R.mk, R.n = 'o', format('%d', tonumber(R.gen) + 1), count, '0', '', { 0, 0, 0, 0, 0 }
S.deadline = tonumber(S.window) > 0 and now + tonumber(S.window) or 0
put('k', S.n .. '|' .. S.created .. '|' .. format('%.0f', S.deadline) .. '|' .. S.window .. '|' .. S.retention .. '|' ..
  (S.fast and 1 or 0) .. '|' .. S.done)
for i = 0, S.n - 1 do
  if reset[i] then
    local left, mk = 0, ''
    for p in string.gmatch(parents[i], '(%d+)%a') do
      if reset[tonumber(p)] then left = left + 1 else mk = join(mk, match(old[tonumber(p)], '^d|%d|%d+|%d|%d+|([^|]*)|')) end
    end
    call('HDEL', vals, i)
    put('s' .. i, 'w|' .. left .. '|' .. mk)
    if left == 0 then fire(i, mk) end
  else
    local outcome, cause = match(old[i], '^d|(%d)|(%d+)')
    outcome = tonumber(outcome)
    R.n[outcome] = R.n[outcome] + 1
    R.mk = join(R.mk, marker(outcome, i, cause))
  end
end
call('ZADD', due, now + tonumber(ARGV[2]), id)
return summary('rerun')
