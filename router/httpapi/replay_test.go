package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/replayapi"
	"cordwood/router/replay"
)

// replayServer stores rejects like a server: it notes the records that it has stored, recognises keys, and fails when
// a test wants it to.
type replayServer struct {
	t       *testing.T
	mu      sync.Mutex
	rejects []string // rows of svc_private.rejects
	noted   []string // ids
	keys    map[string]string
	stored  []string // records, once for each time that they were stored
	posts   []string
	// kill reports whether to kill the command after the records of this request are stored and before they are
	// noted.
	kill func(post int) bool
	// sent is called for every request.
	sent func(key string, ids []string)
}

func newReplayServer(t *testing.T, rejects ...string) *replayServer {
	return &replayServer{t: t, rejects: rejects, keys: map[string]string{}}
}

// ServeHTTP answers requests of a replay.
func (s *replayServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	kept := httptest.NewRecorder() // the answer may not be read before other requests are answered
	defer func() {
		s.mu.Unlock()
		w.WriteHeader(kept.Code)
		_, _ = w.Write(kept.Body.Bytes())
	}()
	switch {
	case r.URL.Path == "/v1/sql" && strings.HasPrefix(string(body), "SELECT count"):
		fmt.Fprintf(kept, "{\"n\":%d}\n", len(s.rejects))
	case r.URL.Path == "/v1/sql" && strings.Contains(string(body), "svc_private.replayed"):
		_, only, some := strings.Cut(string(body), " WHERE id IN ")
		for _, id := range s.noted {
			if !some || strings.Contains(only, "'"+id+"'") {
				fmt.Fprintf(kept, "{\"id\":%q}\n", id)
			}
		}
	case r.URL.Path == "/v1/sql":
		for _, row := range s.rejects {
			fmt.Fprintln(kept, row)
		}
	default:
		s.ingest(s.t, kept, r, string(body))
	}
}

// replay runs a replay of the rejects.
func (s *replayServer) replay(req replay.Request) (replay.End, error) {
	outer := httptest.NewRequest(http.MethodPost, "/v1/rejects/replay", http.NoBody)
	return replay.NewJob(&req, replayapi.NewBackend(s, outer), nil).Run(s.t.Context())
}

func (s *replayServer) ingest(t *testing.T, w http.ResponseWriter, r *http.Request, body string) {
	s.posts = append(s.posts, fmt.Sprintf("%s %s %q", r.URL.RawQuery, r.Header.Get("Content-Type"), body))
	key, ids := r.Header.Get("Idempotency-Key"), strings.Split(r.Header.Get("X-Svc-Replayed"), ",")
	records := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if key == "" || len(ids) != len(records) {
		t.Errorf("key %q, %d ids for %d records", key, len(ids), len(records))
	}
	if s.sent != nil {
		s.sent(key, ids)
	}
	if old, found := s.keys[key]; found && old != body {
		t.Errorf("the key %s was used for another body", key)
	}
	_, again := s.keys[key]
	s.keys[key] = body
	killed := s.kill != nil && s.kill(len(s.posts))
	bad := 0
	for i, record := range records {
		if strings.Contains(record, "oops") {
			bad++
			continue
		}
		if !again {
			s.stored = append(s.stored, record)
		}
		if !killed {
			s.noted = append(s.noted, ids[i])
		}
	}
	if killed {
		w.WriteHeader(http.StatusBadRequest) // it has the same effect as killing the command
		return
	}
	fmt.Fprintf(w, `{"output":[{"affectedrows":%d}],"skipped":{"count":%d,"reasons":[{"index":0,"error":"bad"}]}}`,
		len(records)-bad, bad)
}

func reject(at, table, format, record string) string {
	return fmt.Sprintf(`{"rejected_at":%q,"table_schema":"public","table_name":%q,"pipeline":"edge",`+
		`"pipeline_version":"v","custom_time_index":null,"record_index":0,"kind":"type","error":"e","format":%q,"record":%q}`,
		at, table, format, record)
}

// TestReplay sends kept records in separate requests, each of them once.
func TestReplay(t *testing.T) {
	s := newReplayServer(t,
		// two identical records
		reject("2024-07-04T08:31:00Z", "a", "json", "{\n \"k\": 1 }"),
		reject("2024-07-04T08:31:00Z", "a", "json", "{\n \"k\": 1 }"),
		reject("2024-07-04T08:31:00.000000001Z", "a", "json", "{oops\n}"),
		reject("2024-07-04T08:31:01Z", "a", "text", "a line"),
		reject("2024-07-04T08:31:02.123456789Z", "b", "text", "x"), reject("2024-07-04T08:31:03Z", "b", "text", " "),
	)
	req := replay.Request{Pipeline: "edge", ToPipeline: "new", ToDB: "d", ToTable: "new"}
	end, err := s.replay(req)
	if err != nil || end.Stored != 4 || end.Rows != 4 || end.Failed != 2 || end.Until.Format("15:04:05") != "08:31:03" {
		t.Errorf("%+v, %v", end, err)
	}
	const to = `db=d&on_reject=drop&pipeline_name=new&skip_error=true&table=new `
	want := []string{
		to + `application/x-ndjson "{\"k\":1}\n"`, to + `application/x-ndjson "{\"k\":1}\n"`,
		to + `application/x-ndjson "{oops }\n"`,
		to + `text/plain "a line\n"`, to + `text/plain "x\n"`,
	}
	slices.Sort(s.posts)
	if diff := cmp.Diff(want, s.posts); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if end, _ := s.replay(req); len(s.stored) != 4 || end.Before != 4 || end.Failed != 2 {
		t.Errorf("the second time: %+v, stored %q", end, s.stored)
	}
	req.Again = true
	if end, _ := s.replay(req); len(s.stored) != 8 || end.Before != 0 {
		t.Errorf("again: %+v, stored %q", end, s.stored)
	}
}

// replayRecords is the number of records in a chunk.
const replayRecords = 400

// TestReplayAfterAKill repeats a replay that was killed after it had stored records and before it noted them. The
// same requests use the same keys, even after other records failed, and also with --since.
func TestReplayAfterAKill(t *testing.T) {
	var rejects []string
	for i := range 3000 {
		record := fmt.Sprintf(`{"i":%d}`, i)
		if i%50 == 7 {
			record = fmt.Sprintf(`{oops %d`, i)
		}
		rejects = append(rejects, reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), fmt.Sprint("t", i%2),
			"json", record))
	}
	s := newReplayServer(t, rejects...)
	s.kill = func(post int) bool { return post%40 == 0 }
	kills := 0
	for ; kills < 100; kills++ {
		if _, err := s.replay(replay.Request{}); err == nil {
			break
		}
		s.posts = s.posts[:0]
		if kills > 20 {
			s.kill = nil // records that fail are sent in each run, so each run would be killed
		}
	}
	if len(s.stored) != 2940 || kills < 10 {
		t.Errorf("%d records are stored after %d kills, want 2940", len(s.stored), kills)
	}
}

// TestReplayKeys checks that each record has one key, and each key belongs to one record, regardless of rejects that
// were added since an earlier run, and of rejects that the runs skip. A run does not see the records that other runs
// stored, as if all ran at the same time or were killed.
func TestReplayKeys(t *testing.T) {
	row := func(i int) string {
		return reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), fmt.Sprint("t", i%2), "json",
			fmt.Sprintf(`{"i":%d}`, i))
	}
	for _, tt := range []struct {
		name string
		runs []int // number of rejects at the time of each run
		args []replay.Request
	}{
		{"one more each time", []int{1, 2, 3, 4, 5}, nil},
		{"after a full chunk", []int{replayRecords, replayRecords + 1}, nil},
		{"many more", []int{30, 500, 1300}, nil},
		{"none", []int{700, 700}, nil},
		{"a part of them", []int{900, 901, 902}, []replay.Request{{}, {Limit: 17}, {Limit: 500}}},
		{"another pipeline", []int{90, 91}, []replay.Request{{}, {ToPipeline: "mended"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newReplayServer(t)
			keys, ids := map[string]string{}, map[string]string{} // keys by id, ids by key
			s.sent = func(key string, records []string) {
				if old, found := ids[key]; found && old != strings.Join(records, ",") {
					t.Errorf("the key %s is used for %s and for %s", key, old, records)
				}
				ids[key] = strings.Join(records, ",")
				for _, id := range records {
					if old, found := keys[id]; found && old != key {
						t.Errorf("the record %s has two keys", id)
					}
					keys[id] = key
				}
			}
			for i, n := range tt.runs {
				for len(s.rejects) < n {
					s.rejects = append(s.rejects, row(len(s.rejects)))
				}
				req := replay.Request{}
				if tt.args != nil {
					req = tt.args[i]
				}
				s.noted = nil
				if _, err := s.replay(req); err != nil {
					t.Fatal(err)
				}
			}
			if most := tt.runs[len(tt.runs)-1]; len(s.stored) != len(keys) || tt.args == nil && len(keys) != most {
				t.Errorf("%d records are stored %d times in all", len(keys), len(s.stored))
			}
		})
	}
}

// TestReplayLooksAgain checks that records that another run noted after this run started are not sent.
func TestReplayLooksAgain(t *testing.T) {
	var rejects []string
	for i := range 2 * replayRecords {
		rejects = append(rejects, reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), "t", "json",
			fmt.Sprintf(`{"i":%d}`, i)))
	}
	first := newReplayServer(t, rejects...)
	if _, err := first.replay(replay.Request{}); err != nil {
		t.Fatal(err)
	}
	s := newReplayServer(t, rejects...)
	s.sent = func(string, []string) {
		if s.noted == nil {
			s.noted = slices.Clone(first.noted) // the keys have already expired
		}
	}
	end, err := s.replay(replay.Request{})
	if err != nil || len(s.posts) != replayRecords || end.Before != replayRecords {
		t.Errorf("%d records were sent, want the first %d: %+v, %v", len(s.posts), replayRecords, end, err)
	}
}

// The answer reports the progress of a replay. A request that is refused before it starts gets an error.
func TestReplayAnswer(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.SQL = http.NotFoundHandler() })
	w := f.call(http.MethodPost, "/v1/rejects/replay", `{"kind":"nope"}`)
	checkError(t, w, http.StatusBadRequest, errs.InvalidArguments)
	w = f.call(http.MethodPost, "/v1/rejects/replay", `{"nope":1}`)
	checkError(t, w, http.StatusBadRequest, errs.InvalidArguments)
	w = f.call(http.MethodPost, "/v1/rejects/replay", `{"pipeline":"`+strings.Repeat("x", 64<<10)+`"}`)
	checkError(t, w, http.StatusRequestEntityTooLarge, errs.InvalidArguments)

	kept := newReplayServer(t, reject("2024-07-04T08:31:00Z", "a", "json", "{}"))
	f = newPipelineFixture(t, func(c *Config) { c.SQL = kept })
	w = f.call(http.MethodPost, "/v1/rejects/replay", `{"to_pipeline":"svc_identity"}`)
	got := w.Body.String()
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-ndjson" ||
		!strings.Contains(got, `"stored":1,"rows":1,`) || !strings.Contains(got, `"end":true,"until":"2024-`) {
		t.Errorf("%d %s", w.Code, got)
	}
	w = f.call(http.MethodPost, "/v1/rejects/replay", `{"dry_run":true}`)
	got = w.Body.String()
	if !strings.Contains(got, `"failed":1,`) || !strings.Contains(got, `Pipeline not found, name: edge`) {
		t.Errorf("tried through a pipeline that does not exist: %s", got)
	}
}
