package redis

import "paragents/store"

// keys names everything that a deployment has in Redis. All names carry the prefix as their hash tag, so that a Cluster keeps a whole
// deployment in one slot, and one script may touch all of it.
//
//	{prefix}:counter          string  the last version or position given; for ever
//	{prefix}:batch:<id>       string  the result of an applied batch; expires after store.BatchKept, or unnamedKept
//	{prefix}:doc:<key>        hash    value, version, holder, expires (ms since the epoch, 0: never); expires as the core asks
//	{prefix}:index:<index>    zset    members and scores; the core removes entries
//	{prefix}:log:<log>        stream  one field "value", ids "<position>-0"; the core trims, an empty log is deleted
//	{prefix}:bell:<topic>     channel
type keys struct{ tag string }

func newKeys(prefix string) keys { return keys{tag: "{" + prefix + "}:"} }

func (k keys) counter() string                { return k.tag + "counter" }
func (k keys) batch(id string) string         { return k.tag + "batch:" + id }
func (k keys) doc(key store.Key) string       { return k.tag + "doc:" + string(key) }
func (k keys) index(index store.Index) string { return k.tag + "index:" + string(index) }
func (k keys) log(log store.Log) string       { return k.tag + "log:" + string(log) }
func (k keys) bell(topic store.Topic) string  { return k.tag + "bell:" + string(topic) }

// topic is the inverse of bell.
func (k keys) topic(channel string) store.Topic { return store.Topic(channel[len(k.bell("")):]) }
