package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// sweepArgument makes the test program run as a child that executes the statements of a sweep.
const sweepArgument = "sweep-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sweepArgument {
		if err := sweepChild(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	// sweepTime is how long a statement may run. sweepGrace is how long its threads may still
	// compute after that. sweepWait is how long it may take in total.
	sweepTime    = 500 * time.Millisecond
	sweepGrace   = 4 * time.Second
	sweepWait    = time.Minute
	sweepThreads = 2
	// sweepMemory is the memory limit of the child.
	sweepMemory = 2 << 30
)

// sweepResult is the outcome of a statement.
type sweepResult struct {
	Code errs.Code
	Text string
}

// sweepChild runs the statements that come as lines of JSON, one after the other.
func sweepChild(in io.Reader, out io.Writer) error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: sweepMemory, Max: sweepMemory}); err != nil {
		return err
	}
	e, err := Open(Config{
		MemoryLimit: 256 << 20,
		Threads:     sweepThreads,
		Logger:      slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	tab, err := sweepTable()
	if err != nil {
		return err
	}
	lines := json.NewDecoder(bufio.NewReader(in))
	results := json.NewEncoder(out)
	for {
		var sql string
		if err := lines.Decode(&sql); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
		err := e.Query(ctx, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}, Limit: 100},
			func([]byte) error { return nil })
		cancel()
		result := sweepResult{Code: errs.CodeOf(err)}
		if err != nil {
			result.Text = err.Error()
		}
		if err := results.Encode(result); err != nil {
			return err
		}
	}
}

// sweepTable has the arguments of statements as columns, because DuckDB computes columns in another
// way than literals.
func sweepTable() (query.Table, error) {
	columns := cols("ts:TimestampNanosecond", "i:Int64", "u:UInt64", "f:Float64", "s:String", "j:Json",
		"b:Binary", "k:Int8")
	b := build(columns, [][]any{
		{0, 0, 0, 0.0, "", "{}", "", 0},
		{-1, -1 << 63, -1, -1e308, strings.Repeat("[", 1<<20), `{"a":{"b":[1,2,null]}}`, "\x00\xff", -128},
		{
			-1 << 63, 1<<63 - 1, 1, 1e308, strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000), `[]`,
			"a", 127,
		},
		{1<<63 - 1, 1, 1<<63 - 1, 5e-324, strings.Repeat("aé", 200_000), `"x"`, strings.Repeat("\x00", 100_000), 1},
		{1, nil, nil, nil, nil, nil, nil, nil},
	})
	batch, err := column.Decode(b.Encode(nil, column.Header{TableID: 1}), nil)
	if err != nil {
		return query.Table{}, err
	}
	return table("t", columns, batch), nil
}

// sweeper runs statements in a child process, and starts a new one when a statement ends it.
type sweeper struct {
	mu      sync.Mutex
	cmd     *exec.Cmd
	in      io.WriteCloser
	results chan sweepResult
}

func (s *sweeper) start() error {
	s.cmd = exec.Command(os.Args[0], sweepArgument)
	s.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	results := make(chan sweepResult)
	s.results = results
	go func() {
		defer close(results)
		for d := json.NewDecoder(out); ; {
			var r sweepResult
			if d.Decode(&r) != nil {
				return
			}
			results <- r
		}
	}()
	return nil
}

// stop ends the child.
func (s *sweeper) stop() string {
	if s.cmd == nil {
		return ""
	}
	_ = s.in.Close()
	_ = s.cmd.Process.Kill()
	for range s.results { // until its output has ended
	}
	err := s.cmd.Wait()
	s.cmd = nil
	return fmt.Sprint(err)
}

// errCrash means that a statement ended the child, errHang that it could not be stopped.
var (
	errCrash = errors.New("the statement ended the process")
	errHang  = errors.New("the statement did not stop")
)

// run runs a statement. Its error is errCrash, errHang, or an error of the test itself.
func (s *sweeper) run(sql string) (sweepResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		if err := s.start(); err != nil {
			return sweepResult{}, err
		}
	}
	line, err := json.Marshal(sql)
	if err != nil {
		return sweepResult{}, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.stop()
		return sweepResult{}, fmt.Errorf("%w (%w)", errCrash, err)
	}
	// The elapsed time of a statement depends on the load of the machine. The CPU time of the child
	// does not.
	before := s.used()
	given := time.NewTimer(sweepWait)
	defer given.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case r, ok := <-s.results:
			if !ok {
				return r, fmt.Errorf("%w: %s", errCrash, s.stop())
			}
			return r, nil
		case <-look.C:
			if s.used()-before < sweepThreads*(sweepTime+sweepGrace) {
				continue
			}
		case <-given.C:
		}
		s.stop()
		return sweepResult{}, errHang
	}
}

// used returns the CPU time that the child has used.
func (s *sweeper) used() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^s.cmd.Process.Pid<<3|2), &ts); err != nil { // clock_getcpuclockid(3)
		return 0
	}
	return time.Duration(ts.Nano())
}

// newSweeper returns a sweeper that is closed when the test ends.
func newSweeper(t testing.TB) *sweeper {
	s := &sweeper{}
	if r, err := s.run("SELECT count(*) FROM t"); err != nil || r.Code != errs.Success {
		t.Fatalf("the child does not run statements: %v %+v", err, r)
	}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop()
	})
	return s
}
