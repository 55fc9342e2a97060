package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"cordwood/node/iceberg"
	"cordwood/proto/errs"
	catalog "cordwood/router/iceberg"
	"cordwood/shard/cold/bucket"
)

// brokenBucket fails to open objects.
type brokenBucket struct {
	bucket.Bucket
	err error
}

func (b *brokenBucket) Open(context.Context, string, int64) (io.ReadCloser, error) { return nil, b.err }

// TestIcebergErrorsForClients: clients of the catalog see neither the address of the service nor credentials. The log
// has them, once a minute.
func TestIcebergErrorsForClients(t *testing.T) {
	const root = "s3://logs/prod"
	cause := errors.New(`Get "http://10.0.0.7:9000/logs": check the credentials: key AKIA7 of AWS_ACCESS_KEY_ID`)
	for kind, want := range map[bucket.Kind]string{
		bucket.Unavailable: "does not answer", bucket.Forbidden: "refuses access", bucket.NoBucket: "has no bucket",
		bucket.Damaged: "returns damaged bytes of " + root + "/x.metadata.json", bucket.Refused: "the log of the server",
	} {
		log := &bytes.Buffer{}
		b := &brokenBucket{bucket.NewDir(t.TempDir()), &bucket.Error{Kind: kind, Op: "read", At: root + "/x", Err: cause}}
		s := &icebergSource{
			commits: &iceberg.Catalog{Bucket: b, Root: root}, log: slog.New(slog.NewTextHandler(log, nil)),
		}
		for range 2 {
			_, err := s.Metadata(t.Context(), catalog.Table{Location: root + "/x.metadata.json"})
			e := errs.From(err)
			if e.Code != errs.ObjectStorageUnavailable || !strings.Contains(e.Msg, want) ||
				(e.Status() == 503) != (kind == bucket.Unavailable) {
				t.Errorf("%s: %d %v", kind, e.Status(), err)
			}
			for _, secret := range []string{"10.0.0.7", "AKIA", "AWS_"} {
				if strings.Contains(e.ClientMessage(), secret) {
					t.Errorf("%s: %q has %s", kind, e.ClientMessage(), secret)
				}
			}
		}
		if n := strings.Count(log.String(), "10.0.0.7"); n != 1 {
			t.Errorf("%s: the log has the cause %d times: %s", kind, n, log)
		}
	}
}
