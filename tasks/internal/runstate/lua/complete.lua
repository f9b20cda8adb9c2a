-- ARGV: 2 generation, 3 unit, 4 outcome, 5 cause, 6 envelope record, 7 marker carried by the task, 8 value ('' none), 9 token.
if not load() then return { 'gone' } end
local unit = ARGV[3]
if R.gen ~= ARGV[2] then return { 'stale' } end
local rec = call('HGET', run, 's' .. unit)
if not rec then return { 'gone' } end
if R.state == 'd' or string.sub(rec, 1, 1) ~= 'q' then return { 'done' } end
local step, k = match(unit, '^(%d+)%.(%d+)$')
if step and string.sub(call('HGET', run, 's' .. step), 1, 1) ~= 'e' then return { 'done' } end
local mk = join(match(rec, '^q|%d+|%d+|%d+|[^|]*|(.*)$'), ARGV[7])
unclaim(unit)
if ARGV[8] ~= '' then call('HSET', vals, unit, ARGV[8]) end
local joined = endunit(unit, tonumber(ARGV[4]), tonumber(ARGV[5]), mk, ARGV[6])
save()
return summary('settled', joined and 1 or 0, itemrecords(unit, joined or 0))
