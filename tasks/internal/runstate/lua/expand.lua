-- Splits a for_each step into its items.
-- ARGV: 2 generation, 3 step, 4 token, 5 most in flight (0: all), 6 token to go on with ('': not), 7 its lease (ms),
-- 8 what is wanted, as for complete, then the items.
local step = ARGV[3]
if not load('s' .. step, 'c' .. step, 'g' .. step) then return { 'gone' } end
if R.gen ~= ARGV[2] then return { 'stale' } end
local rec = held['s' .. step]
if not rec then return { 'done' } end
if ARGV[6] ~= '' then onward = { token = ARGV[6], lease = ARGV[7], wants = ARGV[8] } end
if R.state == 'd' or sub(rec, 1, 1) ~= 'q' then return repeated('expanded', step) end
local mk = match(rec, '^q|%d+|%d+|%d+|[^|]*|(.*)$')
local n, most = #ARGV - 8, tonumber(ARGV[5])
unclaim(step)
local open, worst, flying, nxt = 0, '', 0, n
for k = 0, n - 1 do
  local unit, input = step .. '.' .. k, ARGV[9 + k]
  local outcome, cause = match(get('s' .. unit) or '', '^d|(%d)|(%d+)')
  local kept = outcome and outcome ~= '4' and call('HGET', vals, step .. ':' .. k) == input and
    call('HEXISTS', vals, unit) == 1
  if kept then -- a rerun does not pay again for what has a value
    worst = join(worst, marker(tonumber(outcome), k, cause))
  else
    open = open + 1
    call('HSET', vals, step .. ':' .. k, input)
    call('HDEL', vals, unit)
    drop('s' .. unit)
    if most == 0 or flying < most then
      fire(unit, mk)
      flying = flying + 1
    elseif nxt == n then
      nxt = k
    end
  end
end
if open == 0 then
  joinitems(step, n, worst, mk)
  return settled('settled', step, n)
end
put('s' .. step, 'e|' .. n .. '|' .. open .. '|' .. nxt .. '|' .. worst .. '|' .. mk)
return summary('expanded', 0, {})
