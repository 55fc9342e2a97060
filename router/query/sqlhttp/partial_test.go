package sqlhttp

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/proto/words"
)

// TestMissing checks that the answer names each missing shard and segment with a reason, once.
func TestMissing(t *testing.T) {
	got, err := json.Marshal(missingOf([]words.Missing{
		{Table: "public.logs", Shard: 3, Reason: "no leader"},
		{Table: "public.logs", Shard: 3, Reason: "no leader"},
		{Table: "public.logs", Segment: "7.parquet", Reason: "damaged: shard 9: away"},
		{Reason: "list running queries: node n2: no answer"},
		{Shard: 2, Reason: "its size is not known"},
		{Table: "public.logs", Reason: "2 objects"},
	}))
	want := `{"shards":[{"table":"public.logs","shard":3,"reason":"no leader"},` +
		`{"shard":2,"reason":"its size is not known"}],` +
		`"segments":[{"table":"public.logs","segment":"7.parquet","reason":"damaged: shard 9: away"}],` +
		`"other":["list running queries: node n2: no answer","public.logs: 2 objects"]}`
	if err != nil || string(got) != want {
		t.Errorf("%v, %s", err, got)
	}
}

// TestPartialHeader checks that the header is one line, names shards with the same reason together, and is not cut off
// within a part.
func TestPartialHeader(t *testing.T) {
	w := httptest.NewRecorder()
	setPartialHeader(w, []words.Missing{
		{Table: "public.logs", Shard: 2, Reason: "node n1: no answer\nnode n2: down…"},
		{Table: "public.logs", Shard: 1, Reason: "node n1: no answer\nnode n2: down…"},
	})
	if got := w.Header().Get(headerPartial); got != "public.logs: shards 1, 2: node n1: no answer node n2: down..." {
		t.Error(got)
	}
	var long []words.Missing
	for i := range uint32(100) {
		long = append(long, words.Missing{
			Table: "public.logs", Shard: i + 1, Reason: fmt.Sprint(i, strings.Repeat("x", 100)),
		})
	}
	setPartialHeader(w, long)
	if got := w.Header().Get(headerPartial); len(got) > maxPartialHeader || !strings.HasSuffix(got, "x; and 68 more") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-50:])
	}
}
