-- Makes runs of one bundle in one queue, and makes their roots runnable: it posts their tasks itself with post(KEYS, ARGV), the
-- queue's own script as a function, or, where post is nil, leaves them in the outbox for its caller to ring. It does without
-- the prelude, whose functions cost more to make than all that is done here.
-- KEYS: 1 outbox, 2 due, 3 sign that the bundle is kept; then of each run: its key, its values', the keys of each root's post.
-- ARGV: 1 steps, 2 window (ms, 0 none), 3 the last four parts of k, 4 first visit (ms from now), 5 roots, 6 keys and 7 arguments
-- of one post, 8 how many texts the fields are; then the roots' indices; then the fields of every run that need no clock, each
-- name followed by its value; then of each run: id, h, input, trace ('': none), the arguments of each root's post.
-- Answers a word or an error for each run, or unkept for all of them.
local call, format = redis.call, string.format
if call('EXISTS', KEYS[3]) == 0 then return 'unkept' end
local roots, keys, args = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local clock = call('TIME')
local now, deadline = clock[1] .. format('%03d', clock[2] / 1000), ARGV[2]
if deadline ~= '0' then deadline = format('%.0f', now + deadline) end
local visit, queued = format('%.0f', now + ARGV[4]), 'q|0|0|' .. now .. '||'

local head = 8 + roots + ARGV[8] -- the last argument that all runs share
local fields = { 'h', '', 'k', ARGV[1] .. '|' .. now .. '|' .. deadline .. '|' .. ARGV[3] }
for i = 9, 8 + roots do
  fields[#fields + 1], fields[#fields + 2] = 's' .. ARGV[i], queued
end
for i = 9 + roots, head do fields[#fields + 1] = ARGV[i] end
local common = #fields

local due = {}
local function make(k, a) -- the places before the run's first key and argument
  local run, id = KEYS[k + 1], ARGV[a + 1]
  local held = call('HGET', run, 'h')
  if held then return held == ARGV[a + 2] and 'exists' or 'conflict' end
  due[#due + 1], due[#due + 2] = visit, id
  fields[2], fields[common + 1], fields[common + 2] = ARGV[a + 2], 't', ARGV[a + 4]
  local last = ARGV[a + 4] == '' and common or common + 2
  for from = 1, last, 2000 do call('HSET', run, unpack(fields, from, math.min(last, from + 1999))) end
  call('HSET', KEYS[k + 2], 'input', ARGV[a + 3])
  k, a = k + 2, a + 4
  for i = 9, 8 + roots do
    if post then
      post({ unpack(KEYS, k + 1, k + keys) }, { unpack(ARGV, a + 1, a + args) })
      k, a = k + keys, a + args
    else
      call('ZADD', KEYS[1], now + 2000, id .. ':1:' .. ARGV[i] .. ':0')
    end
  end
  return 'created'
end

local words = {}
local k, a = 3, head
while k < #KEYS do
  words[#words + 1] = answer(pcall(make, k, a))
  k, a = k + 2 + roots * keys, a + 4 + roots * args
end
if #due > 0 then call('ZADD', KEYS[2], unpack(due)) end
return words
