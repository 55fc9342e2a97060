package iceberg

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestDaily reads tables that merge rows, of which the joined days are shown: after rows were replaced and deleted,
// came late, columns were added and widened, and the merge mode was changed. Each time, readers find the rows of SQL.
func TestDaily(t *testing.T) {
	list := readers(t)
	for _, mode := range []string{"last_row", "last_non_null"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			bucket := filepath.Join(t.TempDir(), "bucket")
			if err := os.Mkdir(bucket, 0o700); err != nil {
				t.Fatal(err)
			}
			s := startWith(t, "file://"+bucket, bucket, "--object-storage-local-for", "24h")
			x := &tested{server: s, name: "app", version: "v2", readers: list}
			s.sql(fmt.Sprintf("CREATE TABLE app (%s, host STRING PRIMARY KEY) WITH (merge_mode='%s', iceberg='daily')",
				columns, mode))
			x.token = s.sql("CREATE TOKEN reader FOR QUERY ON public.app")[0]["Token"].(string)
			noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-3*24*time.Hour + 12*time.Hour)
			x.insert(noon, 40)
			x.insert(noon.Add(24*time.Hour), 30)
			x.compareUnlessQuick("two days")
			x.insert(noon.Add(20*time.Second), 40) // late: it replaces rows, and others are new
			s.sql(fmt.Sprintf("DELETE FROM app WHERE ts < '%s'", noon.Add(-30*time.Second).Format("2006-01-02 15:04:05")))
			x.compare("late rows and deletions")
			s.sql("ALTER TABLE app RENAME COLUMN i32 TO renamed")
			s.sql("ALTER TABLE app ADD COLUMN added BIGINT NOT NULL DEFAULT 5")
			x.compare("a column with a default")
			s.sql("ALTER TABLE app MODIFY COLUMN i16 DOUBLE")
			other := map[string]string{"last_row": "last_non_null", "last_non_null": "last_row"}[mode]
			s.sql("ALTER TABLE app SET 'merge_mode'='" + other + "'")
			s.sql(fmt.Sprintf("INSERT INTO app (ts, renamed, d, added) VALUES ('%s', 1, 2.5, 6)",
				noon.Add(24*time.Hour-5*time.Second).Format("2006-01-02 15:04:05.000456789")))
			x.compare("a wider column and another merge mode")
			s.sql(fmt.Sprintf("DELETE FROM app WHERE ts < '%s'", noon.Add(12*time.Hour).Format("2006-01-02 15:04:05")))
			x.compare("a day without rows")
		})
	}
}
