-- ARGV: 2 generation, 3 unit, 4 outcome, 5 cause, 6 envelope record, 7 marker carried by the task, 8 value ('' none), 9 token,
-- 10 token to go on with ('': not), 11 its lease (ms), 12 what is wanted of each step that may follow: ;<step>=<wants>;...;
local unit = ARGV[3]
local step = match(unit, '^(%d+)%.')
if not load('s' .. unit, 'c' .. unit, 'g' .. (step or unit)) then return { 'gone' } end
if R.gen ~= ARGV[2] then return { 'stale' } end
local rec = held['s' .. unit]
if not rec then return { 'gone' } end
if ARGV[10] ~= '' then onward = { token = ARGV[10], lease = ARGV[11], wants = ARGV[12] } end
if R.state == 'd' or sub(rec, 1, 1) ~= 'q' then return repeated('settled', unit) end
if step and sub(get('s' .. step), 1, 1) ~= 'e' then return { 'done' } end
local mk = join(match(rec, '^q|%d+|%d+|%d+|[^|]*|(.*)$'), ARGV[7])
unclaim(unit)
if ARGV[8] ~= '' then call('HSET', vals, unit, ARGV[8]) end
return settled('settled', unit, endunit(unit, tonumber(ARGV[4]), tonumber(ARGV[5]), mk, ARGV[6]))
