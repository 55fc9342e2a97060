package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"cordwood/router/access"
)

// TestChangesAreAudited sends a request to every route that changes something: one as a user with the right, one as a
// user without it, and an invalid one. Each request is logged in one line. Other requests are not logged.
func TestChangesAreAudited(t *testing.T) {
	type line map[string]any
	var log strings.Builder
	f := newWhole(t, func(c *Config) {
		c.Auth = byUser{}
		c.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	})
	call := func(method, path, body, user string) (status int, lines []line) {
		log.Reset()
		w := f.call(method, path, body, "Authorization", user, "Content-Type", "application/x-yaml", "X-Request-Id", "r1\n\"")
		for text := range strings.Lines(log.String()) {
			l := line{}
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatal(err)
			}
			if l["msg"] == "change" {
				lines = append(lines, l)
			}
		}
		return w.Code, lines
	}
	const operation = `{"kind":"shard-move","shard":3,"from":"a","to":"b"}`
	bodies := map[string]string{
		"start operation": operation, "store pipeline": minimal, "replay rejects": `{"dry_run":true}`,
	}
	objects := map[string]string{
		"start operation": "shard-move", "cancel operation": "7", "store pipeline": "edge", "delete pipeline": "edge",
	}
	tried := 0
	for _, rt := range f.table {
		if rt.changes && strings.HasPrefix(rt.path, "/v1/access/") {
			continue // the statements are logged, and TestAccessAPI checks what is logged before them
		}
		path := strings.NewReplacer("{name}", "edge", "{id}", "7").Replace(rt.path)
		for _, m := range rt.methods {
			if m == http.MethodHead {
				continue
			}
			if !rt.changes {
				if _, lines := call(m, path, "{}", "rw"); len(lines) > 0 {
					t.Errorf("%s %s only reads, but is logged: %v", m, path, lines)
				}
				// Requests that are neither GET nor known to only read must be logged.
				reads := rt.needs == access.Open || strings.Contains(path, "dryrun") || rt.path == "/v1/sql" ||
					rt.path == logsPath || rt.refuse != nil || rt.needs == access.Insert ||
					strings.HasPrefix(path, "/v1/explore/") ||
					// Values that a user saves for a page are the user's own.
					strings.HasPrefix(path, "/v1/saved/") ||
					path == "/v1/access/check"
				if m != http.MethodGet && !reads {
					t.Errorf("%s %s changes something, but its route does not have changes set", m, path)
				}
				continue
			}
			tried++
			query := ""
			if m == http.MethodDelete && len(rt.params) > 0 {
				query = "?version=2024-01-01T00:00:00"
			}
			for user, want := range map[string]string{"rw": "ok", "ro": "refused", "wo": "refused"} {
				status, lines := call(m, path+query, bodies[rt.action], user)
				if len(lines) != 1 || (want == "ok") != (status == 200) {
					t.Errorf("%s %s as %s: %d, %v", m, path, user, status, lines)
					continue
				}
				object := objects[rt.action]
				if want == "refused" && rt.action == "start operation" {
					object = "" // the body was not read
				}
				for key, value := range map[string]any{
					"principal": user, "auth": "password", "address": "192.0.2.1", "action": rt.action,
					"object_kind": string(rt.object),
					"object":      object, "outcome": want, "request_id": "r1\n\"",
					"code": map[string]any{"ok": 0., "refused": 7006.}[want],
				} {
					if lines[0][key] != value {
						t.Errorf("%s %s as %s: %s is %v, want %v", m, path, user, key, lines[0][key], value)
					}
				}
			}
			if _, lines := call(m, path+"?version=bad", "{nonsense", "rw"); len(lines) != 1 ||
				lines[0]["outcome"] != "failed" && rt.action != "cancel operation" {
				t.Errorf("a wrong %s %s: %v", m, path, lines)
			}
		}
	}
	if tried < 6 {
		t.Errorf("only %d routes were tried", tried)
	}
	if _, lines := call("POST", "/v1/cluster/operations", operation, "rw"); lines[0]["statement"] != operation {
		t.Errorf("%v", lines)
	}
	if _, lines := call("POST", "/v1/pipelines/edge", minimal, "bad"); len(lines) > 0 {
		t.Errorf("a change without a user was logged: %v", lines)
	}
}
