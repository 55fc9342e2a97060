package sql

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// TestTemporaryFile: the error of a temporary file that cannot be written does not mention segments and contains no
// path.
func TestTemporaryFile(t *testing.T) {
	for _, c := range []struct {
		message string
		code    errs.Code
		says    string
	}{
		{
			`Could not write file "/data/tmp/worker-1/duckdb_temp_storage_S192K-0.tmp": No space left on device`,
			errs.RuntimeResourcesExhausted, "(No space left on device)",
		},
		{`Could not read from file "/data/1.parquet": Input/output error`, errs.StorageUnavailable, "segment"},
	} {
		err := ToClient(&EngineError{Kind: "IO", Message: c.message}, nil)
		if errs.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) ||
			c.code == errs.RuntimeResourcesExhausted && strings.Contains(err.Error(), "/data") {
			t.Errorf("%s: %v, code %d", c.message, err, errs.CodeOf(err))
		}
	}
}
