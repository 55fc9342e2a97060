package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestIcebergCatalog has a server show a table in its catalog of Iceberg, with the metadata that it stored in object
// storage.
func TestIcebergCatalog(t *testing.T) {
	n := New(t, "--shards", "1", "--object-storage-url", "file://"+t.TempDir(), "--object-storage-upload-after", "1s",
		"--object-storage-iceberg-every", "1s", "--object-storage-cache-bytes", "64MiB", "--shard-flush-age", "1s")
	n.Start()
	const tables = "/iceberg/v1/namespaces/public/tables"
	n.mustQuery(t, "CREATE TABLE plain (ts TIMESTAMP(9) TIME INDEX) WITH (append_mode='true')")
	n.mustQuery(t, "CREATE TABLE app (ts TIMESTAMP(9) TIME INDEX, n BIGINT) WITH (append_mode='true', iceberg='v2')")
	n.mustQuery(t, fmt.Sprintf("INSERT INTO app VALUES (%d, 1), (%d, 2)", time.Now().UnixNano(), time.Now().UnixNano()))
	var answer struct {
		Location string `json:"metadata-location"`
		Metadata json.RawMessage
	}
	Eventually(t, 2*time.Minute, func() error {
		a, err := n.Do("GET", tables+"/app", nil)
		switch {
		case err != nil:
			return err
		case a.Status != 200:
			return fmt.Errorf("%d %s", a.Status, a.Body)
		case !bytes.Contains(a.Body, []byte(`"total-records":"2"`)):
			return fmt.Errorf("no commit with two rows: %s", a.Body)
		}
		return json.Unmarshal(a.Body, &answer)
	})
	file, err := os.ReadFile(strings.TrimPrefix(answer.Location, "file://"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	if json.Compact(&got, answer.Metadata) != nil || json.Compact(&want, file) != nil || got.String() != want.String() {
		t.Errorf("metadata %s, the file has %s", &got, &want)
	}
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/iceberg/v1/config", 200, `"GET /v1/{prefix}/namespaces"`},
		{"GET", "/iceberg/v1/namespaces", 200, `{"namespaces":[["public"]],"next-page-token":null}`},
		{"GET", tables, 200, `{"identifiers":[{"namespace":["public"],"name":"app"}],"next-page-token":null}`},
		{"GET", tables + "/plain", 404, "has no option iceberg"},
		{"GET", tables + "/nope", 404, "NoSuchTableException"},
		{"GET", "/iceberg/v1/namespaces/nope/tables", 404, "NoSuchNamespaceException"},
		{"DELETE", tables + "/app", 406, "UnsupportedOperationException"},
	} {
		a, err := n.Do(c.method, c.path, nil)
		if err != nil || a.Status != c.status || !strings.Contains(string(a.Body), c.want) {
			t.Errorf("%s %s: %v %v", c.method, c.path, a, err)
		}
	}
}
