-- Looks at one open run: lists the units that nobody holds and sets the next visit. It does without the prelude, since each run
-- is visited every few minutes for as long as it is open.
-- KEYS: 1 run, 2 values, 3 outbox, 4 due, 5 claims.  ARGV: 1 run id, 2 shortest and 3 longest pause between visits (ms).
local call, match, format = redis.call, string.match, string.format
local run, id = KEYS[1], ARGV[1]
local got = call('HMGET', run, 'r', 'k', 'h')
local state, gen = match(got[1] or '', '^(%a)|(%d+)|')
if state ~= 'o' then
  call('ZREM', KEYS[4], id)
  return { state and 'done' or 'gone' }
end
local steps, created, deadline = match(got[2], '^(%d+)|(%d+)|(%d+)|')
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
deadline = tonumber(deadline)
if deadline > 0 and now >= deadline then return { 'overdue' } end
local at = now + math.min(math.max((now - created) / 2, tonumber(ARGV[2])), tonumber(ARGV[3]))
if deadline > 0 and deadline < at then at = deadline end
call('ZADD', KEYS[4], at, id)

-- The records of many units are read at once, as far as Lua can hand them over at once.
local idle = {}
local function look(prefix, units)
  for from = 0, units - 1, 1000 do
    local fields = {}
    for i = from, math.min(units, from + 1000) - 1 do fields[#fields + 1] = prefix .. i end
    local records = call('HMGET', run, unpack(fields))
    for i = 1, #fields do
      local record, unit = records[i] or '', string.sub(fields[i], 2)
      local redrive, since = match(record, '^q|(%d+)|%d+|(%d+)|')
      local items = match(record, '^e|(%d+)|')
      if items then
        look(fields[i] .. '.', tonumber(items))
      elseif redrive then
        local member = id .. ':' .. gen .. ':' .. unit
        local till = call('ZSCORE', KEYS[5], member)
        if not (till and tonumber(till) > now) and not call('ZSCORE', KEYS[3], member .. ':' .. redrive) then
          idle[#idle + 1] = unit
          idle[#idle + 1] = redrive
          idle[#idle + 1] = format('%.0f', now - since)
        end
      end
    end
  end
end
look('s', tonumber(steps))
return { 'open', gen, got[3], idle }
