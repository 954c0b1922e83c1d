-- Applies a batch, whole or not at all. The line that names the flags is put in front of this text: see commit.go.
-- KEYS: 1 the counter that gives versions and positions, 2 the batch's id, then a key for each operation marked *, in order
-- ARGV: 1 how long the id is kept, in milliseconds; then operations, each a word and its arguments. Conditions come first:
--   fence* version holder | expect* version | count* delta
--   put* value expires holder | delete* | insert* score member from_now | remove* member | add* delta expires |
--   append* value | trim* before | notify channel payload
--   (expires in milliseconds, 0 for never; from_now 0 or 1)
-- Returns {word, text}: applied or repeated with the result "time version counters positions" (lists with commas);
--   fenced, conflict, number (a counter that holds none) or large (one that would be too large) with the key. Those four wrote nothing.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local keep = tonumber(ARGV[1])

local first = redis.call('GET', KEYS[2])
if first then
  -- A write, so that a WAIT behind it also waits for the first one's writes, which another connection may have made.
  redis.call('PEXPIRE', KEYS[2], keep)
  return {'repeated', first}
end

local key_at, arg_at = 2, 1
local function key()
  key_at = key_at + 1
  return KEYS[key_at]
end
local function arg()
  arg_at = arg_at + 1
  return ARGV[arg_at]
end
local function whole(n) return string.format('%.0f', n) end

-- fields reads a document; one that has expired is not there, even if Redis has not noticed yet.
local function fields(k)
  local doc = redis.call('HMGET', k, 'version', 'holder', 'value', 'expires')
  local ends = tonumber(doc[4] or '0')
  if not doc[1] or (ends > 0 and ends <= now) then return nil end
  return doc
end

-- version does so without the value, which may be large.
local function version(k)
  local doc = redis.call('HMGET', k, 'version', 'expires')
  local ends = tonumber(doc[2] or '0')
  if not doc[1] or (ends > 0 and ends <= now) then return '0' end
  return doc[1]
end

local function expire(k, after)
  if after == 0 then return redis.call('PERSIST', k) end
  redis.call('PEXPIREAT', k, whole(now + after))
end

local sums = {} -- counters by key, and whether they are new

local conditions = {
  fence = function()
    local k, v, holder = key(), arg(), arg()
    local doc = fields(k)
    if not doc or doc[1] ~= v or doc[2] ~= holder then return {'fenced', k} end
  end,
  expect = function()
    local k = key()
    if version(k) ~= arg() then return {'conflict', k} end
  end,
  count = function()
    local k, delta = key(), tonumber(arg())
    local doc = fields(k)
    local value = doc and doc[3] or '0'
    if not value:match('^%-?%d+$') then return {'number', k} end
    local sum = tonumber(value) + delta
    if math.abs(sum) > 9007199254740991 then return {'large', k} end
    sums[k] = {value = whole(sum), new = not doc}
  end,
}

local result_version
local counters, positions = {}, {}
local function next_number() return whole(redis.call('INCR', KEYS[1])) end

local writes = {
  put = function()
    local k, value, after, holder = key(), arg(), tonumber(arg()), arg()
    local ends = after == 0 and '0' or whole(now + after)
    redis.call('HSET', k, 'value', value, 'version', result_version, 'holder', holder, 'expires', ends)
    expire(k, after)
  end,
  delete = function() redis.call('DEL', key()) end,
  insert = function()
    local k, score, member = key(), arg(), arg()
    if arg() == '1' then score = string.format('%.17g', now + tonumber(score)) end
    redis.call('ZADD', k, score, member)
  end,
  remove = function() redis.call('ZREM', key(), arg()) end,
  add = function()
    local k, _, after = key(), arg(), tonumber(arg())
    local sum = sums[k]
    counters[#counters + 1] = sum.value
    redis.call('HSET', k, 'value', sum.value, 'version', result_version)
    if sum.new then
      redis.call('HSET', k, 'holder', '', 'expires', after == 0 and '0' or whole(now + after))
      expire(k, after)
    end
  end,
  append = function()
    local position = next_number()
    positions[#positions + 1] = position
    redis.call('XADD', key(), position .. '-0', 'value', arg())
  end,
  trim = function()
    local k = key()
    redis.call('XTRIM', k, 'MINID', arg() .. '-0')
    if redis.call('XLEN', k) == 0 then redis.call('DEL', k) end
  end,
  notify = function() redis.call('PUBLISH', arg(), arg()) end,
}

local word = arg()
while conditions[word] do
  local refused = conditions[word]()
  if refused then return refused end
  word = arg()
end
result_version = next_number()
while word do
  writes[word]()
  word = arg()
end
local result = table.concat({whole(now), result_version, table.concat(counters, ','), table.concat(positions, ',')}, ' ')
redis.call('SET', KEYS[2], result, 'PX', keep)
return {'applied', result}
