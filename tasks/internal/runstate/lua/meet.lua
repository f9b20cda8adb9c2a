-- begin(KEYS, ARGV), which is the quick one, for a ring at the moment in which it is taken, if it is one that begin may serve.
-- ARGV: 1 the ring's queue and 2 id, 3 token, 4 lease (ms). Answers the token, and what begin says.
local run, gen, unit = string.match(ARGV[2], '^([^:]+):(%d+):([%d.]+):%d+$')
if not run then return false end
local base = 'fourfold:{' .. ARGV[1] .. '}:'
return { ARGV[3], begin({ base .. 'run:' .. run, base .. 'val:' .. run, base .. 'claims' }, { run, gen, unit, ARGV[3], ARGV[4] }) }
