package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node/config"
)

// TestShellCompletion runs the hidden command that the completion scripts of shells run.
func TestShellCompletion(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch sql := string(body); {
		case r.URL.Path == "/v1/pipelines":
			_, _ = io.WriteString(w, `{"pipelines":[{"name":"nginx","versions":[{"version":"2026-07-04 08:31:00.5"},`+
				`{"version":"2026-07-04 08:30:00"}]}`)
			if r.URL.Query().Get("name") == "" {
				_, _ = io.WriteString(w, `,{"name":"syslog"}`)
			}
			_, _ = io.WriteString(w, `]}`)
		case strings.Contains(sql, "schemata"):
			_, _ = io.WriteString(w, `{"n":"public"}`+"\n"+`{"n":"shop"}`+"\n")
		case strings.Contains(sql, "table_schema = 'shop'"):
			_, _ = io.WriteString(w, `{"n":"carts"}`+"\n")
		case strings.Contains(sql, "tables"):
			_, _ = io.WriteString(w, `{"n":"access"}`+"\n"+`{"n":"app"}`+"\n")
		case strings.Contains(sql, "cluster_nodes"):
			_, _ = io.WriteString(w, `{"n":"n1"}`+"\n"+`{"n":"n2"}`+"\n")
		case strings.Contains(sql, "operations") && strings.Contains(sql, "running"):
			_, _ = io.WriteString(w, `{"n":12}`+"\n")
		case strings.Contains(sql, "operations"):
			_, _ = io.WriteString(w, `{"n":12}`+"\n"+`{"n":11}`+"\n")
		case strings.Contains(sql, "shards"):
			_, _ = io.WriteString(w, `{"n":1}`+"\n"+`{"n":2}`+"\n")
		}
	}))
	defer s.Close()
	data := t.TempDir()
	for _, folder := range []string{"1", "12", "12.incarnation-2", "other"} {
		if err := os.MkdirAll(filepath.Join(data, "shards", folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]string{
		"tail ":                     "access app",
		"tail a":                    "access app",
		"tail --db shop ":           "carts",
		"tail --db ":                "public shop",
		"table show ap":             "app",
		"table set access t":        "ttl=",
		"table set access ttl=1d m": "max_size= merge_mode=last_row merge_mode=last_non_null message_column=",
		"table set access on_type_conflict": "on_type_conflict=widen on_type_conflict=error on_type_conflict=cast " +
			"on_type_conflict=aside",
		"table set access part":                              "partitions=auto partitions=",
		"table unset access ttl s":                           "skip_wal sst_format",
		"ingest --hint app":                                  "append_mode=true append_mode=false",
		"ingest --hint au":                                   "auto_create_table=true auto_create_table=false",
		"ingest --pipeline nginx --pipeline-version ":        "2026-07-04T08:31:00.5 2026-07-04T08:30:00",
		"pipeline get nginx --version ":                      "2026-07-04T08:31:00.5 2026-07-04T08:30:00",
		"pipeline rollback nginx --version 2026-07-04T08:30": "2026-07-04T08:30:00",
		"pipeline rollback nginx 2026-07-04T08:30":           "2026-07-04T08:30:00",
		"pipeline delete nginx 2026-07-04T08:30":             "2026-07-04T08:30:00",
		"pipeline delete nginx 2026-07-04T08:30:00 ":         "",
		"pipeline get ":                                      "nginx syslog",
		"pipeline rollback ":                                 "nginx syslog",
		"pipeline versions ":                                 "nginx syslog",
		"shard replicas 1 ":                                  "1 3 5 7",
		"pipeline delete nginx --version ":                   "2026-07-04T08:31:00.5 2026-07-04T08:30:00",
		"pipeline dryrun nginx --version ":                   "2026-07-04T08:31:00.5 2026-07-04T08:30:00",
		"pipeline diff ":                                     "nginx syslog",
		"pipeline diff nginx ":                               "latest 2026-07-04T08:31:00.5 2026-07-04T08:30:00",
		"pipeline diff nginx latest l":                       "latest",
		"pipeline replay-rejects --kind t":                   "transform time_index table type",
		"pipeline replay-rejects --to n":                     "nginx",
		"pipeline replay-rejects --to-table ap":              "app",
		"recover --group ":                                   "all meta node",
		"recover --data-dir DATA --group s":                  "shard/1 shard/12",
		"admin log-level ":                                   "debug info warn error",
		"admin log-level info ":                              "",
		"cluster pause ":                                     "rebalance",
		"cluster resume r":                                   "rebalance",
		"serve --http-inflight-policy ":                      "wait fail",
		"table move app --to ":                               "1 2",
		"ingest --table ":                                    "access app",
		"ingest --pipeline ":                                 "svc_identity nginx syslog",
		"ingest --on-reject ":                                "drop store",
		"pipeline get n":                                     "nginx",
		"pipeline versions sys":                              "syslog",
		"pipeline delete ":                                   "nginx syslog",
		"node drain ":                                        "n1 n2",
		"cluster cancel ":                                    "12",
		"cluster operations ":                                "12 11",
		"shard move ":                                        "1 2",
		"shard remove ":                                      "1 2",
		"shard remove 1 ":                                    "",
		"shard remove --output ":                             "table json yaml",
		"shard move 1 --to ":                                 "n1 n2",
		"sql --output ":                                      "table json yaml csv ndjson",
		"sql -o n":                                           "ndjson",
		"sql --consistency ":                                 "linear any",
		"tail app -o ":                                       "ndjson table",
		"cluster status -o ":                                 "table json yaml",
		"vrl help upcas":                                     "upcase",
		"serve --log-level ":                                 "debug info warn error",
		"tail --server http://127.0.0.1:1 ":                  "",
	} {
		words := strings.Split(strings.Replace(args, "DATA", data, 1), " ")
		if !strings.Contains(args, "--server") && !slices.Contains([]string{"vrl", "serve", "recover", "admin"}, words[0]) {
			words = append([]string{words[0]}, append([]string{"--server", s.URL}, words[1:]...)...)
		}
		start := time.Now()
		stdout, _, err := execute(t, "", append([]string{"__complete"}, words...)...)
		list, directive, _ := strings.Cut("\n"+stdout, "\n:")
		if got := strings.Join(strings.Fields(list), " "); err != nil || got != want || directive == "" && want != "" {
			t.Errorf("%q: %q, %v, want %q", args, stdout, err, want)
		}
		if took := time.Since(start); took > 10*completionWait {
			t.Errorf("%q took %v", args, took)
		}
	}
}

// TestServeHelp checks that each setting is in exactly one group of the help, under its title.
func TestServeHelp(t *testing.T) {
	cmd := newServeCommand()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if config.GroupOf(f.Name) < 0 && f.Name != "help" {
			t.Errorf("--%s is in no group: add it to config.Groups", f.Name)
		}
	})
	stdout, _, err := execute(t, "", "serve", "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range config.Groups {
		if strings.Count(stdout, "\n"+group.Title+":\n") != 1 {
			t.Errorf("%q is not once in\n%s", group.Title, stdout)
		}
	}
	queries, _, _ := strings.Cut(stdout[strings.Index(stdout, "\nQueries and tails:"):], "\n\n")
	if !strings.Contains(queries, "--query-memory") || !strings.Contains(queries, "--max-tails") ||
		strings.Contains(queries, "--http-addr") || !strings.Contains(stdout, "Run a server with its data") {
		t.Errorf("queries:\n%s", queries)
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 rows": cli.Count(0, "row"), "1 row": cli.Count(int64(1), "row"), "2 batches": cli.Count(uint64(2), "batch"),
		"3 entries": cli.Count(3, "entry"), "1 batch": cli.Count(1, "batch"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// plural matches a format that has a number before a plural noun.
var plural = regexp.MustCompile(`(?:of )?%d (?:rows|tables|backups|databases|files|records|errors|events|batches|` +
	`statements|bytes|versions|pipelines|[a-z]+\(s\))\b`)

// TestPlurals checks that formats use count, so that no text says "1 rows". Progress ("3 of 7 files")
// and sentences with a number and its limit are exempt.
func TestPlurals(t *testing.T) {
	var files []string
	for _, where := range []string{
		"*.go", "cluster/*.go", "table/*.go", "../../node/doctor/*.go", "../../router/pipeline/notes.go",
		"../../router/pipeline/aside.go", "../../router/httpapi/ingest.go", "../../router/ingest/run.go",
	} {
		found, err := filepath.Glob(where)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", where, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range plural.FindAllIndex(text, -1) {
			if strings.HasPrefix(string(text[at[0]:at[1]]), "of ") {
				continue
			}
			t.Errorf("%s: %q: use count", file, text[at[0]:at[1]])
		}
	}
}

func TestVersionFlag(t *testing.T) {
	long, _, err := execute(t, "", "--version")
	word, _, werr := execute(t, "", "version")
	if err != nil || werr != nil || long != word || !strings.HasPrefix(long, "cordwood ") {
		t.Errorf("--version: %q, %v; version: %q, %v", long, err, word, werr)
	}
}

// TestDoctorOfAServerAlone checks that only the server is examined, not this machine.
func TestDoctorOfAServerAlone(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/sql":
		case "/status":
			_, _ = io.WriteString(w, `{"version":"dev"}`)
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	defer s.Close()
	t.Chdir(t.TempDir())
	stdout, stderr, err := execute(t, "", "doctor", "--server", s.URL)
	if err != nil || strings.Contains(stdout, "folder") || strings.Contains(stdout, "machine") ||
		!strings.Contains(stdout, "server    sound: "+s.URL) {
		t.Errorf("%q, %q, %v", stdout, stderr, err)
	}
	// Of several servers, the output contains the one that answered.
	dead := httptest.NewServer(nil)
	dead.Close()
	stdout, stderr, err = execute(t, "", "doctor", "--server", dead.URL+","+s.URL)
	if err != nil || !strings.Contains(stdout, "server    sound: "+s.URL+"\n") {
		t.Errorf("two servers: %q, %q, %v", stdout, stderr, err)
	}
	// CORDWOOD_SERVER has the same effect as --server.
	t.Setenv("CORDWOOD_SERVER", s.URL)
	stdout, stderr, err = execute(t, "", "doctor")
	if err != nil || strings.Contains(stdout, "folder") || strings.Contains(stdout, "machine") ||
		!strings.Contains(stdout, "server    sound: "+s.URL) {
		t.Errorf("by the environment: %q, %q, %v", stdout, stderr, err)
	}
	// With --data-dir, the folder is examined instead of the server in the environment.
	stdout, stderr, _ = execute(t, "", "doctor", "--data-dir", t.TempDir())
	if strings.Contains(stdout, s.URL) || !strings.Contains(stdout, "\ndata ") {
		t.Errorf("a folder: %q, %q", stdout, stderr)
	}
}

// TestSuggestions checks that an error about an unknown pipeline or table suggests the most similar
// name.
func TestSuggestions(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/pipelines":
			_, _ = io.WriteString(w, `{"pipelines":[{"name":"nginx"}]}`)
		case "/v1/sql":
			_, _ = io.WriteString(w, `{"n":"access"}`+"\n")
		case "/v1/tail":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":4001,"error":"table public.`+r.URL.Query().Get("table")+` does not exist"}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			if r.URL.Query().Has("version") {
				_, _ = io.WriteString(w, `{"code":1004,"error":"Invalid pipeline version format: 1"}`)
				return
			}
			_, _ = io.WriteString(w, `{"code":1004,"error":"Pipeline not found, name: `+path.Base(r.URL.Path)+
				`, version: latest"}`)
		}
	}))
	defer s.Close()
	for args, want := range map[string]string{
		"pipeline get ngnix":             `; did you mean "nginx"?`,
		"pipeline get unlike":            "(server answered 400, code 1004)",
		"pipeline get nginx --version 1": "; 'cordwood pipeline versions NAME' lists the existing versions",
		"tail acces":                     `; did you mean "access"?`,
		"tail something_at_all":          "(server answered 400, code 4001)",
	} {
		var stderr bytes.Buffer
		if status := run(append(strings.Fields(args), "--server", s.URL), &stderr); status != cli.ExitFailed ||
			!strings.HasSuffix(stderr.String(), want+"\n") {
			t.Errorf("%s: status %d, %s, want %s", args, status, stderr.String(), want)
		}
	}
}
