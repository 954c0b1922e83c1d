package telegramtest

import (
	"fmt"
	"net/http"
)

// Upload is a file on its way. Kind is document (default), photo, voice or video; Size overrides what the platform says of the size.
type Upload struct {
	Name string
	Type string
	Kind string
	Data []byte
	Size int64
}

func (s *Server) storeLocked(f Upload) string {
	s.nextFile++
	id := fmt.Sprintf("FILE%04d", s.nextFile)
	if f.Size == 0 {
		f.Size = int64(len(f.Data))
	}
	s.files[id] = &storedFile{Upload: f, path: fmt.Sprintf("documents/file_%d", s.nextFile)}
	return id
}

type storedFile struct {
	Upload
	path string
}

type fileInfo struct {
	ID     string `json:"file_id"`
	Unique string `json:"file_unique_id"`
	Size   int64  `json:"file_size"`
	Path   string `json:"file_path"`
}

func (s *Server) getFile(r request) (any, *refusal) {
	id := r.params["file_id"]
	f := s.files[id]
	switch {
	case f == nil:
		return nil, bad("invalid file_id")
	case f.Size > 20<<20:
		return nil, bad("file is too big")
	}
	return fileInfo{id, "u" + id, f.Size, f.path}, nil
}

func (s *Server) download(w http.ResponseWriter, path string) {
	s.mu.Lock()
	var data []byte
	found := false
	for _, f := range s.files {
		if f.path == path {
			data, found = f.Data, true
		}
	}
	s.mu.Unlock()
	if !found {
		answer(w, nil, &refusal{code: 404, text: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(data) //nolint:errcheck // the client may be gone
}
