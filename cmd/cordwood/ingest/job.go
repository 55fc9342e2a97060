package ingest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/lazyregexp"
)

// MaxReasons is the maximum number of reasons for skipped records, and of warnings, that are
// printed.
const MaxReasons = 5

// ingestJob sends files in batches.
type ingestJob struct {
	client   *client.Client
	query    url.Values
	hints    string // options of tables that are created, or ""
	format   InputFormat
	batch    int
	parallel int
	timeout  time.Duration // for all tries of a batch; 0 means that the number of tries is limited instead
	after    time.Duration // the time that a batch of a pipe may wait; 0 means until it is full
	stdin    io.Reader
	force    bool // send files even if they seem to be binary
	progress *progress
	stop     <-chan struct{} // closed when a signal comes
	live     atomic.Bool     // a pipe is being read; stop ends it

	mu      sync.Mutex // guards the rest
	written int64
	skipped int64
	dropped int64 // records that the pipeline dropped
	sent    int64 // bytes of accepted batches
	reasons []string
	// warnings list values that the server changed when it stored them; warned counts them.
	warnings []string
	warned   int
}

// piece is a batch that is sent to the server.
type piece struct {
	chunk
	file   string
	unit   string
	format InputFormat
}

// run sends all files. After an error no further batch is sent; batches in flight are waited for,
// and counted, unless sending ends.
func (j *ingestJob) run(sending context.Context, files []string) error {
	g, ctx := errgroup.WithContext(sending)
	pieces := make(chan piece)
	free := make(chan []byte, j.parallel+1) // one buffer for each batch that can be in use
	for range j.parallel + 1 {
		free <- nil
	}
	g.Go(func() error {
		defer close(pieces)
		for _, file := range files {
			err := j.read(ctx, file, pieces, free)
			if errors.Is(err, errStopped) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for range j.parallel {
		g.Go(func() error {
			for p := range pieces {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err := j.send(sending, p); err != nil {
					return p.located(err)
				}
				free <- p.Data
			}
			return nil
		})
	}
	return g.Wait()
}

// checkFiles returns an error if a file cannot be opened, so that a wrong name among many is
// reported before any file is sent. It opens only regular files: opening a pipe would wait for its
// writer.
func checkFiles(files []string) error {
	for _, file := range files {
		if file == "-" {
			continue
		}
		info, err := os.Stat(file)
		if err == nil && info.IsDir() {
			err = errors.New("it is a directory: give the files in it")
		}
		if err == nil && info.Mode().IsRegular() {
			var f *os.File
			if f, err = os.Open(file); err == nil {
				err = f.Close()
			}
		}
		if err != nil {
			if path := (*fs.PathError)(nil); errors.As(err, &path) {
				err = path.Err // it contains the file name again
			}
			return fmt.Errorf("%s: %w; nothing was sent", file, err)
		}
	}
	return nil
}

// read splits one file into batches. Every buffer that it takes from free goes to pieces or back to free.
func (j *ingestJob) read(ctx context.Context, file string, pieces chan<- piece, free chan []byte) error {
	in := j.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	r, done, packed, err := Decompress(j.progress.count(in))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if want := packedByName(file); !j.force && want != "" && packed != want {
		done()
		return fmt.Errorf("%s: the name means %s, but the content is not: nothing of it was sent; rename it, or use --force",
			file, want)
	}
	var live *stream
	guess := GuessFormat
	if j.after > 0 && Flows(in) {
		live = newStream(ctx, j.stop, r, done, j.after)
		j.live.Store(true)
		defer j.live.Store(false)
		r = bufio.NewReaderSize(live, peekBytes)
		guess = guessByLine
	} else {
		defer done()
	}
	format, err := j.begin(r, guess, live == nil && !j.force)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if format == FormatText && isCSV(file) && j.query.Get("pipeline_name") == "svc_identity" {
		j.progress.note(fmt.Sprintf("hint: %s is stored as lines of text, in the column message; %s", file, csvAdvice))
	}
	return j.split(ctx, file, newLiveSplitter(r, live, format), format, pieces, free)
}

// begin skips the byte order mark of a file, checks its first bytes, and returns its format.
func (j *ingestJob) begin(r *bufio.Reader, guess func(*bufio.Reader) (InputFormat, error), mustBeText bool,
) (InputFormat, error) {
	if err := SkipByteOrderMark(r); err != nil {
		return 0, err
	}
	if mustBeText {
		if err := checkText(r); err != nil {
			return 0, err
		}
	}
	switch {
	case j.format == FormatAuto:
		return guess(r)
	case j.format == FormatNDJSON && j.query.Get("skip_error") != "true":
		return j.format, checkJSONLines(r, guess)
	}
	return j.format, nil
}

// split passes on the batches of a file until it ends.
func (j *ingestJob) split(ctx context.Context, file string, s Splitter, format InputFormat, pieces chan<- piece,
	free chan []byte,
) error {
	for {
		var buf []byte
		select {
		case buf = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		if buf == nil {
			buf = make([]byte, 0, j.batch+j.batch/8)
		}
		c, err := s.Next(buf, j.batch)
		if err != nil {
			free <- buf // free has room for all buffers
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		select {
		case pieces <- piece{chunk: c, file: file, unit: s.unit(), format: format}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Ingested is the answer to a batch.
type Ingested struct {
	Output []struct {
		AffectedRows int64 `json:"affectedrows"`
	} `json:"output"`
	// Skipped has the number of dropped records, and the reasons of the first ones.
	Skipped struct {
		Reasons []struct {
			Index int64  `json:"index"`
			Error string `json:"error"`
		} `json:"reasons"`
	} `json:"skipped"`
}

// lineIndex matches the server's index of a line that it cannot read, counted from 0 in the body.
var lineIndex = lazyregexp.New(`^invalid (?:JSON|line) at index: ([0-9]+)`)

// recordIndex matches the server's index of a record that fails, counted from 0 in the body.
var recordIndex = lazyregexp.New(`^record ([0-9]+): `)

// asFlags translates the server's advice into flags of the command.
var asFlags = strings.NewReplacer("send them as text/plain", "use --format text", "skip_error=true", "--skip-error",
	"set the table option on_type_conflict=aside", "set the table option on_type_conflict=aside (--hint for a new table)")

// located adds the position in the file to err.
func (p *piece) located(err error) error {
	text := asFlags.Replace(err.Error())
	if m := recordIndex.FindStringSubmatch(text); m != nil {
		if n, bad := strconv.ParseInt(m[1], 10, 64); bad == nil {
			return &locatedError{err, fmt.Sprintf("%s, %s: %s", p.file, p.record(n), text[len(m[0]):])}
		}
	}
	return &locatedError{err, p.where(err) + ": " + text}
}

// locatedError is an error of the server with positions in the file.
type locatedError struct {
	err  error
	text string
}

func (e *locatedError) Error() string { return e.text }

func (e *locatedError) Unwrap() error { return e.err }

// where returns the line of the file if the server's error has its number, else the position of the piece.
func (p *piece) where(err error) string {
	if m := lineIndex.FindStringSubmatch(err.Error()); m != nil && p.unit == "lines" {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return fmt.Sprintf("%s, line %d", p.file, p.first+n)
		}
	}
	return fmt.Sprintf("%s, %s %d-%d", p.file, p.unit, p.first, p.last)
}

// record describes a record of the piece, which the server counts from 0: by its line in the file,
// or by its number among the values of a JSON file.
func (p *piece) record(index int64) string {
	if p.format == formatJSON {
		return fmt.Sprintf("record %d", p.first+index)
	}
	if index >= 0 {
		line, left := p.first, index
		for text := range bytes.Lines(p.Data) {
			blank := len(bytes.TrimRight(text, "\r\n")) == 0
			if p.format == FormatNDJSON {
				blank = len(bytes.TrimSpace(text)) == 0
			}
			if !blank { // the server does not count blank lines
				if left == 0 {
					return fmt.Sprintf("line %d", line)
				}
				left--
			}
			line++
		}
	}
	return fmt.Sprintf("record %d of %s %d-%d", index+1, p.unit, p.first, p.last)
}

// send sends one batch and counts the results.
func (j *ingestJob) send(ctx context.Context, p piece) error {
	header := http.Header{"Content-Type": {ContentTypes[p.format]}, "Idempotency-Key": {rand.Text()}}
	if j.hints != "" {
		header.Set("X-Svc-Hints", j.hints)
	}
	if j.timeout > 0 {
		header.Set("X-Svc-Timeout", j.timeout.String())
	}
	resp, err := j.client.Do(ctx, client.Request{
		Method: http.MethodPost,
		Path:   "/v1/ingest",
		Query:  j.query,
		Header: header,
		Body:   p.Data,
		Within: j.timeout,
		Limit:  j.timeout,
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var a Ingested
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return fmt.Errorf("reading the server's answer (the batch is stored): %w", err)
	}
	skipped, _ := strconv.ParseInt(resp.Header.Get("x-svc-skipped"), 10, 64)
	dropped, _ := strconv.ParseInt(resp.Header.Get("x-svc-dropped"), 10, 64)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, o := range a.Output {
		j.written += o.AffectedRows
	}
	j.skipped += skipped
	j.dropped += dropped
	j.sent += int64(len(p.Data))
	for _, r := range a.Skipped.Reasons {
		if len(j.reasons) < MaxReasons {
			j.reasons = append(j.reasons, fmt.Sprintf("%s, %s: %s", p.file, p.record(r.Index), cli.Printable(r.Error)))
		}
	}
	rows := int64(0)
	for _, o := range a.Output {
		rows += o.AffectedRows
	}
	j.progress.sent(p.file, rows)
	for _, w := range resp.Header.Values("x-svc-warnings") {
		if j.warned++; len(j.warnings) < MaxReasons {
			j.warnings = append(j.warnings, fmt.Sprintf("%s, %s %d-%d: %s", p.file, p.unit, p.first, p.last, w))
		}
	}
	return nil
}
