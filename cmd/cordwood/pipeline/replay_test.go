package pipeline

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

	"cordwood/cmd/cordwood/cli"
)

func TestReplayWhere(t *testing.T) {
	for _, tt := range []struct {
		o    replayOptions
		want string // "" for a usage error
	}{
		{replayOptions{}, "true"},
		{
			replayOptions{pipeline: "it's", table: "t", db: "d", kind: "type"},
			"true AND pipeline = 'it''s' AND table_schema = 'd' AND table_name = 't' AND kind = 'type'",
		},
		{
			replayOptions{since: "2024-07-04 08:31", until: "2024-07-04T10:31:00.5+02:00"},
			"true AND rejected_at >= TIMESTAMP_NS '2024-07-04 08:31:00.000000000' AND rejected_at < TIMESTAMP_NS '2024-07-04 " +
				"08:31:00.500000000'",
		},
		{replayOptions{since: "yesterday'"}, ""},
	} {
		got, err := tt.o.where()
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %q, %v, want %q", tt.o, got, err, tt.want)
		}
	}
}

// replayServer keeps rejects as a server does. It notes those that it stored, knows keys, and fails if a test says so.
type replayServer struct {
	*httptest.Server
	mu      sync.Mutex
	rejects []string // rows of svc_private.rejects
	noted   []string // ids
	keys    map[string]string
	stored  []string // records, as often as they were stored
	posts   []string
	// kill reports whether the command is killed when the records of this post are stored, and
	// not noted yet.
	kill func(post int) bool
	// sent is told of every request.
	sent func(key string, ids []string)
}

func newReplayServer(t *testing.T, rejects ...string) *replayServer {
	s := &replayServer{rejects: rejects, keys: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.URL.Path == "/v1/sql" && strings.Contains(string(body), "svc_private.replayed"):
			_, only, some := strings.Cut(string(body), " WHERE id IN ")
			for _, id := range s.noted {
				if !some || strings.Contains(only, "'"+id+"'") {
					fmt.Fprintf(w, "{\"id\":%q}\n", id)
				}
			}
		case r.URL.Path == "/v1/sql":
			for _, row := range s.rejects {
				fmt.Fprintln(w, row)
			}
		default:
			s.ingest(t, w, r, string(body))
		}
	}))
	t.Cleanup(s.Close)
	return s
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
		w.WriteHeader(http.StatusBadRequest) // as good as a command that is killed
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

// TestReplay sends kept records in requests of their own, and each of them once.
func TestReplay(t *testing.T) {
	s := newReplayServer(t,
		// alike, and two
		reject("2024-07-04T08:31:00Z", "a", "json", "{\n \"k\": 1 }"),
		reject("2024-07-04T08:31:00Z", "a", "json", "{\n \"k\": 1 }"),
		reject("2024-07-04T08:31:00.000000001Z", "a", "json", "{oops\n}"),
		reject("2024-07-04T08:31:01Z", "a", "text", "a line"),
		reject("2024-07-04T08:31:02.123456789Z", "b", "text", "x"), reject("2024-07-04T08:31:03Z", "b", "text", " "),
	)
	out, errOut, err := against(t, s.URL, "", "pipeline", "replay-rejects", "--pipeline", "edge", "--to", "new",
		"--to-table", "d.new")
	if !cli.IsSilent(err) || cli.ExitStatus(err) != cli.ExitFailed {
		t.Errorf("two records failed again: %v, want status 1", err)
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
	if out != "6 records sent again: 4 rows written, 2 failed again; next time: --since '2024-07-04 07:31:03'\n" {
		t.Errorf("output %q", out)
	}
	if errOut != "failed again: the record is empty\nfailed again: bad\n" {
		t.Errorf("error output %q", errOut)
	}
	posts := len(s.posts)
	out, _, err = against(t, s.URL, "", "pipeline", "replay-rejects", "--list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 2 ||
		!strings.Contains(lines[0], "oops") || len(s.posts) != posts {
		t.Errorf("open records: %v\n%s", err, out)
	}
	out, _, _ = against(t, s.URL, "", "pipeline", "replay-rejects", "--list", "--again", "--limit", "5")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 5 {
		t.Errorf("five of all records: %s", out)
	}
	out, _, _ = against(t, s.URL, "", "pipeline", "replay-rejects", "--to", "new", "--to-table", "d.new")
	if len(s.stored) != 4 || !strings.Contains(out,
		"2 records sent again: 0 rows written, 2 failed again; 4 were stored by an earlier run") {
		t.Errorf("the second time: %q, stored %q", out, s.stored)
	}
	if _, _, err = against(t, s.URL, "", "pipeline", "replay-rejects", "--again", "--to", "new", "--to-table",
		"d.new"); len(s.stored) != 8 {
		t.Errorf("--again: stored %q, %v", s.stored, err)
	}
}

// TestReplayAfterAKill runs the command again after it was killed between what it stored
// and the note of that: the same requests come with the same keys, also if other records
// failed again before, and with --since.
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
		_, _, err := against(t, s.URL, "", "pipeline", "replay-rejects")
		if cli.IsSilent(err) {
			break
		}
		s.posts = s.posts[:0]
		if kills > 20 {
			s.kill = nil // what fails again comes each time, and would be killed each time
		}
	}
	if len(s.stored) != 2940 || kills < 10 {
		t.Errorf("%d records are stored after %d kills, want 2940", len(s.stored), kills)
	}
}

// TestReplayKeys: a record comes under one key, and a key with one list of records, whichever
// rejects came in since an earlier run, and whichever the runs leave out. No run learns here what
// another one stored, as if all of them ran at once, or were killed.
func TestReplayKeys(t *testing.T) {
	row := func(i int) string {
		return reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), fmt.Sprint("t", i%2), "json",
			fmt.Sprintf(`{"i":%d}`, i))
	}
	for _, tt := range []struct {
		name string
		runs []int // how many rejects there are at each
		args [][]string
	}{
		{"one more each time", []int{1, 2, 3, 4, 5}, nil},
		{"after a full chunk", []int{replayRecords, replayRecords + 1}, nil},
		{"many more", []int{30, 500, 1300}, nil},
		{"none", []int{700, 700}, nil},
		{"a part of them", []int{900, 901, 902}, [][]string{nil, {"--limit", "17"}, {"--limit", "500"}}},
		{"another pipeline", []int{90, 91}, [][]string{nil, {"--to", "mended"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newReplayServer(t)
			keys, ids := map[string]string{}, map[string]string{} // by id, by key
			s.sent = func(key string, records []string) {
				if old, found := ids[key]; found && old != strings.Join(records, ",") {
					t.Errorf("the key %s stands for %s, and for %s", key, old, records)
				}
				ids[key] = strings.Join(records, ",")
				for _, id := range records {
					if old, found := keys[id]; found && old != key {
						t.Errorf("the record %s comes under two keys", id)
					}
					keys[id] = key
				}
			}
			for i, n := range tt.runs {
				for len(s.rejects) < n {
					s.rejects = append(s.rejects, row(len(s.rejects)))
				}
				args := []string{"pipeline", "replay-rejects"}
				if tt.args != nil {
					args = append(args, tt.args[i]...)
				}
				s.noted = nil
				if _, _, err := against(t, s.URL, "", args...); err != nil {
					t.Fatal(err)
				}
			}
			if most := tt.runs[len(tt.runs)-1]; len(s.stored) != len(keys) || tt.args == nil && len(keys) != most {
				t.Errorf("%d records are stored %d times in all", len(keys), len(s.stored))
			}
		})
	}
}

// TestReplayLooksAgain: what another run noted since this one began is not sent.
func TestReplayLooksAgain(t *testing.T) {
	var rejects []string
	for i := range 2 * replayRecords {
		rejects = append(rejects, reject(fmt.Sprintf("2024-07-04T08:%02d:%02dZ", i/60, i%60), "t", "json",
			fmt.Sprintf(`{"i":%d}`, i)))
	}
	first := newReplayServer(t, rejects...)
	if _, _, err := against(t, first.URL, "", "pipeline", "replay-rejects"); err != nil {
		t.Fatal(err)
	}
	s := newReplayServer(t, rejects...)
	s.sent = func(string, []string) {
		if s.noted == nil {
			s.noted = slices.Clone(first.noted) // and the keys are forgotten long since
		}
	}
	out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects")
	if err != nil || len(s.posts) != replayRecords ||
		!strings.Contains(out, fmt.Sprintf("%d were stored by an earlier run", replayRecords)) {
		t.Errorf("%d records were sent, want the first %d: %s, %v", len(s.posts), replayRecords, out, err)
	}
}

// TestReplayHints: a name of which no record is kept may be mistyped.
func TestReplayHints(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case strings.Contains(string(body), "DISTINCT table_name"):
			_, _ = io.WriteString(w, `{"n":"access"}`+"\n"+`{"n":"app"}`+"\n")
		case strings.Contains(string(body), "DISTINCT table_schema"):
			_, _ = io.WriteString(w, `{"n":"public"}`+"\n")
		case strings.Contains(string(body), "DISTINCT pipeline"):
			_, _ = io.WriteString(w, `{"n":"nginx"}`+"\n")
		}
	}))
	defer s.Close()
	for args, want := range map[string]string{
		"--table acess":        "hint: --table acess: no rejected record of it is kept: did you mean \"access\"?\n",
		"--table other --list": "hint: --table other: no rejected record of it is kept; there are access, app\n",
		"--db public --pipeline ngnix": "hint: --pipeline ngnix: no rejected record of it is kept: did you mean " +
			"\"nginx\"?\n",
		"--table acess --count":          "hint: --table acess: no rejected record of it is kept: did you mean \"access\"?\n",
		"--table app --since 2024-01-01": "",
	} {
		_, errOut, err := against(t, s.URL, "", append([]string{"pipeline", "replay-rejects"}, strings.Fields(args)...)...)
		if err != nil || errOut != want {
			t.Errorf("%s: %q, %v, want %q", args, errOut, err, want)
		}
	}
}

// Without the table there are no rejects.
func TestReplayWithoutTable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":4001,"error":"no such table"}`)
	}))
	defer s.Close()
	if out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects"); err != nil ||
		out != "0 records sent again: 0 rows written, 0 failed again\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects", "--count"); err != nil ||
		out != "no rejected records are kept\n" {
		t.Errorf("%q, %v", out, err)
	}
}
