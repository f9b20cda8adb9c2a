-- Looks at one open run: ends it when it is overdue, else lists the units that nobody holds and sets the next visit.
-- ARGV: 2 shortest and 3 longest pause between visits (ms).
if not load('h') then call('ZREM', due, id) return { 'gone' } end
if R.state == 'd' then call('ZREM', due, id) return { 'done' } end
if S.deadline > 0 and now >= S.deadline then
  closeall(DEADLINE)
  finish()
  return summary('deadline')
end
local pause = math.min(math.max((now - S.created) / 2, tonumber(ARGV[2])), tonumber(ARGV[3]))
local at = now + pause
if S.deadline > 0 and S.deadline < at then at = S.deadline end
call('ZADD', due, at, id)
local idle = {}
local function look(unit)
  local redrive, _, since = match(get('s' .. unit) or '', '^q|(%d+)|(%d+)|(%d+)|')
  if redrive then
    local till = call('ZSCORE', claims, member(unit))
    local posted = call('ZSCORE', outbox, member(unit) .. ':' .. redrive)
    if not posted and not (till and tonumber(till) > now) then
      idle[#idle + 1] = unit
      idle[#idle + 1] = redrive
      idle[#idle + 1] = format('%.0f', now - tonumber(since))
    end
  end
end
for i = 0, S.n - 1 do
  local items = match(get('s' .. i), '^e|(%d+)|')
  if items then
    for k = 0, tonumber(items) - 1 do look(i .. '.' .. k) end
  else
    look(i)
  end
end
return { 'open', R.gen, held.h, idle }
