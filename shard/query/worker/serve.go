package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine"
	"cordwood/shard/query/partial"
	"cordwood/shard/segment"
)

// The descriptors that the child inherits.
const (
	controlFD = 3
	memoryFD  = 4
)

// exitByHand is the exit status if no server started the query worker.
const exitByHand = 2

// Main runs the process that `cordwood serve` starts as `cordwood query-worker`. It returns the
// status to exit with. build must equal Config.Build.
func Main(build string) int { return run(build, openEngine) }

// runner runs requests in the child: the engine, or a double in tests.
type runner interface {
	Analyze(ctx context.Context, sql, database string) (*query.Analysis, error)
	Needs(ctx context.Context, req *query.Request) ([]query.Need, error)
	Split(ctx context.Context, req *query.Request) (*query.Split, error)
	Describe(ctx context.Context, req *query.Request) (*query.Description, error)
	Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error
	PageCache() segment.CacheStats
	PartialCache() partial.Stats
}

func openEngine(cfg engine.Config) (runner, error) { return engine.Open(cfg) }

func run(build string, open func(engine.Config) (runner, error)) int {
	control, err := inherited(controlFD)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cordwood query-worker is the part of the server that runs queries: "+
			"cordwood serve starts it, and it cannot be run by hand")
		return exitByHand
	}
	// Ctrl-C and service managers signal whole process groups. This process ignores the signal and
	// ends when the server closes the socket, because the server may need it a moment longer.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := serve(control, build, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// inherited returns the socket that the process was started with.
func inherited(fd uintptr) (*net.UnixConn, error) {
	if _, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
		return nil, err
	}
	return socket(fd)
}

// socket opens an inherited descriptor as a socket.
func socket(fd uintptr) (*net.UnixConn, error) {
	f := os.NewFile(fd, "socket")
	defer f.Close() // FileConn has its own copy
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("descriptor %d is no unix socket", fd)
	}
	return u, nil
}

// server is the state of the child.
type server struct {
	engine  runner
	limit   int64
	memory  []byte
	batches batches
}

// serve works for the server at the other end of control until that closes it.
func serve(control *net.UnixConn, build string, open func(engine.Config) (runner, error)) error {
	in := make([]byte, 256<<10)
	n, err := control.Read(in)
	if err != nil {
		return fmt.Errorf("query worker: wait for the server's settings: %w", err)
	}
	h, err := parseHello(in[:n], build)
	if err != nil {
		return refuse(control, err)
	}
	s := &server{}
	if h.Settings.Shared > 0 {
		// If the file cannot be mapped, the server sends batches instead.
		s.memory, _ = unix.Mmap(memoryFD, 0, int(h.Settings.Shared), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_NORESERVE)
		_ = unix.Close(memoryFD)
	}
	if err := s.open(&h.Settings, open); err != nil {
		return refuse(control, err)
	}
	if _, err := control.Write(message(frameReady, ready{Shared: s.memory != nil, Limit: s.limit})); err != nil {
		return fmt.Errorf("query worker: answer the server: %w", err)
	}
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := control.ReadMsgUnix(in[:headerSize], oob)
		if err != nil || n == 0 {
			// The server has ended, or wants this process to end. Running queries are stopped.
			return nil
		}
		conn, err := received(oob[:oobn])
		if err != nil {
			return fmt.Errorf("query worker: take a connection: %w", err)
		}
		go s.handle(conn)
	}
}

// received handles the socket that came with a frameConnect.
func received(oob []byte) (*net.UnixConn, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("%d descriptors: %w", len(fds), err)
	}
	return socket(uintptr(fds[0]))
}

// refuse sends the server the reason why the process cannot work for it.
func refuse(control *net.UnixConn, err error) error {
	f := failureOf(errs.New(errs.Internal, "%s", err))
	if _, werr := control.Write(message(frameRefused, f)); werr != nil {
		return errors.Join(err, werr)
	}
	return nil
}

func (s *server) open(set *settings, open func(engine.Config) (runner, error)) error {
	if err := lowerPriority(set.Nice); err != nil {
		return err
	}
	level := slog.LevelInfo
	if set.Debug {
		level = slog.LevelDebug
	}
	var err error
	s.engine, err = open(engine.Config{
		MemoryLimit: set.MemoryLimit, PartialCache: set.PartialCache, Threads: set.Threads, Concurrency: set.Concurrency,
		TempDir: set.TempDir, TempLimit: set.TempLimit, Dirs: set.Dirs,
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	})
	if err != nil {
		return err
	}
	s.limit, err = limitMemory(set.HardLimit)
	return err
}

// job is a request to run.
type job struct {
	ctx     context.Context
	kind    frameKind
	query   *query.Request
	analyze analyzeRequest
}

// session is one connection. It handles one request at a time.
type session struct {
	server *server
	conn   *net.UnixConn
	// held is the last piece of an answer, if it is small. It is sent together with what follows.
	held []byte

	mu sync.Mutex // guards the fields below
	// stop ends the current request.
	stop context.CancelCauseFunc
	// requests counts the requests for cold segments; fetches are those without an answer.
	requests uint64
	fetches  map[uint64]chan fetchAnswer

	out sync.Mutex // guards held, and keeps frames apart
}

// handle serves a connection until the server closes it.
func (s *server) handle(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	c := &session{server: s, conn: conn}
	jobs := make(chan job)
	go func() {
		defer close(jobs)
		err := c.read(bufio.NewReaderSize(conn, 16<<10), jobs)
		c.cancel(context.Canceled)
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			fmt.Fprintln(os.Stderr, "query worker: read a request:", err)
		}
	}()
	for j := range jobs {
		if err := c.run(j); err != nil {
			break // the server has ended, or does not want the answer
		}
	}
	_ = conn.Close()
	for range jobs { // wait until the reader has noticed it
	}
}

// read passes on requests, and cancels them on request, until the connection ends or receives malformed data.
func (c *session) read(r *bufio.Reader, jobs chan<- job) error {
	for {
		kind, length, err := readHeader(r)
		if err != nil {
			return err
		}
		text, err := readText(r, length)
		if err != nil {
			return err
		}
		if kind == frameCancel {
			cause := context.Canceled
			if text != "" && text[0] == stopDeadline {
				cause = context.DeadlineExceeded
			}
			c.cancel(cause)
			continue
		}
		if kind == frameFetched {
			a, err := decode[fetchAnswer](&decoder{src: text})
			if err != nil {
				return err
			}
			c.fetched(a)
			continue
		}
		ctx, stop := context.WithCancelCause(context.Background())
		j := job{ctx: ctx, kind: kind}
		d := &decoder{src: text, memory: c.server.memory, batches: &c.server.batches}
		switch kind {
		case frameQuery, frameNeeds, frameSplit, frameDescribe:
			j.query, err = decode[*query.Request](d)
			if err == nil {
				err = readBodies(r, d.pending)
			}
		case frameAnalyze:
			j.analyze, err = decode[analyzeRequest](d)
		default:
			err = fmt.Errorf("unexpected frame of kind %d", kind)
		}
		if err != nil {
			stop(err)
			return err
		}
		c.mu.Lock()
		c.stop = stop
		c.mu.Unlock()
		jobs <- j
	}
}

func (c *session) cancel(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop(cause)
	}
}

// run answers one request. It returns an error only if the connection fails.
func (c *session) run(j job) error {
	var werr error
	var err error
	switch j.kind {
	case frameQuery:
		ctx := j.ctx
		if hasCold(j.query) {
			ctx = query.WithFetcher(ctx, c)
		}
		err = c.server.engine.Query(ctx, j.query, func(ipc []byte) error {
			werr = c.data(ipc)
			return werr
		})
	case frameNeeds:
		var needs []query.Need
		if needs, err = c.server.engine.Needs(j.ctx, j.query); err == nil {
			return c.write(message(frameNeeded, needs))
		}
	case frameSplit:
		var split *query.Split
		if split, err = c.server.engine.Split(j.ctx, j.query); err == nil {
			return c.write(message(frameParts, *split))
		}
	case frameDescribe:
		var d *query.Description
		if d, err = c.server.engine.Describe(j.ctx, j.query); err == nil {
			return c.write(message(frameColumns, *d))
		}
	default:
		var a *query.Analysis
		if a, err = c.server.engine.Analyze(j.ctx, j.analyze.SQL, j.analyze.Database); err == nil {
			return c.write(message(frameAnalysis, *a))
		}
	}
	if werr != nil {
		return werr
	}
	if err != nil {
		return c.write(message(frameError, failureOf(err)))
	}
	return c.write(message(frameEnd, ended{c.server.engine.PageCache(), c.server.engine.PartialCache()}))
}

// holdBytes is the maximum size of a piece that is held back.
const holdBytes = 64 << 10

// data sends a piece of the answer.
func (c *session) data(ipc []byte) error {
	c.out.Lock()
	defer c.out.Unlock()
	head := make([]byte, headerSize, headerSize+min(len(ipc), holdBytes))
	putHeader(head, frameData, len(ipc))
	if len(ipc) <= holdBytes && c.held == nil {
		c.held = append(head, ipc...)
		return nil
	}
	parts := net.Buffers{head, ipc}
	if c.held != nil {
		parts = net.Buffers{c.held, head, ipc}
		c.held = nil
	}
	_, err := parts.WriteTo(c.conn)
	return err
}

// write sends a frame after the piece that was held back.
func (c *session) write(frame []byte) error {
	c.out.Lock()
	defer c.out.Unlock()
	if c.held != nil {
		frame = append(c.held, frame...)
		c.held = nil
	}
	_, err := c.conn.Write(frame)
	return err
}
