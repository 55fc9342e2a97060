package pipeline

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/replay"
)

func reject(at, record string) string {
	return fmt.Sprintf(`{"rejected_at":%q,"table_schema":"public","table_name":"a","pipeline":"edge",`+
		`"pipeline_version":"v","custom_time_index":null,"record_index":0,"kind":"type","error":"e","format":"json",`+
		`"record":%q}`, at, record)
}

// TestReplay checks that the command requests a replay from the server, and prints the result.
func TestReplay(t *testing.T) {
	const end = `{"done":6,"of":6,"stored":4,"rows":4,"failed":2,"before":1,"reasons":[{"reason":"bad","count":2}],` +
		`"end":true,"until":"2024-07-04T08:31:03Z"}`
	for _, tt := range []struct {
		name, args, answer string
		request            string // the request to the server
		out, errOut        string
		status             int // of the command
	}{
		{
			name:   "some fail again",
			args:   "--pipeline edge --to new --to-table d.new --limit 7 --again --on-reject store",
			answer: `{"done":1,"of":6,"stored":1,"rows":1,"failed":0,"before":0,"reasons":[]}` + "\n" + end,
			request: `{"pipeline":"edge","to_pipeline":"new","to_db":"d","to_table":"new","limit":7,"again":true,` +
				`"on_reject":"store"}`,
			out: "6 records sent again: 4 rows written, 2 failed again; 1 were stored by an earlier run; " +
				"next time: --since '2024-07-04 07:31:03'\n",
			errOut: "failed again: bad (2 records)\n", status: cli.ExitFailed,
		},
		{
			name:    "none",
			answer:  `{"done":0,"of":0,"stored":0,"rows":0,"failed":0,"before":0,"reasons":[],"end":true,"until":null}`,
			request: `{"on_reject":"drop"}`, out: "0 records sent again: 0 rows written, 0 failed again\n",
		},
		{
			name: "it ends early", answer: `{"stored":1,"rows":1,"failed":0,"reasons":[],"end":true,"error":"the disk is full"}`,
			request: `{"on_reject":"drop"}`, out: "1 record sent again: 1 row written, 0 failed again\n", status: cli.ExitFailed,
		},
		{
			name: "it breaks off", answer: `{"stored":1,"rows":1,"failed":0,"reasons":[]}`, request: `{"on_reject":"drop"}`,
			out: "1 record sent again: 1 row written, 0 failed again\n", status: cli.ExitFailed,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); r.URL.Path != "/v1/rejects/replay" || string(body) != tt.request {
					t.Errorf("%s is asked for %s, want %s", r.URL.Path, body, tt.request)
				}
				fmt.Fprintln(w, tt.answer)
			}))
			defer s.Close()
			args := append([]string{"pipeline", "replay-rejects"}, strings.Fields(tt.args)...)
			out, errOut, err := against(t, s.URL, "", args...)
			if out != tt.out || !strings.HasPrefix(errOut, tt.errOut) || cli.ExitStatus(err) != tt.status {
				t.Errorf("%q, %q, %v", out, errOut, err)
			}
		})
	}
}

// TestListRejects checks that the list has the records that no replay stored.
func TestListRejects(t *testing.T) {
	noted := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "svc_private.replayed") {
			fmt.Fprint(w, noted)
			return
		}
		for i := range 6 {
			fmt.Fprintln(w, reject(fmt.Sprintf("2024-07-04T08:31:%02dZ", i), fmt.Sprintf(`{"n":%d}`, i)))
		}
	}))
	defer s.Close()
	list := func(args ...string) []string {
		out, _, err := against(t, s.URL, "", append([]string{"pipeline", "replay-rejects", "--list"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	if got := list(); len(got) != 6 {
		t.Errorf("all: %q", got)
	}
	noted = `{"id":"` + idOfThird(t) + `"}` + "\n"
	if got := list(); len(got) != 5 || strings.Contains(strings.Join(got, ""), `{\"n\":2}`) {
		t.Errorf("without what is stored: %q", got)
	}
	if got := list("--again", "--limit", "5"); len(got) != 5 {
		t.Errorf("five of all: %q", got)
	}
}

// idOfThird returns the id under which a replay records the third record.
func idOfThird(t *testing.T) string {
	var ids replay.IDs
	var r replay.Reject
	if err := json.Unmarshal([]byte(reject("2024-07-04T08:31:02Z", `{"n":2}`)), &r); err != nil {
		t.Fatal(err)
	}
	return ids.Of(&r)
}

// TestReplayHints checks the hint for a name that no rejected record has: it may be mistyped.
func TestReplayHints(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, _ := io.ReadAll(r.Body); {
		case r.URL.Path == "/v1/rejects/replay":
			_, _ = io.WriteString(w, `{"end":true}`)
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
		"--table acess":        "hint: --table acess: no rejected record of it is stored: did you mean \"access\"?\n",
		"--table other --list": "hint: --table other: no rejected record of it is stored; there are access, app\n",
		"--db public --pipeline ngnix": "hint: --pipeline ngnix: no rejected record of it is stored: did you mean " +
			"\"nginx\"?\n",
		"--pipeline fixed": "hint: --pipeline fixed: no rejected record of it is stored; there are nginx; " +
			"to send records of those through fixed, use --to fixed\n",
		"--table acess --count": "hint: --table acess: no rejected record of it is stored: did you mean " +
			"\"access\"?\n",
		"--table app --since 2024-01-01": "",
	} {
		_, errOut, err := against(t, s.URL, "", append([]string{"pipeline", "replay-rejects"}, strings.Fields(args)...)...)
		if err != nil || errOut != want {
			t.Errorf("%s: %q, %v, want %q", args, errOut, err, want)
		}
	}
}

// TestReplayWithoutTable checks that there are no rejects if their table does not exist.
func TestReplayWithoutTable(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":4001,"error":"no such table"}`)
	}))
	defer s.Close()
	if out, _, err := against(t, s.URL, "", "pipeline", "replay-rejects", "--count"); err != nil ||
		out != "no rejected records are stored\n" {
		t.Errorf("%q, %v", out, err)
	}
}
