-- Ends a unit that was delivered too often, as begin has found. ARGV: 2 generation, 3 unit, 4 most deliveries.
local unit = ARGV[3]
if not load('s' .. unit, 'c' .. unit) then return { 'gone' } end
if R.gen ~= ARGV[2] then return { 'stale' } end
local deliveries, mk = match(held['s' .. unit] or '', '^q|%d+|(%d+)|%d+|[^|]*|(.*)$')
if R.state == 'd' or not deliveries or tonumber(deliveries) < tonumber(ARGV[4]) then return { 'done' } end
local till = call('ZSCORE', claims, member(unit))
if till and tonumber(till) > now then return { 'busy' } end
unclaim(unit)
return settled('crash', unit, endunit(unit, FAILED, CRASH, mk, ''))
