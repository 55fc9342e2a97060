package tail

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/audit"
)

// audited is a catalog whose databases have the option audit.reads.
type audited struct{ catalog }

func (audited) Database(name string) (*schemapb.Database, bool) {
	return &schemapb.Database{Name: name, Options: map[string]string{schema.OptionAuditReads: "true"}}, name == "public"
}

// TestRefusedTailsAreNotRecordedAsRead checks that only a tail that begins is recorded with the outcome ok.
func TestRefusedTailsAreNotRecordedAsRead(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, func(c *Config) {
		c.Meta, c.Changes = audited{}, audit.New(slog.New(slog.NewJSONHandler(&log, nil)), nil)
	})
	for _, query := range []string{"table=t&where=bad", "table=t&where=escapes", "table=t&where=hidden"} {
		if resp := r.get(query); resp.StatusCode == 200 {
			t.Fatalf("%s is not refused", query)
		}
		if log.Len() > 0 {
			t.Errorf("%s is recorded: %s", query, log.String())
		}
		log.Reset()
	}
	if resp := r.get("table=t"); resp.StatusCode != 200 {
		t.Fatalf("a tail: %s", resp.Status)
	}
	if text := log.String(); strings.Count(text, `"action":"tail"`) != 1 || !strings.Contains(text, `"outcome":"ok"`) {
		t.Errorf("a tail is recorded as %q", text)
	}
}
