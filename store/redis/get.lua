#!lua flags=no-writes
-- Reads documents, all at one moment.
-- KEYS: 1 any key of the deployment, which chooses the node; then the documents
-- ARGV: none
-- Returns the time in milliseconds, then for each document false or {value, version, holder}.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local result = {now}
for i = 2, #KEYS do
  local doc = redis.call('HMGET', KEYS[i], 'value', 'version', 'holder', 'expires')
  local ends = tonumber(doc[4] or '0')
  -- Redis itself looks at the clock when a script begins; the answer must agree with the time that it gives.
  if doc[2] and (ends == 0 or now < ends) then
    result[i] = {doc[1], doc[2], doc[3]}
  else
    result[i] = false
  end
end
return result
