-- begin for the common case: a step without parents that nobody has held. It does without the prelude, whose functions cost
-- more to make than all that is done here; where it does not apply it answers 'slow' and has changed nothing.
-- KEYS: 1 run, 2 values, 3 claims.  ARGV: 1 run id, 2 generation, 3 step, 4 token, 5 lease (ms).
local call, match = redis.call, string.match
local run, step = KEYS[1], ARGV[3]
local got = call('HMGET', run, 'r', 'k', 's' .. step, 'c' .. step, 'g' .. step, 't')
if not got[1] or not got[3] or got[4] then return { 'slow' } end
local state, gen = match(got[1], '^(%a)|(%d+)|')
local redrive, since, mk = match(got[3], '^q|(%d+)|0|(%d+)||(.*)$') -- not delivered before, nothing spent
if state ~= 'o' or gen ~= ARGV[2] or not redrive or not match(got[5], '^[^|]*|[^|]*||') then return { 'slow' } end
local deadline = tonumber(match(got[2], '^%d+|%d+|(%d+)'))
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if deadline > 0 and now >= deadline then return { 'slow' } end
call('HSET', run, 'c' .. step, ARGV[4], 's' .. step, 'q|' .. redrive .. '|1|' .. since .. '||' .. mk)
call('ZADD', KEYS[3], now + ARGV[5], ARGV[1] .. ':' .. gen .. ':' .. step)
return { 'claimed', mk, 1, now - since, '', deadline > 0 and deadline - now or 0, {}, { call('HGET', KEYS[2], 'input') }, false, got[6] }
