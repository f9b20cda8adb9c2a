-- ARGV: 2 h, 3 k without created and deadline filled: n, 4 window (ms, 0 none), 5 retention, 6 fail fast, 7 on done queue,
-- 8 input, 9 first visit (ms from now), 10 traceparent ('' none), 11 flow, then per step: g, edges left.
fetch('h')
if held.h then
  if held.h == ARGV[2] then return { 'exists' } end
  return { 'conflict' }
end
local n, window = tonumber(ARGV[3]), tonumber(ARGV[4])
local deadline = window > 0 and now + window or 0
R = { state = 'o', gen = '1', open = n, fin = '0', mk = '', n = { 0, 0, 0, 0, 0 } }
S = { created = nowtext, deadline = deadline }
put('h', ARGV[2])
put('f', ARGV[11])
put('k', n .. '|' .. nowtext .. '|' .. format('%.0f', deadline) .. '|' .. ARGV[4] .. '|' .. ARGV[5] .. '|' .. ARGV[6] .. '|' .. ARGV[7])
if ARGV[10] ~= '' then put('t', ARGV[10]) end
call('HSET', vals, 'input', ARGV[8])
for i = 0, n - 1 do
  local left = ARGV[13 + 2 * i]
  put('g' .. i, ARGV[12 + 2 * i])
  if left == '0' then fire(i, '') else put('s' .. i, 'w|' .. left .. '|') end
end
call('ZADD', due, now + tonumber(ARGV[9]), id)
return summary('created')
