package state

import (
	"paragents/core"
	"paragents/store"
)

// Documents. docs/store.md says of each family whose it is, how many there can be, and when it goes.
func SessionKey(id core.SessionID) store.Key   { return store.Key("session/" + id) }
func ClaimKey(id core.SessionID) store.Key     { return store.Key("claim/" + id) }
func PromptKey(id core.PromptID) store.Key     { return store.Key("prompt/" + id) }
func ApprovalKey(id core.ApprovalID) store.Key { return store.Key("approval/" + id) }
func RefKey(ref core.Ref) store.Key            { return store.Key("ref/" + ref) }
func BindKey(p core.Place) store.Key           { return store.Key("bind/" + p.Key()) }
func EventKey(id string) store.Key             { return store.Key("event/" + id) }
func AlbumKey(group string) store.Key          { return store.Key("album/" + group) }
func ButtonKey(token string) store.Key         { return store.Key("button/" + token) }
func SentKey(p core.Place, message string) store.Key {
	return store.Key("sent/" + p.Key() + "/" + message)
}
func CardKey(card string) store.Key            { return store.Key("card/" + card) }
func ReplicaKey(id core.ReplicaID) store.Key   { return store.Key("replica/" + id) }
func TermsKey(id core.ReplicaID) store.Key     { return store.Key("terms/" + id) }
func DutyKey(name string) store.Key            { return store.Key("duty/" + name) }
func CursorKey(adapter string) store.Key       { return store.Key("cursor/" + adapter) }
func HeardKey(platform string) store.Key       { return store.Key("heard/" + platform) }
func SizeKey(id core.SessionID) store.Key      { return store.Key("size/" + id) }
func PiecesKey(id core.SessionID) store.Key    { return store.Key("pieces/" + id) }
func DoubtKey(id core.SessionID) store.Key     { return store.Key("doubt/" + id) }
func RestKey(place string) store.Key           { return store.Key("rest/" + place) }
func SessionRules(id core.SessionID) store.Key { return store.Key("rules/session/" + id) }
func WorkspaceRules(name string) store.Key     { return store.Key("rules/workspace/" + name) }
func UnservedKey(id core.SessionID) store.Key  { return store.Key("unserved/" + id) }
func WorkspaceKey(name string) store.Key       { return store.Key("workspace/" + name) }
func QuotaKey(limit string) store.Key          { return store.Key("quota/" + limit) }
func OfferedKey(workspace string) store.Key    { return store.Key("offered/" + workspace) }
func ClaimsKey(workspace string) store.Key     { return store.Key("claims/" + workspace) }
func ListedKey(p core.Place, who core.Person) store.Key {
	return store.Key("listed/" + p.Key() + "/" + string(who))
}
func PairKey(code string) store.Key      { return store.Key("pair/" + code) }
func InviteKey(code string) store.Key    { return store.Key("invite/" + code) }
func AskedKey(who core.Person) store.Key { return store.Key("asked/" + who) }

// Documents of which there is one: people's roles, who has a pairing code, what is frozen, the audit log's last seal, and how far it was handed to a sink.
const (
	AccessKey   store.Key = "access"
	FreezeKey   store.Key = "freeze"
	SealKey     store.Key = "seal"
	FedKey      store.Key = "fed"
	PairingsKey store.Key = "pairings"
)

// Indexes, scored in milliseconds of the store's time.
const (
	Ready    store.Index = "ready"    // sessions that have something to do, by when they became ready
	Running  store.Index = "running"  // sessions that a replica holds, by when it took them
	Sessions store.Index = "sessions" // all sessions, by last change
	Pending  store.Index = "pending"  // approvals that wait, by when they were asked
	Due      store.Index = "due"      // what has to happen at a time: an approval expires or is asked again, an album is complete
	Replicas store.Index = "replicas" // live and recently dead replicas, by last sign of life
	Duties   store.Index = "duties"   // duties that a replica has, by when it took them
	GC       store.Index = "gc"       // closed sessions, by when they may go
	Waiters  store.Index = "waiters"  // blocked prompts that go on when others are done, by when they began to wait
)

// ByPerson holds a person's sessions, by last change.
func ByPerson(p core.Person) store.Index { return store.Index("by-person/" + p) }

// ByPlace holds a place's sessions, by last change.
func ByPlace(p core.Place) store.Index { return store.Index("by-place/" + p.Key()) }

// ByWorkspace holds the sessions of a workspace that a replica holds now: the quota of a workspace is counted from it.
func ByWorkspace(name string) store.Index { return store.Index("by-workspace/" + name) }

// ByAuthor holds the sessions in which a person's prompt runs now: the quota of a person is counted from it.
func ByAuthor(p core.Person) store.Index { return store.Index("by-author/" + p) }

// Belongs holds the keys of the documents that go with a session when it is forgotten: its prompts, approvals and refs.
func Belongs(id core.SessionID) store.Index { return store.Index("belongs/" + id) }

// Logs. The audit log and its seals are kept 400 days.
const (
	Audit store.Log = "audit"
	Seals store.Log = "seals"
)

// Transcript is a session's log of core.Record, kept with it.
func Transcript(id core.SessionID) store.Log { return store.Log("transcript/" + id) }

// Lane is a session's outbox of core.Letter; trimmed as letters are sent.
func Lane(id core.SessionID) store.Log { return store.Log("lane/" + id) }

// Bells.
const (
	BellReady    store.Topic = "ready"    // something became ready; payload: the session
	BellOrder    store.Topic = "order"    // a prompt has a new order; payload: the prompt
	BellFreeze   store.Topic = "freeze"   // something was frozen or thawed
	BellReplicas store.Topic = "replicas" // a process came or went
	BellProgress store.Topic = "progress" // payload: a core.Event
)
