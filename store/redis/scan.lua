#!lua flags=no-writes
-- Reads a part of an index.
-- KEYS: 1 the index
-- ARGV: 1 limit, 2 "1": reverse, 3 "1": due only, then nothing or 4 score and 5 member of the entry to start behind
-- Returns the time in milliseconds, the number of entries in the index, and a flat list of members and scores, always from low to high.
local index, limit = KEYS[1], tonumber(ARGV[1])
local reverse, due, score, member = ARGV[2] == '1', ARGV[3] == '1', ARGV[4], ARGV[5]
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local total = redis.call('ZCARD', index)

-- less compares bytes, as Redis orders members; Lua's own < follows the locale.
local function less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = a:byte(i), b:byte(i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- rank counts the entries in front of (score, member), and that one too when it is there and its own place counts. Among equal scores it
-- searches by halves.
local function rank(and_itself)
  local low = redis.call('ZCOUNT', index, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', index, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local there = redis.call('ZRANGE', index, middle, middle)[1]
    if less(there, member) or (and_itself and there == member) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- The part lies between two ranks, both included.
local first, last = 0, total - 1
if due then last = redis.call('ZCOUNT', index, '-inf', string.format('%.0f', now)) - 1 end
if reverse then
  if score then last = math.min(last, rank(false) - 1) end
  first = math.max(first, last - limit + 1)
else
  if score then first = rank(true) end
  last = math.min(last, first + limit - 1)
end
if last < first then return {now, total, {}} end
return {now, total, redis.call('ZRANGE', index, first, last, 'WITHSCORES')}
