-- Extends claims of one queue. KEYS: 1 claims.  ARGV: 1 run key prefix, 2 lease (ms), then run, generation, unit, token for each.
-- Answers a string of 1 (held) and 0 (lost: settled, cancelled, or somebody else's).
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local answer, extend = {}, {}
for i = 3, #ARGV, 4 do
  local got = redis.call('HMGET', ARGV[1] .. ARGV[i], 'r', 'c' .. ARGV[i + 2])
  local state, gen = string.match(got[1] or '', '^(%a)|(%d+)|')
  if state == 'o' and gen == ARGV[i + 1] and got[2] == ARGV[i + 3] then
    local member = ARGV[i] .. ':' .. gen .. ':' .. ARGV[i + 2]
    redis.call('ZREM', KEYS[1], member) -- a Redis without memory refuses a script that begins with ZADD, and work in flight would be lost
    redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), member)
    answer[#answer + 1] = '1'
  else
    answer[#answer + 1] = '0'
  end
end
return table.concat(answer)
