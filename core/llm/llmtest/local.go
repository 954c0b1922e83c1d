package llmtest

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// Client is an HTTP client that reaches the server without a network.
func (s *Server) Client() *http.Client { return &http.Client{Transport: local{s}} }

// local carries requests to a handler in this process.
type local struct{ h http.Handler }

// RoundTrip implements http.RoundTripper.
func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	out, in := io.Pipe()
	w := &localWriter{header: http.Header{}, body: in, head: make(chan int, 1)}
	release := context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
	go func() {
		defer release()
		defer func() {
			end := error(nil)
			if p := recover(); p == http.ErrAbortHandler {
				end = io.ErrUnexpectedEOF
			} else if p != nil {
				panic(p)
			}
			w.WriteHeader(http.StatusOK)
			in.CloseWithError(end) // nil: the end of the body
		}()
		l.h.ServeHTTP(w, r)
	}()
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case status := <-w.head:
		return &http.Response{StatusCode: status, Header: w.header, Body: out, Request: r, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1}, nil
	}
}

type localWriter struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	head   chan int
}

func (w *localWriter) Header() http.Header    { return w.header }
func (w *localWriter) WriteHeader(status int) { w.once.Do(func() { w.head <- status }) }
func (w *localWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}
