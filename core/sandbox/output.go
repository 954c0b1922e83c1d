package sandbox

import "io"

// recorder keeps the beginning and the end of a stream, and passes the first OutputCap bytes on.
type recorder struct {
	out        io.Writer // nil when there is none, or when it failed
	half       int
	head, tail []byte
	size, kept int64
}

func newRecorder(out io.Writer, limit int) *recorder {
	return &recorder{out: out, half: limit / 2}
}

// Write never fails: a full disk must not stop the command that is being recorded.
func (r *recorder) Write(p []byte) (int, error) {
	r.size += int64(len(p))
	r.pass(p)
	rest := p
	if room := r.half - len(r.head); room > 0 {
		n := min(room, len(rest))
		r.head = append(r.head, rest[:n]...)
		rest = rest[n:]
	}
	if len(rest) >= r.half {
		r.tail = append(r.tail[:0], rest[len(rest)-r.half:]...)
		return len(p), nil
	}
	if over := len(r.tail) + len(rest) - r.half; over > 0 {
		r.tail = append(r.tail[:0], r.tail[over:]...)
	}
	r.tail = append(r.tail, rest...)
	return len(p), nil
}

func (r *recorder) pass(p []byte) {
	room := OutputCap - r.kept
	if r.out == nil || room <= 0 {
		return
	}
	n, err := r.out.Write(p[:min(int64(len(p)), room)])
	r.kept += int64(n)
	if err != nil {
		r.out = nil
	}
}
