package state

import (
	"paragents/core"
	"paragents/store"
)

// Documents. Each line: family, owner, bound, expiry.
//
//	session/<id>     scheduler  one a session                    kept 90 days after the last change of a closed one
//	claim/<session>  scheduler  one a session that is held       deleted at release
//	prompt/<id>      scheduler  one a prompt                     with its session
//	approval/<id>    scheduler  one an approval                  with its session
//	ref/<ref>        scheduler  one a session, prompt, approval  with what it names
//	bind/<place>     bot        one a place                      with its session
//	event/<id>       bot        one an inbound event             7 days
//	album/<group>    bot        messages that become one prompt  1 day
//	button/<token>   bot        one a button                     8 days
//	sent/<message>   delivery   one a message of a session       30 days
//	card/<card>      delivery   one a card that is kept up       30 days
//	listed/<place>/  bot        the last list a person saw       1 hour
//	replica/<id>     scheduler  one a live process               the lease
//	terms/<id>       fleet      what a live process goes by      the lease
//	duty/<name>      scheduler  one a duty                       until given up
//	cursor/<adapter> bot        one an adapter                   never
//	size/<session>   scheduler  counter: bytes of a transcript   with its session
//	pieces/<session> delivery   the letter being sent            deleted when sent
//	doubt/<session>  scheduler  a letter that may be out         deleted when sent
//	rest/<place>     delivery   a chat that must not be sent to  as long as the platform said
//	rules/<owner>    scheduler  rules of a session or workspace  with its session; never for a workspace
//	access, pairings access     who may do what; open codes      never
//	pair/<code>      access     a pairing code                   1 hour
//	freeze           freeze     what is frozen                   never
//	seal             audit      the last seal                    never
//	unserved/<session> scheduler who told that nobody serves it  7 days
//	workspace/<name> workspace  which directory it is            never
//	quota/<limit>    scheduler  one a limit of a deployment      1 hour
//	claims/<name>    scheduler  one a workspace                  never; its entries with their prompts
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
func SizeKey(id core.SessionID) store.Key      { return store.Key("size/" + id) }
func PiecesKey(id core.SessionID) store.Key    { return store.Key("pieces/" + id) }
func DoubtKey(id core.SessionID) store.Key     { return store.Key("doubt/" + id) }
func RestKey(place string) store.Key           { return store.Key("rest/" + place) }
func SessionRules(id core.SessionID) store.Key { return store.Key("rules/session/" + id) }
func WorkspaceRules(name string) store.Key     { return store.Key("rules/workspace/" + name) }
func UnservedKey(id core.SessionID) store.Key  { return store.Key("unserved/" + id) }
func WorkspaceKey(name string) store.Key       { return store.Key("workspace/" + name) }
func QuotaKey(limit string) store.Key          { return store.Key("quota/" + limit) }
func ClaimsKey(workspace string) store.Key     { return store.Key("claims/" + workspace) }
func ListedKey(p core.Place, who core.Person) store.Key {
	return store.Key("listed/" + p.Key() + "/" + string(who))
}
func PairKey(code string) store.Key { return store.Key("pair/" + code) }

// Documents of which there is one: people's roles, who has a pairing code, what is frozen, and the audit log's last seal.
const (
	AccessKey   store.Key = "access"
	FreezeKey   store.Key = "freeze"
	SealKey     store.Key = "seal"
	PairingsKey store.Key = "pairings"
)

// Indexes, scored in milliseconds of the store's time.
const (
	Ready    store.Index = "ready"    // sessions that have something to do, by when they became ready
	Running  store.Index = "running"  // sessions that a replica holds, by when it took them
	Sessions store.Index = "sessions" // all sessions, by last change
	Pending  store.Index = "pending"  // approvals that wait, by when they were asked
	Due      store.Index = "due"      // what has to happen at a time: "expire/<approval>", "remind/<approval>"
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
