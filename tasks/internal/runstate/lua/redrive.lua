-- Has units rung for again that nobody holds. ARGV: 2 generation, 3 pause (ms), then unit, redrive number seen ('': any), pairs.
if not load() or R.state == 'd' or R.gen ~= ARGV[2] then
  for i = 4, #ARGV, 2 do call('ZREM', claims, id .. ':' .. ARGV[2] .. ':' .. ARGV[i]) end
  return { 'done', 0 }
end
local n = 0
for i = 4, #ARGV, 2 do
  local unit = ARGV[i]
  local redrive, deliveries, since, spent, mk = match(get('s' .. unit) or '', '^q|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
  local till = call('ZSCORE', claims, member(unit))
  if not redrive then
    call('ZREM', claims, member(unit))
  elseif (ARGV[i + 1] == '' or ARGV[i + 1] == redrive) and not (till and tonumber(till) > now) then
    unclaim(unit)
    post(unit, tonumber(redrive) + 1, deliveries, since, spent, mk, now + tonumber(ARGV[3]))
    n = n + 1
  end
end
write()
return { 'redriven', n }
