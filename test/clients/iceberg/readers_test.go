package iceberg

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/catalog/rest"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// place is where a reader finds a table.
type place struct {
	// folder is the folder of the table, and version the name of its metadata file, without .metadata.json.
	folder, version string
	// uri is the address of the catalog, and token a token for it. database and name are those of the table.
	uri, token, database, name string
}

// summary describes the rows that a reader found.
type summary struct {
	Rows    int64             `json:"rows"`
	Columns map[string]column `json:"columns"`
}

// column describes the values of a column. Sum is the sum of numbers, of times in Unit, of trues, or of lengths.
// Distinct and Sum are empty if the reader does not report them.
type column struct {
	Values   int64       `json:"values"`
	Distinct json.Number `json:"distinct"`
	Sum      string      `json:"sum"`
	Unit     string      `json:"unit"`
}

// reader is a program that reads Iceberg tables.
type reader struct {
	name string
	// versions are the versions of the format that it reads, and ways how it finds a table: files, rest.
	versions, ways string
	// noBinary is set if it shows bytes as texts, so that different values become equal, and noRenames if it finds the
	// columns of older files by their present names.
	noBinary, noRenames bool
	read                func(t *testing.T, way string, p place) (summary, error)
}

// limit is the time limit of one read.
const limit = 3 * time.Minute

// readers returns the readers that can be installed, and reports why others are missing.
func readers(t *testing.T) []reader {
	t.Helper()
	list := []reader{{name: "iceberg-go", versions: "v2 v3", ways: "files rest", read: readGo}}
	if err := install("node", "cmp -s package-lock.json node_modules/.lock || { npm ci --no-audit --no-fund "+
		"--ignore-scripts --prefer-offline && cp package-lock.json node_modules/.lock; }"); err == nil {
		list = append(list, reader{
			name: "icebird", versions: "v2", ways: "files", noBinary: true, noRenames: true, read: readNode,
		})
	} else {
		t.Logf("icebird is not tried: %v", err)
	}
	const pip = "test -x venv/bin/python || python3 -m venv venv; " +
		"venv/bin/pip install -q --disable-pip-version-check -r requirements.txt"
	if err := install("python", pip); err == nil {
		for _, engine := range []string{"pyiceberg", "polars", "pandas", "duckdb"} {
			list = append(list, reader{name: engine, versions: "v2 v3", ways: "files rest", read: readPython(engine)})
		}
	} else {
		t.Logf("PyIceberg, Polars, pandas and DuckDB are not tried: %v", err)
	}
	if *spark {
		if err := install("spark", pip, "mvn -q -B dependency:copy-dependencies -DoutputDirectory=target"); err != nil {
			t.Fatalf("Spark: %v", err)
		}
		list = append(list, reader{name: "spark", versions: "v2", ways: "files rest", read: readSpark})
	}
	return list
}

// install runs commands in a folder.
func install(dir string, commands ...string) error {
	for _, c := range commands {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-c", c)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	return nil
}

// run runs a program that prints a summary in its last line.
func run(t *testing.T, dir string, args ...string) (out summary, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	var problems strings.Builder
	cmd.Stderr = &problems
	text, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s%s", err, text, problems.String())
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &out); err != nil {
		return out, fmt.Errorf("%w: %s%s", err, text, problems.String())
	}
	return out, nil
}

func readNode(t *testing.T, _ string, p place) (summary, error) {
	return run(t, "node", "node", "read.mjs", "file://"+p.folder, p.version+".metadata.json")
}

func readPython(engine string) func(t *testing.T, way string, p place) (summary, error) {
	return func(t *testing.T, way string, p place) (summary, error) {
		args := []string{"venv/bin/python", "read.py", engine, way}
		if way == "rest" {
			return run(t, "python", append(args, p.uri, p.token, p.database, p.name)...)
		}
		return run(t, "python", append(args, "file://"+p.metadata())...)
	}
}

func readSpark(t *testing.T, way string, p place) (summary, error) {
	jars, err := filepath.Glob("spark/target/iceberg-spark-runtime-*.jar")
	if err != nil || len(jars) != 1 {
		return summary{}, fmt.Errorf("jars %v: %w", jars, err)
	}
	args := []string{"venv/bin/python", "read.py", strings.TrimPrefix(jars[0], "spark/"), way}
	if way == "rest" {
		return run(t, "spark", append(args, p.uri, p.token, p.database, p.name)...)
	}
	return run(t, "spark", append(args, p.folder)...)
}

// metadata returns the path of the metadata file.
func (p place) metadata() string {
	return filepath.Join(p.folder, "metadata", p.version+".metadata.json")
}

// readGo reads a table with iceberg-go.
func readGo(t *testing.T, way string, p place) (out summary, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var found *table.Table
	if way == "rest" {
		catalog, err := rest.NewCatalog(ctx, "c", p.uri, rest.WithOAuthToken(p.token))
		if err != nil {
			return out, err
		}
		if found, err = catalog.LoadTable(ctx, table.Identifier{p.database, p.name}); err != nil {
			return out, err
		}
	} else {
		found, err = table.NewFromLocation(ctx, table.Identifier{p.name}, "file://"+p.metadata(),
			icebergio.LoadFSFunc(nil, "file://"+p.metadata()), nil)
		if err != nil {
			return out, err
		}
	}
	schema, batches, err := found.Scan().ToArrowRecords(ctx)
	if err != nil {
		return out, err
	}
	sums := make([]*total, schema.NumFields())
	for i := range sums {
		sums[i] = &total{seen: map[string]bool{}, exact: new(big.Int)}
	}
	for batch, err := range batches {
		if err != nil {
			return out, err
		}
		out.Rows += batch.NumRows()
		for i, c := range batch.Columns() {
			if err := sums[i].add(c); err != nil {
				return out, fmt.Errorf("column %s: %w", schema.Field(i).Name, err)
			}
		}
		batch.Release()
	}
	out.Columns = map[string]column{}
	for i, f := range schema.Fields() {
		distinct := json.Number(strconv.Itoa(len(sums[i].seen)))
		c := column{Values: sums[i].values, Distinct: distinct, Sum: sums[i].exact.String()}
		if sums[i].float {
			c.Sum = strconv.FormatFloat(sums[i].approx, 'g', -1, 64)
		}
		if ts, ok := f.Type.(*arrow.TimestampType); ok {
			c.Unit = ts.Unit.String()
		}
		out.Columns[f.Name] = c
	}
	return out, nil
}

// total adds up the values of a column.
type total struct {
	values int64
	seen   map[string]bool
	exact  *big.Int
	approx float64
	float  bool
}

func (s *total) add(c arrow.Array) error {
	if d, ok := c.(*array.Dictionary); ok {
		for i := range d.Len() {
			if d.IsValid(i) {
				if err := s.addOne(d.Dictionary(), d.GetValueIndex(i)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i := range c.Len() {
		if c.IsValid(i) {
			if err := s.addOne(c, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *total) addOne(c arrow.Array, i int) error {
	s.values++
	n := new(big.Int)
	switch c := c.(type) {
	case *array.Boolean:
		if c.Value(i) {
			n.SetInt64(1)
		}
	case *array.Int32:
		n.SetInt64(int64(c.Value(i)))
	case *array.Int64:
		n.SetInt64(c.Value(i))
	case *array.Timestamp:
		n.SetInt64(int64(c.Value(i)))
	case *array.Decimal128:
		n = c.Value(i).BigInt()
	case *array.Float32:
		s.float, s.approx = true, s.approx+float64(c.Value(i))
	case *array.Float64:
		s.float, s.approx = true, s.approx+c.Value(i)
	case *array.String:
		n.SetInt64(int64(utf8.RuneCountInString(c.Value(i))))
	case *array.LargeString:
		n.SetInt64(int64(utf8.RuneCountInString(c.Value(i))))
	case *array.Binary:
		n.SetInt64(int64(len(c.Value(i))))
	case *array.LargeBinary:
		n.SetInt64(int64(len(c.Value(i))))
	default:
		return fmt.Errorf("type %s", c.DataType())
	}
	s.seen[c.ValueStr(i)] = true
	s.exact.Add(s.exact, n)
	return nil
}
