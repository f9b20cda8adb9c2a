-- begin for the common case: a unit that nobody has held. It does without the prelude, whose functions cost more to make than all that
-- is done here; where it does not apply it answers 'slow' and has changed nothing. What has other inputs than the run's it claims
-- too and answers 'taken': the whole begin hands those out, under the same token.
-- KEYS: 1 run, 2 values, 3 claims.  ARGV: 1 run id, 2 generation, 3 unit, 4 token, 5 lease (ms).
local call, match = redis.call, string.match
local run, unit = KEYS[1], ARGV[3]
local step = match(unit, '^(%d+)%.')
local got = call('HMGET', run, 'r', 'k', 's' .. unit, 'c' .. unit, 'g' .. unit, 't', 's' .. (step or unit), 'i')
if not got[1] or not got[3] or got[4] then return { 'slow' } end
local state, gen = match(got[1], '^(%a)|(%d+)|')
local redrive, since, mk = match(got[3], '^q|(%d+)|0|(%d+)||(.*)$') -- not delivered before, nothing spent
if state ~= 'o' or gen ~= ARGV[2] or not redrive or step and not match(got[7], '^e') then return { 'slow' } end
local deadline = tonumber(match(got[2], '^%d+|%d+|(%d+)'))
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if deadline > 0 and now >= deadline then return { 'slow' } end
call('HSET', run, 'c' .. unit, ARGV[4], 's' .. unit, 'q|' .. redrive .. '|1|' .. since .. '||' .. mk)
call('ZADD', KEYS[3], now + ARGV[5], ARGV[1] .. ':' .. gen .. ':' .. unit)
if step or not match(got[5], '^[^|]*|[^|]*||') then return { 'taken' } end
return { 'claimed', mk, 1, now - since, '', deadline > 0 and deadline - now or 0, {}, { got[8] or call('HGET', KEYS[2], 'input') }, false, got[6] }
