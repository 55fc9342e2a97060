package ingest

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/pipeline"
)

// If there are too many rejects to keep, the request fails, so that none is lost.
func TestTooManyRejects(t *testing.T) {
	text := strings.Repeat("x", 100)
	r := &rejects{batch: &Batch{}, bytes: maxRejectBytes - 1000}
	for i := range 20 {
		r.onSkip(pipeline.Reason{Index: i, Error: text})
		if err := r.done([]byte("7")); err != nil {
			if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "on_reject=drop") {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("no limit: %d rows", r.rows.Rows())
}
