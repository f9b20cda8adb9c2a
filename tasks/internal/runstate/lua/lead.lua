-- Takes or keeps the queue's sweeper lock. KEYS: 1 lock.  ARGV: 1 token, 2 hold (ms). Answers 1 if the token has it, and the time.
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
local clock = redis.call('TIME')
return { redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0, clock[1], clock[2] }
