-- Shared by every script over one run. Formats are described in doc.go of the package.
-- KEYS: 1 run, 2 values, 3 outbox, 4 due, 5 claims, 6 failed.  ARGV[1]: run id.
local run, vals, outbox, due, claims, failed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local id = ARGV[1]
local call, match, format, sub = redis.call, string.match, string.format, string.sub
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local nowtext = format('%.0f', now)

local GRACE = 2000 -- the script's caller rings at once; the sweeper only after this many milliseconds

local ABSTAINED, OK, DEGRADED, FAILED, SKIPPED = 1, 2, 3, 4, 5
local CANCELED, DEADLINE, DEPENDENCY, CRASH, REJECTED = 6, 7, 8, 9, 10

-- R is the run's changing record, S its fixed one.
local R, S
local fired = {}  -- what this script made runnable: unit, marker, unit, marker ...
local ready = {}  -- what of it the caller must ring for, in the same form
local closed = {} -- what it ended: index|outcome|cause|skipped|outgoing marker
local onward      -- how the caller wants to go on with one of them itself: token, lease, wants; nil: not
local taken       -- the one that it may go on with: unit, grant; nil: none

-- The run's fields are read once and written once: put and drop change what get says at once, and write() Redis.
local held, changes = {}, {}

local function fetch(...)
  local got = call('HMGET', run, ...)
  for i = 1, select('#', ...) do held[select(i, ...)] = got[i] end
end

local function get(field)
  local v = held[field]
  if v == nil then
    v = call('HGET', run, field)
    held[field] = v
  end
  return v
end

local function put(field, v)
  held[field] = v
  changes[#changes + 1] = field
end

local function drop(field)
  if get(field) then put(field, false) end
end

local function write()
  local set, del, written = { 'HSET', run }, { 'HDEL', run }, {}
  for i = 1, #changes do
    local f = changes[i]
    if not written[f] then
      written[f] = true
      if held[f] then
        set[#set + 1] = f
        set[#set + 1] = held[f]
      else
        del[#del + 1] = f
      end
      if #set > 2000 then
        call(unpack(set))
        set = { 'HSET', run }
      end
    end
  end
  if #set > 2 then call(unpack(set)) end
  if #del > 2 then call(unpack(del)) end
  changes = {}
end

-- load reads the run's records, and further fields that the script will ask for. It says whether there is such a run.
local function load(...)
  fetch('r', 'k', ...)
  if not held.r then return false end
  local state, gen, open, a, o, d, f, s, fin, mk =
    match(held.r, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  R = { state = state, gen = gen, open = tonumber(open), fin = fin, mk = mk,
    n = { tonumber(a), tonumber(o), tonumber(d), tonumber(f), tonumber(s) } }
  local n, created, dl, window, ret, fast, done = match(held.k, '^(%d+)|(%d+)|(%d+)|(%d+)|(%d+)|(%d)|(.*)$')
  S = { n = tonumber(n), created = created, deadline = tonumber(dl), window = window,
    retention = ret, fast = fast == '1', done = done }
  return true
end

local function save()
  local n = R.n
  put('r', R.state .. '|' .. R.gen .. '|' .. R.open .. '|' .. n[1] .. '|' .. n[2] .. '|' .. n[3] .. '|' ..
    n[4] .. '|' .. n[5] .. '|' .. R.fin .. '|' .. R.mk)
end

local function member(unit) return id .. ':' .. R.gen .. ':' .. unit end

-- join is the maximum by severity, then smaller index, then smaller cause. '' is the identity.
local function join(a, b)
  if a == b or b == '' then return a end
  if a == '' then return b end
  local sa, sb = string.byte(a), string.byte(b)
  if sa ~= sb then return sa > sb and a or b end
  local ia, ca = match(a, '^%d%.(%d+)%.(%d+)$')
  if not ia then return a end
  local ib, cb = match(b, '^%d%.(%d+)%.(%d+)$')
  ia, ib, ca, cb = tonumber(ia), tonumber(ib), tonumber(ca), tonumber(cb)
  if ia ~= ib then return ia < ib and a or b end
  return ca <= cb and a or b
end

local function marker(outcome, index, cause)
  if outcome < DEGRADED then return tostring(outcome) end
  return outcome .. '.' .. index .. '.' .. cause
end

local function lowered(mk) -- what an optional edge passes on of a failed parent
  if string.byte(mk) == 52 then return '3' .. sub(mk, 2) end
  return mk
end

local function flagged(index, flag) -- whether a step has a flag
  return string.find(match(get('g' .. index), '^[^|]*|([^|]*)'), flag, 1, true) ~= nil
end

-- post makes a unit runnable: its record and its outbox entry are written by the same script.
local function post(unit, redrive, deliveries, since, spent, mk, at)
  put('s' .. unit, 'q|' .. redrive .. '|' .. deliveries .. '|' .. since .. '|' .. spent .. '|' .. mk)
  call('ZADD', outbox, at, member(unit) .. ':' .. redrive)
end

local function fire(unit, mk)
  fired[#fired + 1] = unit
  fired[#fired + 1] = mk
end

local function claim(unit, token, lease, redrive, deliveries, since, spent, mk)
  put('c' .. unit, token)
  put('s' .. unit, 'q|' .. redrive .. '|' .. deliveries .. '|' .. since .. '|' .. spent .. '|' .. mk)
  call('ZADD', claims, now + tonumber(lease), member(unit))
end

local function unclaim(unit)
  drop('c' .. unit)
  call('ZREM', claims, member(unit))
end

-- grant is what a worker is handed with a claim. wants: i for the input, t for the trace, and parents' indices, comma separated.
local function grant(unit, mk, deliveries, waited, spent, wants)
  local step, k = match(unit, '^(%d+)%.(%d+)$')
  local outcomes, wanted, trace = {}, {}, false
  for p in string.gmatch(match(get('g' .. (step or unit)), '^[^|]*|[^|]*|([^|]*)|'), '(%d+)%a') do
    outcomes[#outcomes + 1] = p
    outcomes[#outcomes + 1] = match(get('s' .. p), '^d|(%d)')
  end
  for w in string.gmatch(wants, '[^,]+') do
    if w == 't' then
      trace = get('t')
    elseif w == 'i' then
      wanted[#wanted + 1] = get('i') or call('HGET', vals, 'input')
    else
      wanted[#wanted + 1] = call('HGET', vals, w)
    end
  end
  local item = step and call('HGET', vals, step .. ':' .. k) or false
  local left = S.deadline > 0 and S.deadline - now or 0
  return { 'claimed', mk, deliveries, format('%.0f', waited), spent, format('%.0f', left), outcomes, wanted, item, trace }
end

-- flush makes what was fired runnable: the caller takes the first that it may, and rings for the others. Then all changes
-- are written.
local function flush()
  for i = 1, #fired, 2 do
    local unit, mk = tostring(fired[i]), fired[i + 1]
    local over = S.fast and sub(get('s' .. unit) or '', 1, 1) == 'd'
    local wants = onward and not taken and not (S.deadline > 0 and now >= S.deadline) and
      match(onward.wants, ';' .. match(unit, '^%d+') .. '=([^;]*);')
    if over then -- cancelled by the failure that fired it
    elseif wants then
      claim(unit, onward.token, onward.lease, 0, 1, nowtext, '', mk)
      taken = { unit, grant(unit, mk, 1, 0, '', wants) }
    else
      post(unit, 0, 0, nowtext, '', mk, now + GRACE)
      ready[#ready + 1] = unit
      ready[#ready + 1] = mk
    end
  end
  write()
end

-- summary ends a script that changed the run: it writes, and answers the run's record, when it was made, what became
-- runnable, what ended, what the caller goes on with.
local function summary(word, ...)
  save()
  flush()
  return { word, R.state .. '|' .. R.gen .. '|' .. R.open .. '|' .. R.fin .. '|' .. R.mk, S.created, ready, closed, taken or false, ... }
end
