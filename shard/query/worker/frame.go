package worker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"reflect"
	"time"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
	"cordwood/shard/segment"
)

// protocolVersion is the version in FORMAT.md.
const protocolVersion = 6

// headerSize is the size of a frame's header: the length of the rest of the frame, the frame's
// kind, and zeros.
const headerSize = 8

// maxMessage is the maximum length of a message, without the bodies of batches.
const maxMessage = 1 << 30

// frameKind is the kind of a frame.
type frameKind uint8

// The kinds of frames; the numbers are part of the format.
const (
	// From the server: a request, the memory of its batches, a request to stop.
	frameQuery    frameKind = 1
	frameAnalyze  frameKind = 2
	frameBody     frameKind = 3
	frameCancel   frameKind = 4
	frameNeeds    frameKind = 5
	frameSplit    frameKind = 6
	frameDescribe frameKind = 7
	frameFetched  frameKind = 8
	// From the child: a part of the answer, the end of the answer, an error instead of an answer; and parts of cold
	// segments that the server has to fetch before the query goes on.
	frameData     frameKind = 16
	frameEnd      frameKind = 17
	frameAnalysis frameKind = 18
	frameError    frameKind = 19
	frameNeeded   frameKind = 20
	frameParts    frameKind = 21
	frameColumns  frameKind = 22
	frameFetch    frameKind = 23
	// On the socket between the processes.
	frameHello   frameKind = 32
	frameReady   frameKind = 33
	frameRefused frameKind = 34
	frameConnect frameKind = 35
)

// Reasons in a frameCancel for which a request has to stop.
const (
	stopCancelled = 0
	stopDeadline  = 1
)

// analyzeRequest is the message of a frameAnalyze.
type analyzeRequest struct {
	SQL, Database string
}

// fetchRequest is the message of a frameFetch. Number counts the requests of a connection.
type fetchRequest struct {
	Number uint64
	Wants  []query.Want
	// Cost asks what was done and what fetching would do, instead of fetching.
	Cost bool
	// Have asks for what needs no object storage only.
	Have bool
}

// fetchAnswer is the message of a frameFetched, for the request with the same number.
type fetchAnswer struct {
	Number  uint64
	Failure *failure
	// Done and More answer a request with Cost.
	Done, More query.Traffic
	// Have answers a request with Have: whether each of the wants is there.
	Have []bool
}

// ended is the message of a frameEnd.
type ended struct {
	// Pages are the counters of the process's page cache since its start.
	Pages segment.CacheStats
	// Parts are the counters of its cache of partial results.
	Parts partial.Stats
}

// failure is an errs.Error in its encoded form.
type failure struct {
	Code       errs.Code
	Msg        string
	HTTPStatus int
	RetryAfter time.Duration
	Reason     errs.Reason
	Leader     string
	// Cause is the text of the cause, for the log.
	Cause string
}

func failureOf(err error) failure {
	e := errs.From(err)
	f := failure{
		Code: e.Code, Msg: e.Msg, HTTPStatus: e.HTTPStatus, RetryAfter: e.RetryAfter, Reason: e.Reason,
		Leader: e.Leader,
	}
	if e.Err != nil {
		f.Cause = e.Err.Error()
	}
	return f
}

func (f *failure) err() error {
	e := &errs.Error{
		Code: f.Code, Msg: f.Msg, HTTPStatus: f.HTTPStatus, RetryAfter: f.RetryAfter, Reason: f.Reason,
		Leader: f.Leader,
	}
	if f.Cause != "" {
		e.Err = fmt.Errorf("%s", f.Cause)
	}
	return e
}

// hello is the server's first message. Its first bytes are the same in all versions.
type hello struct {
	// Types is the fingerprint of the messages' types.
	Types    uint64
	Build    string
	Settings settings
}

// ready is the child's answer.
type ready struct {
	// Shared means that the child could map the shared memory file.
	Shared bool
	// Limit is how much private memory the process may have, in bytes, as the system counts it.
	Limit int64
}

// messageTypes returns the fingerprint of the types of all messages.
func messageTypes() uint64 {
	return fingerprint(reflect.TypeFor[query.Request](), reflect.TypeFor[query.Analysis](),
		reflect.TypeFor[analyzeRequest](),
		reflect.TypeFor[[]query.Need](), reflect.TypeFor[query.Split](), reflect.TypeFor[failure](), reflect.TypeFor[hello](),
		reflect.TypeFor[query.Description](), reflect.TypeFor[ready](), reflect.TypeFor[ended](),
		reflect.TypeFor[fetchRequest](), reflect.TypeFor[fetchAnswer]())
}

func putHeader(b []byte, kind frameKind, length int) {
	binary.LittleEndian.PutUint32(b, uint32(length))
	b[4], b[5], b[6], b[7] = byte(kind), 0, 0, 0
}

// message returns a frame with v in it.
func message(kind frameKind, v any) []byte {
	e := encoder{buf: make([]byte, headerSize, 256)}
	e.encode(v)
	putHeader(e.buf, kind, len(e.buf)-headerSize)
	return e.buf
}

// writeRequest sends a request and the bodies of its batches.
func writeRequest(conn *net.UnixConn, kind frameKind, e *encoder) error {
	if n := len(e.buf) - headerSize; n > maxMessage {
		return errs.New(errs.RuntimeResourcesExhausted, "query: the message to the query worker would have %d bytes, at "+
			"most %d are possible; use a shorter statement or fewer tables", n, maxMessage)
	}
	putHeader(e.buf, kind, len(e.buf)-headerSize)
	if len(e.bodies) == 0 {
		_, err := conn.Write(e.buf)
		return err
	}
	parts := net.Buffers{e.buf}
	heads := make([]byte, headerSize*len(e.bodies))
	for i, body := range e.bodies {
		head := heads[i*headerSize : (i+1)*headerSize]
		putHeader(head, frameBody, len(body))
		parts = append(parts, head, body)
	}
	_, err := parts.WriteTo(conn)
	return err
}

// readHeader takes the header of the next frame. Nothing is taken if it fails.
func readHeader(r *bufio.Reader) (kind frameKind, length int, err error) {
	b, err := r.Peek(headerSize)
	if err != nil {
		return 0, 0, err
	}
	kind, length = frameKind(b[4]), int(binary.LittleEndian.Uint32(b))
	_, err = r.Discard(headerSize)
	return kind, length, err
}

// readText reads a message of the given length as a text. The decoder takes substrings of it.
func readText(r io.Reader, length int) (string, error) {
	if length > maxMessage {
		return "", fmt.Errorf("message of %d bytes is too long", length)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", err
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), nil
}

// readBodies reads the memory of batches that follows their message.
func readBodies(r *bufio.Reader, pending []pendingBatch) error {
	for i := range pending {
		p := &pending[i]
		kind, length, err := readHeader(r)
		if err != nil {
			return err
		}
		if kind != frameBody || length != p.size {
			return fmt.Errorf("frame of kind %d with %d bytes, expected a batch of %d bytes", kind, length, p.size)
		}
		// Allocate words, so that the memory is aligned for them.
		words := make([]uint64, (length+7)/8)
		mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), length)
		if _, err := io.ReadFull(r, mem); err != nil {
			return err
		}
		if err := p.open(mem); err != nil {
			return err
		}
	}
	return nil
}
