package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

// FileSink appends lines to a file, which only its owner may read, and returns when they are on the disk. It is opened anew each time, so that it may be rotated.
func FileSink(path string) Sink {
	return func(_ context.Context, lines []byte) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("open the audit file: %w", err)
		}
		_, err = f.Write(lines)
		if err == nil {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write the audit file: %w", err)
		}
		return nil
	}
}

// maxAnswer is how much of an answer is read, so that the connection can be used again.
const maxAnswer = 64 << 10

// HTTPSink posts lines to an address as application/x-ndjson, with a bearer token unless it is empty. Any answer but 2xx is an error; redirections are not followed, so that the
// token goes nowhere else.
func HTTPSink(client *http.Client, address, token string) Sink {
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(ctx context.Context, lines []byte) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(lines))
		if err != nil {
			return fmt.Errorf("post audit entries: %w", err)
		}
		req.Header.Set("Content-Type", "application/x-ndjson")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := own.Do(req)
		if err != nil {
			if u := (*url.Error)(nil); errors.As(err, &u) {
				err = u.Err // without the address, in which there may be a secret
			}
			return fmt.Errorf("post audit entries: %w", err)
		}
		defer resp.Body.Close()
		_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("post audit entries: the sink answers %s", resp.Status)
		}
		return nil
	}
}
