package bucket

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNotFound checks that an object is taken for missing only if an S3 service says so about the object: not because
// of its credentials, its bucket, or a proxy.
func TestNotFound(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	xml := func(code string) string {
		return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>x</Message></Error>`
	}
	for _, c := range []struct {
		name, body string
		want       Kind
	}{
		{"no object", xml("NoSuchKey"), NotFound},
		{"unknown key of versitygw", xml("XAdminUserNotFound"), Forbidden},
		{"no bucket", xml("NoSuchBucket"), NoBucket},
		{"something else is missing", xml("NoSuchVersion"), Refused},
		{"a proxy without a service", "default backend - 404", Unavailable},
		{"a web server", "<html><head><title>404 Not Found</title></head></html>", Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, c.body)
			}))
			defer srv.Close()
			b, err := Open("s3://logs/p", Config{S3: S3Config{Endpoint: srv.URL}})
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			_, err = b.Range(ctx, "a", Range{Length: 1})
			wantKind(t, "Range", err, c.want)
			_, err = b.Head(ctx, "a")
			wantKind(t, "Head", err, c.want)
			_, err = b.Open(ctx, "a", 0)
			wantKind(t, "Open", err, c.want)
			if err = b.Delete(ctx, "a"); c.want != NotFound || err != nil {
				wantKind(t, "Delete", err, c.want)
			}
		})
	}
}
