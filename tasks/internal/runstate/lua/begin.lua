-- ARGV: 2 generation, 3 unit, 4 token, 5 lease (ms), 6 most deliveries, 7 what is wanted, as for grant, 8 the highest delivery
-- that the worker takes without a place for suspects.
local unit = ARGV[3]
local step = match(unit, '^(%d+)%.')
local index = step or unit
if not load('s' .. unit, 'c' .. unit, 'w' .. unit, 'g' .. index, 't') then return { 'gone' } end
if R.gen ~= ARGV[2] then return { 'stale' } end
local rec, holder = held['s' .. unit], held['c' .. unit]
if not rec then return { 'gone' } end
if R.state == 'd' or sub(rec, 1, 1) ~= 'q' then return { 'done' } end
if step and sub(get('s' .. step), 1, 1) ~= 'e' then return { 'done' } end
if S.deadline > 0 and now >= S.deadline then return { 'overdue' } end
if holder and holder ~= ARGV[4] then
  local till = call('ZSCORE', claims, member(unit))
  if till and tonumber(till) > now then return { 'busy' } end
end
local redrive, deliveries, since, spent, mk = match(rec, '^q|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
-- The same token again is the same delivery, whose answer was lost on its way.
deliveries = tonumber(deliveries) + (holder == ARGV[4] and 0 or 1)
if deliveries > tonumber(ARGV[6]) then return { 'worn' } end
if deliveries > tonumber(ARGV[8]) and holder ~= ARGV[4] then return { 'suspect', deliveries } end
if holder == ARGV[4] then -- the records say so: it has the time of a new claim
  call('ZADD', claims, now + tonumber(ARGV[5]), member(unit))
else
  claim(unit, ARGV[4], ARGV[5], redrive, deliveries, since, spent, mk)
end
local down = match(held['w' .. unit] or '', '^' .. R.gen .. '|(%d+)$') or '0'
drop('w' .. unit)
write()
local granted = grant(unit, mk, deliveries, now - tonumber(since), spent, ARGV[7])
granted[11] = down
return granted
