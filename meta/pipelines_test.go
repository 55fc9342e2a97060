package meta

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"google.golang.org/grpc"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

func TestApplyPipelines(t *testing.T) {
	// The n-th command that reaches the log has the time of n seconds.
	const public = "bootstrap c1 shards=1"
	for _, tt := range []struct {
		name  string
		steps []string
	}{
		{"versions are times", []string{
			public,
			"put nginx a: b => nginx@2000000000 yaml 4",
			"put nginx a: b => nginx@3000000000 yaml 4",
			"put other c => other@4000000000 yaml 1",
		}},
		{"delete", []string{
			public,
			"put nginx a => nginx@2000000000 yaml 1",
			"put nginx bc => nginx@3000000000 yaml 2",
			"delete nginx 3000000000 => nginx@3000000000 yaml 2",
			"delete nginx 3000000000 => ",
			"delete nginx 1 => ",
			"delete nope 2000000000 => ",
			"delete nginx 2000000000 => nginx@2000000000 yaml 1",
			"put nginx a => nginx@9000000000 yaml 1",
		}},
		{"names", []string{
			public,
			"put A-z_0.9:x a => A-z_0.9:x@2000000000 yaml 1",
			`put a/b a => 1004 Invalid pipeline name: "a/b"; 1 to 128 letters, digits and _ . : - are allowed`,
			"put " + strings.Repeat("n", 129) + " a => 1004 …",
			"put " + strings.Repeat("n", 128) + " a => " + strings.Repeat("n", 128) + "@3000000000 yaml 1",
		}},
		{"texts", []string{
			public,
			"put empty => 1004 Put pipeline empty: the text is empty",
			"put bad \xff => 1004 Put pipeline bad: the text is not valid UTF-8",
			"put long " + strings.Repeat("x", catalog.MaxPipelineBytes+1) +
				" => 1004 Put pipeline long: the text has 1048577 bytes, at most 1048576 are allowed",
			"put long " + strings.Repeat("x", catalog.MaxPipelineBytes) + " => long@2000000000 yaml 1048576",
		}},
		{"tables of the server's own", []string{
			public,
			"ensure svc_private.rejects time:ts9! => 1004 Database `svc_private` is reserved for the server and " +
				"cannot be changed",
			"ensure information_schema.x time:ts9! internal => 1004 Database `information_schema` is reserved for " +
				"the server and cannot be changed",
			"ensure nope.x time:ts9! internal => 4004 Database `nope` not found",
			"ensure svc_private.9 time:ts9! internal => 1004 …",
			"ensure svc_private.rejects a:string internal => 1004 …",
			"ensure svc_private.rejects time:ts9! ttl=7d internal => svc_private.rejects=1 v1 @1 " +
				"time:timestampnanosecond/1! append_mode=true ttl=7days",
			"ensure svc_private.rejects a:string internal => svc_private.rejects=1 v2 @1 time:timestampnanosecond/1! " +
				"a:string/2 append_mode=true ttl=7days",
			"ensure svc_private.rejects b:string => 1004 …",
			"drop svc_private.rejects => 1004 …",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t)
			for i, step := range tt.steps {
				line, want, arrow := strings.Cut(step, " => ")
				got := r.do(line)
				switch {
				case !arrow:
					if strings.HasPrefix(got, "1004") {
						t.Fatalf("step %d: %.80s: %s", i, line, got)
					}
				case strings.HasSuffix(want, "…"):
					if !strings.HasPrefix(got, strings.TrimSuffix(want, "…")) {
						t.Errorf("step %d: %.80s: %s, want %s", i, line, got, want)
					}
				case got != want:
					t.Errorf("step %d: %.80s: %s, want %s", i, line, got, want)
				}
			}
		})
	}
}

// at runs a command of the test language at the given time.
func (r *runner) at(line string, unixNano int64) string {
	r.t.Helper()
	cmd := command(r.t, line)
	cmd.TimeUnixNano = unixNano
	if err := prepare(cmd); err != nil {
		return describe(refused(errs.From(err)))
	}
	var result *metapb.Result
	err := r.machine.catalog.Update(func(tx *catalog.Tx) (err error) {
		result, err = r.machine.execute(tx, cmd, &change{Index: r.index})
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return describe(result)
}

// Versions ascend whatever the proposers' clocks say, and none is assigned twice.
func TestPipelineVersionsRise(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	for i, step := range []struct {
		line string
		at   int64
		want string
	}{
		{"put a x", 5000, "a@5000 yaml 1"},
		{"put a x", 5000, "a@5001 yaml 1"},
		{"put b x", 5000, "b@5002 yaml 1"},
		{"put a x", 4000, "a@5003 yaml 1"},
		{"delete a 5003", 6000, "a@5003 yaml 1"},
		{"put a x", 5003, "a@5004 yaml 1"},
		{"put a x", 7000, "a@7000 yaml 1"},
		{"put a x", -1, "a@7001 yaml 1"},
	} {
		if got := r.at(step.line, step.at); got != step.want {
			t.Errorf("step %d: %s at %d: %s, want %s", i, step.line, step.at, got, step.want)
		}
	}
}

func TestPipelineCaps(t *testing.T) {
	if testing.Short() {
		t.Skip("stores many versions")
	}
	put := func(r *runner, n int, name func(i int) string, size int) {
		text := bytes.Repeat([]byte("x"), size)
		err := r.machine.catalog.Update(func(tx *catalog.Tx) error {
			for i := range n {
				result, err := applyPutPipeline(tx, &metapb.PutPipeline{
					Name: name(i), ContentType: "yaml", Source: text,
				}, int64(i), &change{})
				if err != nil || result.Pipeline == nil {
					return fmt.Errorf("%d: %v %w", i, result, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		fill func(r *runner)
		want string
		then string // frees space
	}{
		{
			"versions of a name", func(r *runner) { put(r, catalog.MaxPipelineVersions, func(int) string { return "p" }, 1) },
			"1004 Pipeline p cannot be stored: it has 1000 versions, the maximum; delete old ones", "delete p 1",
		},
		{
			"names", func(r *runner) { put(r, catalog.MaxPipelines, func(i int) string { return fmt.Sprint("n", i) }, 1) },
			"1004 Pipeline p cannot be stored: there are 10000 pipelines, the maximum; delete some", "delete n0 1",
		},
		{
			"bytes", func(r *runner) { put(r, 32, func(int) string { return "n" }, catalog.MaxPipelineBytes) },
			"1004 Pipeline p cannot be stored: all versions of all pipelines would have 33554433 bytes, at most " +
				"33554432 are allowed; delete old ones", "delete n 1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t)
			r.do("bootstrap c1 shards=1")
			tt.fill(r)
			if got := r.do("put p x"); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			r.do(tt.then)
			if got := r.do("put p x"); !strings.HasPrefix(got, "p@") {
				t.Errorf("after room was made: %s", got)
			}
		})
	}
}

// TestStateOfEarlierVersion opens a state of an earlier version, which has no buckets of pipelines.
func TestStateOfEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	m := mustOpen(t, Config{Dir: dir})
	propose(t, m, "bootstrap c1 shards=1")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, StateFile)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket([]byte("pipelines")); err != nil {
			return err
		}
		return tx.DeleteBucket([]byte("pipeline_texts"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Inspect(&bytes.Buffer{}, path); err != nil {
		t.Errorf("inspect: %v", err)
	}
	m = mustOpen(t, Config{Dir: dir})
	if got := propose(t, m, "put p x"); !strings.HasPrefix(got, "p@") {
		t.Error(got)
	}
}

// texts collects what ReadPipelines sends.
type texts struct {
	grpc.ServerStream
	ctx context.Context
	got []string
}

func (s *texts) Context() context.Context { return s.ctx }

func (s *texts) Send(r *metapb.ReadPipelinesResponse) error {
	s.got = append(s.got, r.Pipeline.Name+" "+string(r.Source))
	return nil
}

func TestReadPipelinesSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	m := mustOpen(t, Config{Dir: dir})
	propose(t, m, "bootstrap c1 shards=1")
	for i := range 250 {
		propose(t, m, fmt.Sprintf("put p%d text%d", i%2, i))
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = mustOpen(t, Config{Dir: dir})
	read := func(name string, version int64) []string {
		s := &texts{ctx: within(t)}
		if err := m.ReadPipelines(&metapb.ReadPipelinesRequest{Name: name, Version: version}, s); err != nil {
			t.Fatal(err)
		}
		return s.got
	}
	var want []string
	for _, start := range []int{0, 1} {
		for i := start; i < 250; i += 2 {
			want = append(want, fmt.Sprintf("p%d text%d", start, i))
		}
	}
	if diff := cmp.Diff(want, read("", 0)); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[125:], read("p1", 0)); diff != "" {
		t.Errorf("one name (-want +got):\n%s", diff)
	}
	if got := read("p", 0); got != nil {
		t.Errorf("a prefix of names: %v", got)
	}
	if got := read("p1", 7); got != nil {
		t.Errorf("an unknown version: %v", got)
	}
}

// TestLogIsCutByBytes checks that the log has at most a few times SnapshotBytes of commands,
// however large they are.
func TestLogIsCutByBytes(t *testing.T) {
	dir := t.TempDir()
	m := mustOpen(t, Config{Dir: dir, SnapshotBytes: 1 << 20})
	propose(t, m, "bootstrap c1 shards=1")
	text := strings.Repeat("x", 200_000)
	for i := range 40 {
		propose(t, m, fmt.Sprintf("put p%d %s", i%4, text))
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		files, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no snapshot was taken")
		}
		propose(t, m, "put p "+text)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = mustOpen(t, Config{Dir: dir})
	if got := propose(t, m, "put p0 x"); !strings.HasPrefix(got, "p0@") {
		t.Error(got)
	}
}
