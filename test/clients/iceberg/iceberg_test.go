package iceberg

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// columns are those of the tables at the beginning.
const columns = "ts TIMESTAMP(9) TIME INDEX, sec TIMESTAMP(0), ms TIMESTAMP(3), us TIMESTAMP(6), b BOOLEAN, " +
	"i8 TINYINT, i16 SMALLINT, i32 INT, i64 BIGINT, u8 TINYINT UNSIGNED, u16 SMALLINT UNSIGNED, u32 INT UNSIGNED, " +
	"u64 BIGINT UNSIGNED, f FLOAT, d DOUBLE, s STRING, bin BINARY, j JSON, time_day STRING"

// names are the columns that values fills.
const names = "ts, sec, ms, us, b, i8, i16, i32, i64, u8, u16, u32, u64, f, d, s, bin, j, time_day"

// values returns a row. Every seventh has only its time.
func values(at time.Time, i int) string {
	second := at.UTC().Format("2006-01-02 15:04:05")
	row := fmt.Sprintf("('%s.%03d456789', ", second, i%1000)
	if i%7 == 3 {
		return row + strings.TrimSuffix(strings.Repeat("NULL, ", strings.Count(names, ",")), ", ") + ")"
	}
	return row + fmt.Sprintf("'%s', '%s.123', '%s.123456', %t, %d, %d, %d, %d, %d, %d, %d, %d, %g, %g, 'text é %d', "+
		"X'%08x', '{\"a\":%d}', "+
		"'day %d')", second, second, second, i%3 != 0, i%100-50, i*60-15000, i*4000000-1000000000,
		int64(i)*9007199254740993-math.MaxInt64/4, i%256, i*131%65536, math.MaxUint32-i, uint64(math.MaxUint64)-uint64(i),
		float64(i)*0.25, float64(i)*0.5-7, i%50, i*7, i%9, i%3)
}

// tested is a table during the test.
type tested struct {
	*server
	name, version string
	token         string
	readers       []reader
	// dots is set once a column has a name with dots.
	dots bool
}

// insert stores rows whose times are in the minutes before a time.
func (x *tested) insert(at time.Time, n int) {
	x.t.Helper()
	rows := make([]string, n)
	for i := range rows {
		rows[i] = values(at.Add(-time.Duration(i)*time.Second), i)
	}
	x.sql(fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", x.name, names, strings.Join(rows, ", ")))
}

// loaded is an answer of the catalog.
type loaded struct {
	Location string `json:"metadata-location"`
	Metadata struct {
		Version  int   `json:"format-version"`
		Current  int64 `json:"current-snapshot-id"`
		Schema   int   `json:"current-schema-id"`
		Location string
		Schemas  []struct {
			ID     int `json:"schema-id"`
			Fields []struct{ Name string }
		}
		Snapshots []struct {
			ID      int64 `json:"snapshot-id"`
			Summary map[string]string
		}
	}
}

// shown returns the state of the table in the catalog: its columns, and the number of its rows.
func (x *tested) shown() (out loaded, fields []string, rows string) {
	x.t.Helper()
	status, body := x.request(http.MethodGet, "/iceberg/v1/namespaces/public/tables/"+x.name, x.token, nil)
	if status == http.StatusNotFound {
		return out, nil, body
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
		x.t.Fatalf("%d %s", status, body)
	}
	for _, s := range out.Metadata.Schemas {
		if s.ID == out.Metadata.Schema {
			for _, f := range s.Fields {
				fields = append(fields, f.Name)
			}
		}
	}
	for _, s := range out.Metadata.Snapshots {
		if s.ID == out.Metadata.Current {
			rows = s.Summary["total-records"]
		}
	}
	return out, fields, rows
}

// kinds returns the types of the columns by their names.
func (x *tested) kinds() map[string]string {
	x.t.Helper()
	out := map[string]string{}
	for _, row := range x.sql("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '" +
		x.name + "'") {
		out[row["column_name"].(string)] = row["data_type"].(string)
	}
	return out
}

// place waits until the catalog shows the columns of the table and a number of rows, and returns where they are.
func (x *tested) place(rows int64) place {
	x.t.Helper()
	var last loaded
	want := sorted(x.kinds())
	x.wait(fmt.Sprintf("%s is shown with %d rows and the columns %v", x.name, rows, want), func() (bool, string) {
		out, fields, n := x.shown()
		last = out
		slices.Sort(fields)
		return n == strconv.FormatInt(rows, 10) && slices.Equal(fields, want), fmt.Sprint(n, " rows, ", fields)
	})
	folder := filepath.Join(x.bucket, strings.TrimPrefix(last.Metadata.Location, x.location))
	p := place{folder: folder, uri: x.url + "/iceberg", token: x.token, database: "public", name: x.name}
	x.wait("version-hint.text names this state", func() (bool, string) {
		hint, err := os.ReadFile(filepath.Join(folder, "metadata", "version-hint.text"))
		if err != nil {
			return false, err.Error()
		}
		p.version = "v" + strings.TrimSpace(string(hint))
		file, err := os.ReadFile(p.metadata())
		var named struct {
			Current int64 `json:"current-snapshot-id"`
			Schema  int   `json:"current-schema-id"`
		}
		return err == nil && json.Unmarshal(file, &named) == nil && named.Current == last.Metadata.Current &&
			named.Schema == last.Metadata.Schema, p.version
	})
	return p
}

func sorted(of map[string]string) []string {
	var out []string
	for name := range of {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// compare reads the table with all readers, and compares what they find with SQL.
func (x *tested) compare(phase string) {
	x.t.Helper()
	count, err := x.sql("SELECT count(*) AS n FROM " + x.name)[0]["n"].(json.Number).Int64()
	if err != nil {
		x.t.Fatal(err)
	}
	p := x.place(count)
	kinds := x.kinds()
	for _, r := range x.readers {
		if !strings.Contains(r.versions, x.version) || r.noDots && x.dots {
			continue
		}
		for way := range strings.FieldsSeq(r.ways) {
			what := fmt.Sprintf("%s, %s, %s, %s", x.version, phase, r.name, way)
			got, err := r.read(x.t, way, p)
			if err != nil {
				x.t.Errorf("%s: %v", what, err)
				continue
			}
			if got.Rows != count {
				x.t.Errorf("%s: %d rows, SQL has %d", what, got.Rows, count)
			}
			if len(got.Columns) != len(kinds) {
				x.t.Errorf("%s: columns %v, SQL has %v", what, got.Columns, kinds)
			}
			for _, name := range sorted(kinds) {
				x.compareColumn(what, name, kinds[name], got.Columns[name], r.noBinary)
			}
		}
	}
}

// compareUnlessQuick compares what a later step compares too.
func (x *tested) compareUnlessQuick(phase string) {
	x.t.Helper()
	if !*quick {
		x.compare(phase)
	}
}

// compareColumn compares a column with SQL.
func (x *tested) compareColumn(what, name, kind string, got column, noBinary bool) {
	x.t.Helper()
	quoted := `"` + name + `"`
	sum := "sum(" + quoted + ")"
	distinct := quoted
	switch {
	case strings.HasPrefix(kind, "Timestamp"):
		unit := got.Unit
		if unit == "" {
			unit = "us"
		}
		sum, distinct = fmt.Sprintf("sum(epoch_%s(%s))", unit, quoted), fmt.Sprintf("epoch_%s(%s)", unit, quoted)
	case kind == "Boolean":
		sum = "sum(CASE WHEN " + quoted + " THEN 1 ELSE 0 END)"
	case kind == "String" || kind == "Json":
		sum, distinct = "sum(length("+quoted+"))", quoted+"::VARCHAR"
	case kind == "Binary":
		sum = "sum(octet_length(" + quoted + "))"
	}
	want := x.sql(fmt.Sprintf("SELECT count(%s) AS n, count(DISTINCT %s)::VARCHAR AS d, coalesce(%s, 0)::VARCHAR AS s "+
		"FROM %s", quoted, distinct, sum, x.name))[0]
	if fmt.Sprint(want["n"]) != strconv.FormatInt(got.Values, 10) {
		x.t.Errorf("%s: column %s has %d values, SQL has %v", what, name, got.Values, want["n"])
	}
	if got.Sum == "" || got.Values == 0 {
		return
	}
	if want["d"] != got.Distinct.String() && !(noBinary && kind == "Binary") {
		x.t.Errorf("%s: column %s has %s different values, SQL has %v", what, name, got.Distinct, want["d"])
	}
	equal := want["s"] == got.Sum
	if strings.HasPrefix(kind, "Float") {
		a, err1 := strconv.ParseFloat(got.Sum, 64)
		b, err2 := strconv.ParseFloat(want["s"].(string), 64)
		equal = err1 == nil && err2 == nil && a == b
	}
	if !equal {
		x.t.Errorf("%s: column %s adds up to %s %s, SQL to %v", what, name, got.Sum, got.Unit, want["s"])
	}
}

// TestReaders creates a table in each version of the format, changes it in all ways, and reads it after each.
func TestReaders(t *testing.T) {
	list := readers(t)
	for _, version := range []string{"v2", "v3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			x := &tested{server: s, name: "app", version: version, readers: list}
			s.sql(fmt.Sprintf("CREATE TABLE app (%s) WITH (append_mode='true', iceberg='%s')", columns, version))
			s.sql(fmt.Sprintf("CREATE TABLE other (%s) WITH (append_mode='true', iceberg='%s')", columns, version))
			x.token = s.sql("CREATE TOKEN reader FOR QUERY ON public.app")[0]["Token"].(string)
			now := time.Now().Add(-time.Hour)
			x.insert(now, 500)
			x.compare("the first rows")

			x.insert(now.Add(-24*time.Hour), 300)
			x.insert(now, 100)
			x.compareUnlessQuick("more rows of two days")

			s.sql("ALTER TABLE app RENAME COLUMN i32 TO renamed")
			s.sql("ALTER TABLE app DROP COLUMN s")
			s.sql("ALTER TABLE app ADD COLUMN s BIGINT")     // another column than the dropped one
			s.sql("ALTER TABLE app ADD COLUMN added BIGINT") // the last change: place waits for its name
			x.compareUnlessQuick("changed columns")

			row := func(second int) string {
				at := now.Add(time.Duration(second) * time.Second).UTC().Format("2006-01-02 15:04:05")
				return fmt.Sprintf("('%s', %d, %d, %d)", at, second, -second, second*2)
			}
			var rows []string
			for i := range 50 {
				rows = append(rows, row(i+1))
			}
			s.sql("INSERT INTO app (ts, added, renamed, s) VALUES " + strings.Join(rows, ", "))
			x.compare("rows with the changed columns")

			s.sql("ALTER TABLE app MODIFY COLUMN i16 BIGINT")
			s.sql("ALTER TABLE app MODIFY COLUMN f DOUBLE")
			s.sql(fmt.Sprintf("INSERT INTO app (ts, i16, f) VALUES ('%s', %d, 1e300)",
				now.UTC().Format("2006-01-02 15:04:05"), math.MaxInt64))
			x.compareUnlessQuick("wider columns")

			x.dots = true
			s.sql("ALTER TABLE app ADD COLUMN \"a.b\" BIGINT")
			s.sql(fmt.Sprintf("INSERT INTO app (ts, \"a.b\") VALUES ('%s', 5)", now.UTC().Format("2006-01-02 15:04:05")))
			s.sql("ALTER TABLE app RENAME COLUMN \"a.b\" TO \"b.c.d\"")
			x.compare("a name with dots")

			s.sql("ALTER TABLE app SET 'ttl'='12h'")
			x.compare("after the rows of a day have expired")
		})
	}
}

// TestS3 reads from a bucket that needs credentials. The catalog gives its endpoint, and no credentials.
func TestS3(t *testing.T) {
	if *quick {
		t.Skip("takes minutes")
	}
	var list []reader
	for _, r := range readers(t) {
		if r.s3 {
			r.ways = "rest"
			list = append(list, r)
		}
	}
	s := startS3(t)
	for _, version := range []string{"v2", "v3"} {
		x := &tested{server: s, name: "app" + version, version: version, readers: list}
		s.sql(fmt.Sprintf("CREATE TABLE %s (%s) WITH (append_mode='true', iceberg='%s')", x.name, columns, version))
		x.token = s.sql(fmt.Sprintf("CREATE TOKEN %s FOR QUERY ON public.%s", x.name, x.name))[0]["Token"].(string)
		x.insert(time.Now().Add(-time.Hour), 200)
		x.compare("a bucket")
	}
}

// TestRights checks what the catalog shows to a token with SELECT on one table, and that it refuses changes.
func TestRights(t *testing.T) {
	s := start(t)
	for _, name := range []string{"app", "other"} {
		s.sql(fmt.Sprintf("CREATE TABLE %s (%s) WITH (append_mode='true', iceberg='v2')", name, columns))
	}
	x := &tested{server: s, name: "app", version: "v2"}
	x.token = s.sql("CREATE TOKEN reader FOR QUERY ON public.app")[0]["Token"].(string)
	for _, name := range []string{"app", "other"} {
		(&tested{server: s, name: name}).insert(time.Now().Add(-time.Hour), 10)
		y := &tested{server: s, name: name}
		y.place(10)
	}
	const in = "/iceberg/v1/namespaces/public/tables"
	for _, c := range []struct {
		method, path, token string
		status              int
		want                string
	}{
		{"GET", in, "", 200, `"name":"other"`},
		{"GET", in, x.token, 200, `{"identifiers":[{"namespace":["public"],"name":"app"}],"next-page-token":null}`},
		{"HEAD", in + "/app", x.token, 204, ""},
		{"HEAD", in + "/other", x.token, 404, ""},
		{"GET", in + "/other", x.token, 404, "NoSuchTableException"},
		{"GET", in + "/app", "cw_0000000000_wrong", 401, "NotAuthorizedException"},
		{"POST", in, x.token, 406, "UnsupportedOperationException"},
		{"POST", in + "/app", "", 406, "UnsupportedOperationException"},
		{"DELETE", in + "/app", "", 406, "UnsupportedOperationException"},
	} {
		var form url.Values
		status, body := s.request(c.method, c.path, c.token, form)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
}
