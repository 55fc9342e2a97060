package iceberg

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestJoined reads tables whose small objects were joined, also beside objects of a later definition, and once these
// were joined too.
func TestJoined(t *testing.T) {
	list := readers(t)
	for _, version := range []string{"v2", "v3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			bucket := filepath.Join(t.TempDir(), "bucket")
			if err := os.Mkdir(bucket, 0o700); err != nil {
				t.Fatal(err)
			}
			// The rows of the test are older than that, so their objects are joined as soon as there are four.
			s := startWith(t, "file://"+bucket, bucket, "--object-storage-local-for", "24h")
			x := &tested{server: s, name: "app", version: version, readers: list}
			s.sql(fmt.Sprintf("CREATE TABLE app (%s) WITH (append_mode='true', iceberg='%s')", columns, version))
			x.token = s.sql("CREATE TOKEN reader FOR QUERY ON public.app")[0]["Token"].(string)
			day := time.Now().UTC().Truncate(24 * time.Hour).Add(-3 * 24 * time.Hour)
			joined := func() (joins int) {
				out, _, _ := x.shown()
				for _, snapshot := range out.Metadata.Snapshots {
					// It is replace, or overwrite if the last object of the four had not been shown before.
					if n, _ := strconv.Atoi(snapshot.Summary["deleted-data-files"]); n >= 3 {
						joins++
					}
				}
				return joins
			}
			rows := int64(0)
			four := func(insert func(at time.Time)) {
				t.Helper()
				before := joined()
				for i := range 4 {
					insert(day.Add(time.Duration(i+1) * 4 * time.Hour))
					rows += 40
					x.place(rows) // so that each insert has an object of its own
				}
				s.wait("the objects are joined", func() (bool, string) {
					n := joined()
					return n > before, fmt.Sprint(n, " snapshots are without former objects")
				})
			}
			four(func(at time.Time) { x.insert(at, 40) })
			x.compare("joined objects")
			s.sql("ALTER TABLE app RENAME COLUMN i32 TO renamed")
			s.sql("ALTER TABLE app ADD COLUMN added BIGINT")
			four(func(at time.Time) {
				var list []string
				for i := range 40 {
					list = append(list, fmt.Sprintf("('%s', %d, %d)", at.Add(time.Duration(i)*time.Minute).
						Format("2006-01-02 15:04:05"), i, i+rand.IntN(1000)))
				}
				s.sql("INSERT INTO app (ts, renamed, added) VALUES " + strings.Join(list, ", "))
			})
			x.compare("joined objects of two definitions")
		})
	}
}
