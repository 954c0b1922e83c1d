package slacktest

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
)

// stored is a file that the platform holds.
type stored struct {
	File
	size    int
	shares  map[string][]wireShare
	looks   int  // how often its shares were asked for: the first time they are not there yet
	page    bool // it cannot be read: the sign-in page comes instead
	foreign string
}

type wireShare struct {
	TS string `json:"ts"`
}

type wireFile struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Type     string `json:"mimetype"`
	Size     int    `json:"size"`
	Download string `json:"url_private_download,omitempty"`
	Private  string `json:"url_private,omitempty"`
	Shares   *struct {
		Public map[string][]wireShare `json:"public"`
	} `json:"shares,omitempty"`
}

// wireFile makes the platform's form of a file; s.mu is held.
func (s *Server) wireFile(f *File) wireFile {
	at := "http://" + s.gate.Addr().String() + "/files/" + f.ID
	w := wireFile{ID: f.ID, Name: f.Name, Title: f.Name, Type: f.Type, Size: len(f.Data), Download: at, Private: at}
	if x := s.files[f.ID]; x != nil {
		if x.foreign != "" {
			w.Download, w.Private = "", x.foreign
		}
		if x.size > 0 {
			w.Size = x.size
		}
	}
	return w
}

// store keeps a file; s.mu is held.
func (s *Server) store(name, kind string, data []byte) *stored {
	f := &stored{File: File{ID: s.number("F0"), Name: name, Type: kind, Data: data}, shares: map[string][]wireShare{}}
	s.files[f.ID] = f
	return f
}

// Unreadable makes downloads of a file end in the sign-in page, as without the scope for it.
func (s *Server) Unreadable(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[file].page = true
}

// Foreign makes a file lie at an address outside of the platform.
func (s *Server) Foreign(file, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[file].foreign = address
}

// Huge makes a file have a size.
func (s *Server) Huge(file string, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[file].size = size
}

func (s *Server) beginUpload(req request) (any, *refusal) {
	if req.args["filename"] == "" || atoi(req.args["length"]) <= 0 {
		return nil, no("invalid_arguments")
	}
	f := s.store(req.args["filename"], "application/octet-stream", nil)
	return struct {
		answer
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}{answer{OK: true}, "http://" + s.gate.Addr().String() + "/upload/" + f.ID, f.ID}, nil
}

// uploaded takes the content, as a form or bare.
func (s *Server) uploaded(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	data, err := contentOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[strings.TrimPrefix(r.URL.Path, "/upload/")]
	if f == nil || err != nil {
		http.NotFound(w, r)
		return
	}
	f.Data = data
	io.WriteString(w, "OK - 1") //nolint:errcheck // the client may be gone
}

func contentOf(r *http.Request) ([]byte, error) {
	parts, err := r.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return io.ReadAll(r.Body)
	}
	for err == nil {
		var part *multipart.Part
		if part, err = parts.NextPart(); err == nil && part.FileName() != "" {
			return io.ReadAll(part)
		}
	}
	return nil, err
}

func (s *Server) completeUpload(req request) (any, *refusal) {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(req.args["files"]), &list) != nil || len(list) != 1 || s.files[list[0].ID] == nil {
		return nil, no("file_not_found")
	}
	f := s.files[list[0].ID]
	if channel := req.args["channel_id"]; channel != "" {
		r, wrong := s.reach(channel)
		if wrong != nil {
			return nil, wrong
		}
		blocks, wrong := parseBlocks(req.args["blocks"])
		if wrong != nil {
			return nil, wrong
		}
		for _, b := range blocks {
			if b.Type == "markdown" { // as the platform does, in every encoding
				return nil, no("internal_error")
			}
		}
		m := &Message{TS: s.stamp(), Thread: req.args["thread_ts"], Author: Person{ID: BotUser, Team: Team, Bot: BotID}, Blocks: blocks, File: &f.File}
		f.shares[channel] = append(f.shares[channel], wireShare{m.TS})
		s.write(r, m)
	}
	return struct {
		answer
		Files []wireFile `json:"files"`
	}{answer{OK: true}, []wireFile{s.wireFile(&f.File)}}, nil
}

func (s *Server) fileInfo(req request) (any, *refusal) {
	f := s.files[req.args["file"]]
	if f == nil {
		return nil, no("file_not_found")
	}
	w := s.wireFile(&f.File)
	w.Shares = &struct {
		Public map[string][]wireShare `json:"public"`
	}{}
	if f.looks++; f.looks > 1 {
		w.Shares.Public = f.shares
	}
	return struct {
		answer
		File wireFile `json:"file"`
	}{answer{OK: true}, w}, nil
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[strings.TrimPrefix(r.URL.Path, "/files/")]
	switch {
	case f == nil:
		http.NotFound(w, r)
	case f.page || r.Header.Get("Authorization") != "Bearer "+BotToken:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>") //nolint:errcheck // the client may be gone
	default:
		w.Header().Set("Content-Type", f.Type)
		w.Write(f.Data) //nolint:errcheck // the client may be gone
	}
}
