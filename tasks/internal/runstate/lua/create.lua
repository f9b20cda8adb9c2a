-- Makes runs of one bundle in one queue, and makes their roots runnable: it posts their tasks itself with post(KEYS, ARGV), the
-- queue's own script as a function, or, where post is nil, leaves them in the outbox for its caller to ring. It does without
-- the prelude, whose functions cost more to make than all that is done here. All runs but the first are made as copies of it:
-- that costs Redis a third of what it costs to write a hash field by field.
-- KEYS: 1 outbox, 2 due, 3 sign that the bundle is kept; then of each run: its key, its values' if the input is apart, the keys of
-- each root's post.
-- ARGV: 1 steps, 2 window (ms, 0 none), 3 the last four parts of k, 4 first visit (ms from now), 5 the fields that differ from run
-- to run, one letter each, of which the first is h, 6 whether the input is apart, 7 keys and 8 arguments of one post, 9 roots,
-- 10 how many texts the fields are; then the roots' indices; then the fields of every run that need no clock, each name followed
-- by its value; then of each run: id, the fields that differ, the input if it is apart, the arguments of each root's post.
-- Answers a word or an error for each run, or unkept for all of them.
local call, format, sub = redis.call, string.format, string.sub
if call('EXISTS', KEYS[3]) == 0 then return 'unkept' end
local keys, args, roots, apart = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[6] == '1'

local clock = call('TIME')
local now, deadline = clock[1] .. format('%03d', clock[2] / 1000), ARGV[2]
if deadline ~= '0' then deadline = format('%.0f', now + deadline) end
local visit, queued = format('%.0f', now + ARGV[4]), 'q|0|0|' .. now .. '||'

local shared = 10 + roots + ARGV[10] -- the last argument that all runs share
local fields = { 'k', ARGV[1] .. '|' .. now .. '|' .. deadline .. '|' .. ARGV[3] }
for i = 11, 10 + roots do
  fields[#fields + 1], fields[#fields + 2] = 's' .. ARGV[i], queued
end
for i = 11 + roots, shared do fields[#fields + 1] = ARGV[i] end
local common, own = #fields, #ARGV[5]
for i = 1, own do fields[common + 2 * i - 1] = sub(ARGV[5], i, i) end

local due, postkeys, postargs = {}, {}, {}
local model -- the first that was made
local function make(k, a) -- the places before the run's first key and argument
  local run, id = KEYS[k + 1], ARGV[a + 1]
  local copied = model and model ~= run and call('COPY', model, run) == 1
  if not copied then
    local held = call('HGET', run, 'h')
    if held then return held == ARGV[a + 2] and 'exists' or 'conflict' end
  end
  due[#due + 1], due[#due + 2] = visit, id
  for i = 1, own do fields[common + 2 * i] = ARGV[a + 1 + i] end
  local last = common + 2 * own
  for from = copied and common + 1 or 1, last, 2000 do call('HSET', run, unpack(fields, from, math.min(last, from + 1999))) end
  model = model or run
  k, a = k + 1, a + 1 + own
  if apart then
    k, a = k + 1, a + 1
    call('HSET', KEYS[k], 'input', ARGV[a])
  end
  for i = 11, 10 + roots do
    if post then
      for j = 1, keys do postkeys[j] = KEYS[k + j] end
      for j = 1, args do postargs[j] = ARGV[a + j] end
      post(postkeys, postargs)
      k, a = k + keys, a + args
    else
      call('ZADD', KEYS[1], now + 2000, id .. ':1:' .. ARGV[i] .. ':0')
    end
  end
  return 'created'
end

local words = {}
local k, a, more = 3, shared, apart and 1 or 0
while k < #KEYS do
  words[#words + 1] = answer(pcall(make, k, a))
  k, a = k + 1 + more + roots * keys, a + 1 + own + more + roots * args
end
if #due > 0 then call('ZADD', KEYS[2], unpack(due)) end
return words
