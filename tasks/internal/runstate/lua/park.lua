-- Gives a claim back: because the provider must not be called before some time, or because the worker stops.
-- ARGV: 2 generation, 3 unit, 4 token, 5 pause (ms), 6 what was spent, 7 for how long an outage has kept it waiting (ms).
local unit = ARGV[3]
if not load('s' .. unit, 'c' .. unit) then return { 'gone' } end
local rec = held['s' .. unit]
if R.gen ~= ARGV[2] or R.state == 'd' or not rec or sub(rec, 1, 1) ~= 'q' then return { 'done' } end
if held['c' .. unit] ~= ARGV[4] then return { 'lost' } end
local redrive, deliveries, mk = match(rec, '^q|(%d+)|(%d+)|%d+|[^|]*|(.*)$')
unclaim(unit)
deliveries = math.max(tonumber(deliveries) - 1, 0)
local at = now + tonumber(ARGV[5])
if ARGV[7] ~= '0' then put('w' .. unit, R.gen .. '|' .. ARGV[7]) end
post(unit, tonumber(redrive) + 1, deliveries, format('%.0f', at), ARGV[6], mk, at)
write()
return { 'parked' }
