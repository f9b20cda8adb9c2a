-- ARGV: 2 generation, 3 unit, 4 token, 5 lease (ms), 6 most deliveries, 7 the values wanted ('i' input, or parent indices, comma separated).
if not load() then return { 'gone' } end
local unit = ARGV[3]
if R.gen ~= ARGV[2] then return { 'stale' } end
local step, k = match(unit, '^(%d+)%.(%d+)$')
local rec = call('HGET', run, 's' .. unit)
if not rec then return { 'gone' } end
if R.state == 'd' or string.sub(rec, 1, 1) ~= 'q' then return { 'done' } end
if step and string.sub(call('HGET', run, 's' .. step), 1, 1) ~= 'e' then return { 'done' } end
if S.deadline > 0 and now >= S.deadline then
  closeall(DEADLINE)
  finish()
  save()
  return summary('deadline')
end
local holder = call('HGET', run, 'c' .. unit)
if holder then
  local till = call('ZSCORE', claims, member(unit))
  if till and tonumber(till) > now and holder ~= ARGV[4] then return { 'busy' } end
end
local redrive, deliveries, since, spent, mk = match(rec, '^q|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
-- The same token again is the same delivery, whose answer was lost on its way.
deliveries = tonumber(deliveries) + (holder == ARGV[4] and 0 or 1)
if deliveries > tonumber(ARGV[6]) then
  unclaim(unit)
  local joined = endunit(unit, FAILED, CRASH, mk, '')
  save()
  return summary('crash', joined and 1 or 0, itemrecords(unit, joined or 0))
end
call('HSET', run, 'c' .. unit, ARGV[4], 's' .. unit, 'q|' .. redrive .. '|' .. deliveries .. '|' .. since .. '|' .. spent .. '|' .. mk)
call('ZADD', claims, now + tonumber(ARGV[5]), member(unit))

local index = step or unit
local parents = match(call('HGET', run, 'g' .. index), '^[^|]*|[^|]*|([^|]*)|')
local outcomes = {}
for p in string.gmatch(parents, '(%d+)%a') do
  outcomes[#outcomes + 1] = p
  outcomes[#outcomes + 1] = match(call('HGET', run, 's' .. p), '^d|(%d)')
end
local wanted = {}
for w in string.gmatch(ARGV[7], '[^,]+') do
  wanted[#wanted + 1] = call('HGET', vals, w == 'i' and 'input' or w)
end
local item = step and call('HGET', vals, step .. ':' .. k) or false
local left = S.deadline > 0 and S.deadline - now or 0
return { 'claimed', mk, deliveries, format('%.0f', now - tonumber(since)), spent, format('%.0f', left), outcomes, wanted, item }
