-- ARGV: 2 h, 3 k without created and deadline filled: n, 4 window (ms, 0 none), 5 retention, 6 fail fast, 7 on done queue,
-- 8 input, 9 first visit (ms from now), 10 traceparent ('' none), then per step: g, edges left.
local h = call('HGET', run, 'h')
if h then
  if h == ARGV[2] then return { 'exists' } end
  return { 'conflict' }
end
local n, window = tonumber(ARGV[3]), tonumber(ARGV[4])
local deadline = window > 0 and now + window or 0
R = { state = 'o', gen = '1', open = n, fin = '0', mk = '', n = { 0, 0, 0, 0, 0 } }
S = { created = format('%.0f', now) }
call('HSET', run, 'h', ARGV[2], 'k', n .. '|' .. S.created .. '|' .. format('%.0f', deadline) .. '|' .. ARGV[4] .. '|' ..
  ARGV[5] .. '|' .. ARGV[6] .. '|' .. ARGV[7])
if ARGV[10] ~= '' then call('HSET', run, 't', ARGV[10]) end
call('HSET', vals, 'input', ARGV[8])
for i = 0, n - 1 do
  local g, left = ARGV[11 + 2 * i], ARGV[12 + 2 * i]
  call('HSET', run, 'g' .. i, g)
  if left == '0' then fire(i, '') else call('HSET', run, 's' .. i, 'w|' .. left .. '|') end
end
save()
call('ZADD', due, now + tonumber(ARGV[9]), id)
return summary('created')
