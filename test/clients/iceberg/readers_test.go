package iceberg

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	spark = flag.Bool("spark", false, "also read with Spark, which takes minutes")
	quick = flag.Bool("quick", false, "read only with what is installed within a minute: PyIceberg, DuckDB and icebird")
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
	// noBinary is set if it shows bytes as texts, so that different values become equal, and noDots if it finds no columns
	// whose names have other characters than Avro knows.
	noBinary, noDots bool
	// s3 is set if it reads from a bucket with the credentials in the environment.
	s3   bool
	read func(t *testing.T, way string, p place) (summary, error)
}

// limit is the time limit of one read, and installLimit that of one command that installs readers.
const (
	limit        = 5 * time.Minute
	installLimit = 15 * time.Minute
)

// readers returns the readers that can be installed, and reports why others are missing.
func readers(t *testing.T) []reader {
	t.Helper()
	var list []reader
	var missing []error
	engines, requirements := []string{"pyiceberg", "polars", "pandas", "duckdb"}, "requirements.txt"
	if *quick {
		engines, requirements = []string{"pyiceberg", "duckdb"}, "requirements-quick.txt"
	} else if err := install("goreader", "go build -o ."); err == nil {
		list = append(list, reader{name: "iceberg-go", versions: "v2 v3", ways: "files rest", read: readGo})
	} else {
		missing = append(missing, fmt.Errorf("iceberg-go: %w", err))
	}
	if err := install("node", "cmp -s package-lock.json node_modules/.lock || { npm ci --no-audit --no-fund "+
		"--ignore-scripts --prefer-offline && cp package-lock.json node_modules/.lock; }"); err == nil {
		list = append(list, reader{
			name: "icebird", versions: "v2", ways: "files", noBinary: true, noDots: true, read: readNode,
		})
	} else {
		missing = append(missing, fmt.Errorf("icebird: %w", err))
	}
	const pip = "test -x venv/bin/python || python3 -m venv venv; " +
		"venv/bin/pip install -q --disable-pip-version-check -r "
	if err := install("python", pip+requirements); err == nil {
		for _, engine := range engines {
			s3 := engine == "pyiceberg" || engine == "duckdb"
			list = append(list, reader{name: engine, versions: "v2 v3", ways: "files rest", s3: s3, read: readPython(engine)})
		}
	} else {
		missing = append(missing, fmt.Errorf("%s: %w", strings.Join(engines, ", "), err))
	}
	if *spark {
		if err := install("spark", pip+"requirements.txt",
			"mvn -q -B dependency:copy-dependencies -DoutputDirectory=target"); err != nil {
			t.Fatalf("Spark: %v", err)
		}
		list = append(list, reader{name: "spark", versions: "v2", ways: "files rest", read: readSpark})
	}
	if err := errors.Join(missing...); err != nil && len(list) == 0 {
		t.Skipf("no reader can be installed: %v", err)
	} else if err != nil {
		t.Logf("not tried: %v", err)
	}
	return list
}

// install runs commands in a folder.
func install(dir string, commands ...string) error {
	for _, c := range commands {
		ctx, cancel := context.WithTimeout(context.Background(), installLimit)
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

func readGo(t *testing.T, way string, p place) (summary, error) {
	if way == "rest" {
		return run(t, "goreader", "./goreader", way, p.uri, p.token, p.database, p.name)
	}
	return run(t, "goreader", "./goreader", way, "file://"+p.metadata())
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
