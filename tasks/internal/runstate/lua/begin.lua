-- ARGV: 2 generation, 3 unit, 4 token, 5 lease (ms), 6 most deliveries, 7 the values wanted ('i' input, or parent indices, comma separated).
if not load() then return { 'gone' } end
local unit = ARGV[3]
if R.gen ~= ARGV[2] then return { 'stale' } end
local step = match(unit, '^(%d+)%.')
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
claim(unit, ARGV[4], ARGV[5], redrive, deliveries, since, spent, mk)
return grant(unit, mk, deliveries, now - tonumber(since), spent, ARGV[7])
