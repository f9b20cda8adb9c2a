-- Makes a run, and makes its roots runnable: it posts their tasks itself with post(KEYS, ARGV), the queue's own script as a
-- function, or, where post is nil, leaves them in the outbox for its caller to ring. It does without the prelude, whose
-- functions cost more to make than all that is done here.
-- KEYS: 1 run, 2 values, 3 outbox, 4 due, 5 sign that the bundle is kept; then the keys of each root's post.
-- ARGV: 1 run id, 2 h, 3 steps, 4 window (ms, 0 none), 5 the last four parts of k, 6 input, 7 first visit (ms from now), 8 roots,
-- 9 keys and 10 arguments of one post; then the roots' indices; then the arguments of each root's post; then the run's fields
-- that need no clock, each name followed by its value.
local call, format = redis.call, string.format
local run, id, roots, keys, args = KEYS[1], ARGV[1], tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local held = call('HGET', run, 'h')
if held == ARGV[2] then return { 'exists' } end
if held then return { 'conflict' } end
if call('EXISTS', KEYS[5]) == 0 then return { 'unkept' } end

local clock = call('TIME')
local now, deadline = clock[1] .. format('%03d', clock[2] / 1000), ARGV[4]
if deadline ~= '0' then deadline = format('%.0f', now + deadline) end
local queued, at, last = 'q|0|0|' .. now .. '||', 11 + roots + roots * args, #ARGV
call('HSET', run, 'h', ARGV[2], 'k', ARGV[3] .. '|' .. now .. '|' .. deadline .. '|' .. ARGV[5], 's' .. ARGV[11], queued,
  unpack(ARGV, at, math.min(last, at + 1999)))
for from = at + 2000, last, 2000 do call('HSET', run, unpack(ARGV, from, math.min(last, from + 1999))) end
call('HSET', KEYS[2], 'input', ARGV[6])
call('ZADD', KEYS[4], now + ARGV[7], id)
local ready = {}
for i = 1, roots do
  local root = ARGV[10 + i]
  if i > 1 then call('HSET', run, 's' .. root, queued) end
  if post then
    local k, a = 5 + (i - 1) * keys, 10 + roots + (i - 1) * args
    post({ unpack(KEYS, k + 1, k + keys) }, { unpack(ARGV, a + 1, a + args) })
  else
    call('ZADD', KEYS[3], now + 2000, id .. ':1:' .. root .. ':0')
    ready[2 * i - 1], ready[2 * i] = root, ''
  end
end
if post then return { 'created' } end
return { 'created', 'o|1|' .. ARGV[3] .. '|0|', now, ready, {}, false }
