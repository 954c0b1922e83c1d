package engine

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"paragents/store"
)

// schema is the number of the layout below. A file with a higher one is left alone.
const schema = 1

// The buckets of the file. Numbers are big-endian, so that they sort; a name in front of something else is preceded by its length
// (2 bytes), so that no name is the beginning of another.
var (
	bucketMeta    = []byte("meta")    // the three keys below -> number
	bucketDocs    = []byte("docs")    // key -> version, expiry (ms since the epoch, 0: never), holder, value
	bucketExpiry  = []byte("expiry")  // expiry, key -> nothing; one for each document that expires
	bucketLeases  = []byte("leases")  // key -> nothing; documents with holder and expiry that the owner of the file put itself
	bucketMembers = []byte("members") // index, member -> score
	bucketOrder   = []byte("order")   // index, score, member -> nothing
	bucketTotals  = []byte("totals")  // index -> number of its entries, when there are any
	bucketLogs    = []byte("logs")    // log, position -> value
	bucketBatches = []byte("batches") // batch id -> time of the commit, its result
	bucketAges    = []byte("ages")    // time of the commit, batch id -> nothing

	buckets = [][]byte{bucketMeta, bucketDocs, bucketExpiry, bucketLeases, bucketMembers, bucketOrder, bucketTotals, bucketLogs, bucketBatches, bucketAges}

	metaSchema   = []byte("schema")
	metaClock    = []byte("clock")    // ms since the epoch of the last commit
	metaSequence = []byte("sequence") // the last version or position that was given out
)

var errShort = errors.New("a record of the file is cut short")

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// parseNumber reads what number wrote; nothing reads as 0.
func parseNumber(b []byte) (int64, error) {
	switch len(b) {
	case 0:
		return 0, nil
	case 8:
		return int64(binary.BigEndian.Uint64(b)), nil
	}
	return 0, errShort
}

// prefixed returns the name with its length in front, and room for what follows.
func prefixed(name string, room int) []byte {
	b := make([]byte, 0, 2+len(name)+room)
	b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
	return append(b, name...)
}

// timed is the key of something that sorts by time.
func timed(ms int64, name string) []byte {
	return append(number(ms), name...)
}

func parseTimed(k []byte) (ms int64, name string, err error) {
	if len(k) < 8 {
		return 0, "", errShort
	}
	return int64(binary.BigEndian.Uint64(k)), string(k[8:]), nil
}

func memberKey(index store.Index, member string) []byte {
	return append(prefixed(string(index), len(member)), member...)
}

func orderKey(index store.Index, score float64, member string) []byte {
	b := prefixed(string(index), 8+len(member))
	b = binary.BigEndian.AppendUint64(b, sortable(score))
	return append(b, member...)
}

// parseOrder reads what follows the index in an order key.
func parseOrder(rest []byte) (store.Entry, error) {
	if len(rest) < 8 {
		return store.Entry{}, errShort
	}
	return store.Entry{Score: unsortable(binary.BigEndian.Uint64(rest)), Member: string(rest[8:])}, nil
}

func logKey(log store.Log, position int64) []byte {
	return binary.BigEndian.AppendUint64(prefixed(string(log), 8), uint64(position))
}

// sortable maps a float to bits that sort as the floats do; both zeros are one.
func sortable(f float64) uint64 {
	bits := math.Float64bits(f + 0)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func unsortable(bits uint64) float64 {
	if bits>>63 == 1 {
		return math.Float64frombits(bits &^ (1 << 63))
	}
	return math.Float64frombits(^bits)
}

// successor is the least key that is greater than all that begin with the prefix. A prefix begins with a length, which is never all ones.
func successor(prefix []byte) []byte {
	next := append([]byte(nil), prefix...)
	for i := len(next) - 1; ; i-- {
		next[i]++
		if next[i] != 0 {
			return next[:i+1]
		}
	}
}

// document is a document as stored. Value and holder may point into the file's memory map.
type document struct {
	version int64
	expires int64 // ms since the epoch, 0: never
	holder  string
	value   []byte
}

func (d document) live(now int64) bool {
	return d.version != 0 && (d.expires == 0 || d.expires > now)
}

func (d document) encode() []byte {
	b := make([]byte, 0, 18+len(d.holder)+len(d.value))
	b = binary.BigEndian.AppendUint64(b, uint64(d.version))
	b = binary.BigEndian.AppendUint64(b, uint64(d.expires))
	b = binary.BigEndian.AppendUint16(b, uint16(len(d.holder)))
	b = append(b, d.holder...)
	return append(b, d.value...)
}

// parseDocument reads what encode wrote; nil is no document.
func parseDocument(b []byte) (document, error) {
	if b == nil {
		return document{}, nil
	}
	if len(b) < 18 {
		return document{}, errShort
	}
	holder := int(binary.BigEndian.Uint16(b[16:]))
	if len(b) < 18+holder {
		return document{}, errShort
	}
	return document{
		version: int64(binary.BigEndian.Uint64(b)),
		expires: int64(binary.BigEndian.Uint64(b[8:])),
		holder:  string(b[18 : 18+holder]),
		value:   b[18+holder:],
	}, nil
}

// encodeResult writes what a repeat of a batch returns: time, version, and the counted lists.
func encodeResult(r store.Result) []byte {
	b := number(r.Time.UnixMilli())
	b = binary.AppendVarint(b, r.Version)
	for _, list := range [][]int64{r.Counters, r.Positions} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, n := range list {
			b = binary.AppendVarint(b, n)
		}
	}
	return b
}

func parseResult(b []byte) (store.Result, error) {
	if len(b) < 8 {
		return store.Result{}, errShort
	}
	r := store.Result{Time: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()}
	b = b[8:]
	var n int
	if r.Version, n = binary.Varint(b); n <= 0 {
		return store.Result{}, errShort
	}
	b = b[n:]
	for _, list := range []*[]int64{&r.Counters, &r.Positions} {
		count, n := binary.Uvarint(b)
		if n <= 0 || count > store.MaxOps {
			return store.Result{}, errShort
		}
		b = b[n:]
		for range count {
			value, n := binary.Varint(b)
			if n <= 0 {
				return store.Result{}, errShort
			}
			b = b[n:]
			*list = append(*list, value)
		}
	}
	return r, nil
}
