package answers

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cordwood/proto/schema"
)

// corpus returns the seeds of jsonscan's fuzz target.
func corpus(t *testing.T) (out []string) {
	t.Helper()
	files, err := filepath.Glob("../../router/vrl/jsonscan/testdata/fuzz/FuzzScan/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d seeds, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, quoted, _ := strings.Cut(string(data), "[]byte(")
		text, err := strconv.Unquote(strings.TrimSuffix(strings.TrimSpace(quoted), ")"))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, text)
	}
	return out
}

// TestJSONColumns checks that the engine can read every value that INSERT accepts for a JSON column, including
// defaults.
func TestJSONColumns(t *testing.T) {
	c := newCluster(t, 1, 1<<20)
	c.must("CREATE TABLE j (ts TIMESTAMP TIME INDEX, j JSON) WITH ('append_mode'='true')")
	texts := corpus(t)
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // choices of a test
	for n := len(texts); len(texts) < 600; {
		text := []byte(texts[r.IntN(n)])
		for range 1 + r.IntN(3) {
			piece := []string{
				`"`, `\ud800`, `\udc00`, `\u0000`, "\xff", "\xed\xa0\x80", "{", "}", "[1]", ",", `"a":`,
				"1e308", "-", "0", "\x7f", "\ufeff", "é", "nan",
			}[r.IntN(18)]
			at := r.IntN(len(text) + 1)
			text = []byte(string(text[:at]) + piece + string(text[at:]))
		}
		texts = append(texts, string(text))
	}
	taken := 0
	for i, text := range texts {
		literal := schema.QuoteLiteral(text)
		if _, err := c.ask(fmt.Sprintf("INSERT INTO j VALUES (%d, %s)", i, literal)); err != nil {
			continue
		}
		taken++
		if i%10 == 0 && len(text) > 0 {
			c.must(fmt.Sprintf("ALTER TABLE j ADD COLUMN d%d JSON NOT NULL DEFAULT %s", i, literal))
			if got := c.must(fmt.Sprintf("SELECT json_valid(d%d::VARCHAR) FROM j LIMIT 1", i)).rows[0][0]; got != "true" {
				t.Errorf("the default %q is JSON: %s", text, got)
			}
			c.must(fmt.Sprintf("ALTER TABLE j DROP COLUMN d%d", i))
		}
	}
	if taken < 30 {
		t.Errorf("%d of %d texts were accepted", taken, len(texts))
	}
	for _, in := range []string{"in memory", "in segments"} {
		for _, row := range c.must("SELECT j::VARCHAR FROM j WHERE NOT json_valid(j::VARCHAR)").rows {
			t.Errorf("%s: the engine cannot read %s as JSON", in, row[0])
		}
		c.must("SELECT j->>'$.a', json_type(j), json_extract(j, '$[0]'), j->'a' FROM j")
		c.flush()
	}
}
