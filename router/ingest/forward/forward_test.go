package forward

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/tinylib/msgp/msgp"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/ingest/sockreceiver/socktest"
	"cordwood/router/vrl/value"
)

// server returns the address of a server on a store in memory.
func server(t testing.TB, change ...func(*Config)) (string, *socktest.Fixture) {
	t.Helper()
	f := socktest.New(t)
	cfg := Config{Config: f.Config}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return socktest.TCP(t, s), f
}

var at = time.UnixMilli(1720081858500).UTC()

// eventTimeOf returns a time as an EventTime.
func eventTimeOf(at time.Time) []byte {
	sec, nsec := uint32(at.Unix()), uint32(at.Nanosecond()) //nolint:gosec // they fit
	return []byte{
		0xd7, 0, byte(sec >> 24), byte(sec >> 16), byte(sec >> 8), byte(sec), byte(nsec >> 24), byte(nsec >> 16),
		byte(nsec >> 8), byte(nsec),
	}
}

// entry returns an entry of the modes Forward and PackedForward.
func entry(text string) []byte {
	b := append(msgp.AppendArrayHeader(nil, 2), eventTimeOf(at)...)
	return msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(b, 1), "msg"), text)
}

// option returns the options of a message as texts.
func option(pairs ...string) []byte {
	b := msgp.AppendMapHeader(nil, uint32(len(pairs)/2))
	for _, text := range pairs {
		b = msgp.AppendString(b, text)
	}
	return b
}

// message joins a tag with the parts of a message.
func messageOf(tag string, parts ...[]byte) string {
	b := msgp.AppendString(msgp.AppendArrayHeader(nil, uint32(1+len(parts))), tag)
	return string(append(b, bytes.Join(parts, nil)...))
}

// packedOf returns entries as in the modes PackedForward.
func packedOf(entries ...[]byte) []byte { return msgp.AppendBytes(nil, bytes.Join(entries, nil)) }

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data) // to memory
	_ = w.Close()
	return out.Bytes()
}

func zstded(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

func unhex(t testing.TB, text string) string {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// acked reads an ack.
func acked(t testing.TB, c io.Reader) string {
	t.Helper()
	want := msgp.AppendString(msgp.AppendMapHeader(nil, 1), "ack")
	b := make([]byte, len(want)+1)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatalf("reading an ack: %v", err)
	}
	if !bytes.HasPrefix(b, want) || b[len(want)]&0xe0 != 0xa0 {
		t.Fatalf("no ack: %x", b)
	}
	name := make([]byte, b[len(want)]&0x1f)
	if _, err := io.ReadFull(c, name); err != nil {
		t.Fatal(err)
	}
	return string(name)
}

// The messages of all modes. Those of fluent-logger for Python were recorded.
func TestModes(t *testing.T) {
	row := func(tag, msg string) ingesttest.Row {
		return ingesttest.Row{"svc_timestamp": at, "tag": tag, "msg": msg}
	}
	entries := func(packed ...[]byte) []byte {
		return append(msgp.AppendArrayHeader(nil, uint32(len(packed))), bytes.Join(packed, nil)...)
	}
	for _, c := range []struct {
		name, text string
		want       []ingesttest.Row
	}{
		{
			"fluent-logger for Python, nanoseconds",
			unhex(t, "93a76170702e776562d70066865dc21dcd650083a16e01a36d7367a26869a16f81a1619401cb4004000000000000c0c3"),
			[]ingesttest.Row{{"svc_timestamp": at, "tag": "app.web", "n": int64(1), "msg": "hi", "o.a": "[1,2.5,null,true]"}},
		},
		{
			"numbers that JSON does not have",
			messageOf("a", eventTimeOf(at), msgp.AppendFloat64(msgp.AppendString(msgp.AppendFloat32(msgp.AppendString(
				msgp.AppendMapHeader(nil, 2), "n"), float32(math.NaN())), "f"), math.Inf(-1))),
			[]ingesttest.Row{{"svc_timestamp": at, "tag": "a", "n": "NaN", "f": "-Infinity"}},
		},
		{
			"fluent-logger for Python", unhex(t, "93a3617070ce66865dc281a36d7367a26869"),
			[]ingesttest.Row{{"svc_timestamp": at.Truncate(time.Second), "tag": "app", "msg": "hi"}},
		},
		{
			"Message with options", messageOf("a", eventTimeOf(at), entry("x")[11:], option("size", "1")),
			[]ingesttest.Row{row("a", "x")},
		},
		{"Forward", messageOf("a", entries(entry("x"), entry("y"))), []ingesttest.Row{row("a", "x"), row("a", "y")}},
		{
			"Fluent Bit with metadata", messageOf("a", entries(slices(0x92, 0x92, eventTimeOf(at), 0x80, entry("x")[11:])),
				option("fluent_signal", "0")),
			[]ingesttest.Row{row("a", "x")},
		},
		{"PackedForward", messageOf("a", packedOf(entry("x"), entry("y"))), []ingesttest.Row{row("a", "x"), row("a", "y")}},
		{
			"PackedForward as a text", messageOf("a", msgp.AppendString(nil, string(entry("x"))), msgp.AppendNil(nil)),
			[]ingesttest.Row{row("a", "x")},
		},
		{
			"CompressedPackedForward", messageOf("a", msgp.AppendBytes(nil, gzipped(append(entry("x"), entry("y")...))),
				option("compressed", "gzip")),
			[]ingesttest.Row{row("a", "x"), row("a", "y")},
		},
		{
			"CompressedPackedForward, several streams",
			messageOf("a", msgp.AppendBytes(nil, append(gzipped(entry("x")), gzipped(entry("y"))...)),
				option("compressed", "gzip")),
			[]ingesttest.Row{row("a", "x"), row("a", "y")},
		},
		{
			"CompressedPackedForward, zstd",
			messageOf("a", msgp.AppendBytes(nil, zstded(t, entry("x"))), option("compressed", "zstd")),
			[]ingesttest.Row{row("a", "x")},
		},
		{
			"a record with a tag", messageOf("a", msgp.AppendInt(nil, 7), option("tag", "own")),
			[]ingesttest.Row{{"svc_timestamp": time.Unix(7, 0).UTC(), "tag": "own", "fluent_tag": "a"}},
		},
		{
			"values of all kinds",
			messageOf("a", msgp.AppendFloat64(nil, 1.5), slices(0x88,
				0xa1, 'u', msgp.AppendUint64(nil, 1<<63+1), 0xa1, 'f', msgp.AppendFloat32(nil, 0.5), 0xa1, 'n',
				[]byte{0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0},
				0xa1, 'b', msgp.AppendBytes(nil, []byte("a\xff")), 0xa1, 't', eventTimeOf(at), 0xa1, 'e', []byte{0xd4, 9, 1},
				0xa1, 'm', 0x80,
				7, 0xa1, 'k')),
			[]ingesttest.Row{{
				"svc_timestamp": time.UnixMilli(1500).UTC(), "tag": "a", "u": uint64(1<<63 + 1), "f": 0.5, "b": "a\ufffd",
				"t": "2024-07-04T08:30:58.5Z",
				"e": "AQ==", "7": "k", "n": "NaN",
			}},
		},
		{
			"an empty record", messageOf("a", msgp.AppendInt(nil, 7), []byte{0x80}),
			[]ingesttest.Row{{"svc_timestamp": time.Unix(7, 0).UTC(), "tag": "a"}},
		},
		{"signs of life", "\xc0\xc0" + messageOf("a", packedOf(entry("x"))), []ingesttest.Row{row("a", "x")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, f := server(t)
			socktest.Send(t, address, c.text)
			if diff := socktest.Diff(c.want, f.Rows(t, "public.fluent_logs", len(c.want))); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// slices joins bytes.
func slices(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case rune:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

// A chunk is acknowledged after its rows are stored, and is stored once although it arrives three times.
func TestAck(t *testing.T) {
	address, f := server(t)
	const table = "public.fluent_logs"
	f.Store.Refuse(table, errs.New(errs.ShardNotReady, "no leader"))
	c := socktest.Dial(t, "tcp", address)
	chunk := messageOf("a", packedOf(entry("x"), entry("y")), option("chunk", "p1", "size", "2"))
	socktest.Write(t, c, chunk)
	socktest.Await(t, "it is said that rows cannot be stored", func() bool {
		return strings.Contains(f.Log.String(), "cannot be stored yet")
	})
	if n := len(f.Store.Rows(table)); n != 0 {
		t.Fatalf("%d rows are stored", n)
	}
	f.Store.Refuse(table, nil)
	for range 3 {
		if name := acked(t, c); name != "p1" || len(f.Store.Rows(table)) != 2 {
			t.Errorf("ack of %q, %d rows", name, len(f.Store.Rows(table)))
		}
		socktest.Write(t, c, chunk)
	}
	// Another body with the same chunk name is stored, and so is a chunk with another tag.
	socktest.Write(t, c, messageOf("a", packedOf(entry("z")), option("chunk", "p1"))+
		messageOf("b", packedOf(entry("z")), option("chunk", "p1")))
	for range 3 {
		acked(t, c)
	}
	if n := len(f.Store.Rows(table)); n != 4 {
		t.Errorf("%d rows, want 4", n)
	}
}

// A chunk has more records than are stored at a time.
func TestLargeChunk(t *testing.T) {
	address, f := server(t)
	one := entry("x")
	c := socktest.Dial(t, "tcp", address)
	const n = 2*batchRecords + 7
	text := messageOf("a", packedOf(bytes.Repeat(one, n)), option("chunk", "p"))
	for range 2 {
		socktest.Write(t, c, text)
		if acked(t, c); len(f.Store.Rows("public.fluent_logs")) != n {
			t.Fatalf("%d rows, want %d", len(f.Store.Rows("public.fluent_logs")), n)
		}
	}
}

// When a server stops, it stores and acknowledges everything sent before.
func TestShutdown(t *testing.T) {
	f := socktest.New(t)
	s, err := New(Config{Config: f.Config})
	if err != nil {
		t.Fatal(err)
	}
	c := socktest.Dial(t, "tcp", socktest.TCP(t, s))
	socktest.Write(t, c, messageOf("a", packedOf(entry("x")), option("chunk", "p1")))
	acked(t, c)
	socktest.Write(t, c, messageOf("a", packedOf(entry("y"))))
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	socktest.Stop(t, s)
	if n := len(f.Store.Rows("public.fluent_logs")); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

func TestTableByTag(t *testing.T) {
	address, f := server(t, func(c *Config) { c.TableByTag, c.Target = true, httpreceiver.Target{Database: "shop"} })
	c := socktest.Dial(t, "tcp", address)
	for _, tag := range []string{"web.access", "web.error", "7-x/y.z", "", ".x"} {
		socktest.Write(t, c, messageOf(tag, packedOf(entry("x"))))
	}
	f.Rows(t, "shop.web", 2)
	f.Rows(t, "shop._7-x_y", 1)
	f.Rows(t, "shop.fluent_logs", 2)
}

func TestArrivalTime(t *testing.T) {
	address, f := server(t, func(c *Config) { c.NoEventTime = true })
	socktest.Send(t, address, messageOf("a", packedOf(entry("x"))))
	if got := f.Rows(t, "public.fluent_logs", 1)[0]["svc_timestamp"]; got != ingesttest.Now {
		t.Errorf("time %v", got)
	}
}

// A client of a listener with a shared key must prove that it knows the key, and receives a proof.
func TestSharedKey(t *testing.T) {
	for _, key := range []string{"secret", "wrong"} {
		address, f := server(t, func(c *Config) { c.SharedKey, c.Name = "secret", "box" })
		c := socktest.Dial(t, "tcp", address)
		r := msgp.NewReader(c)
		var helo []any
		if err := decode(r, &helo); err != nil || len(helo) != 2 || helo[0] != "HELO" {
			t.Fatalf("%v: %v", helo, err)
		}
		options := helo[1].(map[string]any)
		if options["auth"] != "" || options["keepalive"] != true {
			t.Errorf("HELO %v", options)
		}
		h := handshake{key: key, nonce: options["nonce"].([]byte)}
		const salt = "0123456789abcdef0123456789abcdef"
		ping := msgp.AppendArrayHeader(nil, 6)
		for _, text := range []string{"PING", "client", salt, h.digest(salt, "client"), "", ""} {
			ping = msgp.AppendString(ping, text)
		}
		socktest.Write(t, c, string(ping))
		var pong []any
		if err := decode(r, &pong); err != nil {
			t.Fatal(err)
		}
		if key == "wrong" {
			if diff := cmp.Diff([]any{"PONG", false, "shared_key mismatch", "box", ""}, pong); diff != "" {
				t.Errorf("PONG (-want +got):\n%s", diff)
			}
			if _, err := r.NextType(); !errors.Is(err, io.EOF) {
				t.Errorf("the connection is still open: %v", err)
			}
			if n := f.Metric(t, "cordwood_forward_dropped_total", "forbidden"); n != 1 {
				t.Errorf("%v forbidden", n)
			}
			continue
		}
		if diff := cmp.Diff([]any{"PONG", true, "", "box", h.digest(salt, "box")}, pong); diff != "" {
			t.Errorf("PONG (-want +got):\n%s", diff)
		}
		socktest.Write(t, c, messageOf("a", packedOf(entry("x")), option("chunk", "p")))
		if acked(t, c); len(f.Store.Rows("public.fluent_logs")) != 1 {
			t.Error("no row")
		}
	}
}

// TestForbiddenWithKey checks that a client learns during the handshake that it may not send.
func TestForbiddenWithKey(t *testing.T) {
	address, f := server(t, func(c *Config) {
		c.SharedKey, c.Name = "secret", "box"
		c.Sender = func(context.Context, sockreceiver.Peer) (*access.Caller, error) {
			return ingesttest.Caller(access.ReadOnly), nil
		}
	})
	c := socktest.Dial(t, "tcp", address)
	r := msgp.NewReader(c)
	var helo, pong []any
	if err := decode(r, &helo); err != nil || len(helo) != 2 || helo[0] != "HELO" {
		t.Fatalf("%v: %v", helo, err)
	}
	ping := msgp.AppendArrayHeader(nil, 6)
	for _, text := range []string{"PING", "client", "salt", "digest", "", ""} {
		ping = msgp.AppendString(ping, text)
	}
	socktest.Write(t, c, string(ping))
	if err := decode(r, &pong); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"PONG", false, errForbidden.Error(), "box", ""}, pong); diff != "" {
		t.Errorf("PONG (-want +got):\n%s", diff)
	}
	if _, err := r.NextType(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is still open: %v", err)
	}
	if n := f.Metric(t, "cordwood_forward_dropped_total", "forbidden"); n != 1 {
		t.Errorf("%v forbidden", n)
	}
}

// decode reads a value.
func decode(r *msgp.Reader, to *[]any) error {
	v, err := r.ReadIntf()
	if err == nil {
		*to = v.([]any)
	}
	return err
}

// Without a proof, nothing is stored.
func TestNoPing(t *testing.T) {
	address, f := server(t, func(c *Config) { c.SharedKey = "secret" })
	socktest.Send(t, address, messageOf("a", packedOf(entry("x"))))
	if n := f.Metric(t, "cordwood_forward_dropped_total", "forbidden"); n != 1 || len(f.Store.Tables()) > 0 {
		t.Errorf("%v forbidden, tables %v", n, f.Store.Tables())
	}
}

// The connection of a sender without the right to write is closed, also if the sender loses the right later.
func TestRights(t *testing.T) {
	right := make(chan access.Right, 3)
	for _, r := range []access.Right{access.ReadOnly, access.WriteOnly, access.ReadOnly} {
		right <- r
	}
	address, f := server(t, func(c *Config) {
		c.Sender = func(context.Context, sockreceiver.Peer) (*access.Caller, error) {
			return ingesttest.Caller(<-right), nil
		}
	})
	for n := 1.0; n <= 2; n++ {
		socktest.Send(t, address, messageOf("a", packedOf(entry("x")), option("chunk", "p")))
		if got := f.Metric(t, "cordwood_forward_dropped_total", "forbidden"); got != n || len(f.Store.Tables()) > 0 {
			t.Errorf("%v forbidden, want %v; tables %v", got, n, f.Store.Tables())
		}
	}
}

// A faulty entry or message does not affect the others. A fault that makes the stream unreadable ends it.
func TestHostile(t *testing.T) {
	deep := append(bytes.Repeat([]byte{0x81, 0xa1, 'a'}, 33), 0x80)
	deeper := append(bytes.Repeat([]byte{0x81, 0xa1, 'a'}, 200), 0x80)
	good := messageOf("a", packedOf(entry("good")), option("chunk", "p"))
	for _, c := range []struct {
		name, text string
		reason     sockreceiver.Reason
		stays      bool // the connection
	}{
		{"no MessagePack", "\xc1", malformed, false},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", malformed, false},
		{"nested without end", strings.Repeat("\x91", 1000), malformed, false},
		{"a map", "\x81\xa1a\xa1b", malformed, false},
		{"an empty array", "\x90", malformed, false},
		{"a long array", "\x95\xa1a\x01\x80\x80\x80", malformed, false},
		{"a tag that is no text", "\x93\x01\x01\x80", malformed, false},
		{"options that are none", messageOf("a", packedOf(entry("x")), []byte{1}), malformed, false},
		{
			"a long name of a chunk",
			messageOf("a", packedOf(entry("x")), option("chunk", strings.Repeat("c", maxChunk+1))), malformed, false,
		},
		{"a time that is none", messageOf("a", []byte{0xa1, 'x'}, []byte{0x80}), malformed, true},
		{"a time beyond all", messageOf("a", msgp.AppendFloat64(nil, 1e300), []byte{0x80}), malformed, true},
		{"packed entries that are none", messageOf("a", msgp.AppendBytes(nil, []byte("\xc1\xc1"))), malformed, true},
		{"packed entries that lie", messageOf("a", msgp.AppendBytes(nil, []byte("\xdd\xff\xff\xff\xff"))), malformed, true},
		{
			"an entry that lies",
			messageOf("a", msgp.AppendBytes(nil, append([]byte("\x92\x01\xdf\xff\xff\xff\xff"), 0)), option("chunk", "q")),
			malformed, true,
		},
		{"no gzip", messageOf("a", msgp.AppendBytes(nil, []byte("no")), option("compressed", "gzip")), malformed, true},
		{
			"half a gzip", messageOf("a", msgp.AppendBytes(nil, gzipped(entry("x"))[:20]), option("compressed", "gzip")),
			malformed, true,
		},
		{"an unknown compression", messageOf("a", packedOf(entry("x")), option("compressed", "lzma")), malformed, true},
		{
			"a bomb",
			messageOf("a", msgp.AppendBytes(nil, gzipped(make([]byte, MaxBytes+1))), option("compressed", "gzip", "chunk", "q")),
			tooLarge, true,
		},
		{"a record that is none", messageOf("a", msgp.AppendInt(nil, 1), []byte{7}), "", true},
		{"a record too deep", messageOf("a", msgp.AppendInt(nil, 1), deep), "", true},
		{"a record much too deep", messageOf("a", msgp.AppendInt(nil, 1), deeper), "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, f := server(t)
			socktest.Send(t, address, c.text+good)
			want := 0
			if c.stays {
				want = 1
			}
			rows := f.Rows(t, "public.fluent_logs", want)
			if c.stays && rows[0]["msg"] != "good" {
				t.Errorf("rows %v", rows)
			}
			if c.reason == "" {
				f.Rows(t, "svc_private.rejects", 1)
			} else if n := f.Metric(t, "cordwood_forward_dropped_total", string(c.reason)); n != 1 {
				t.Errorf("%v counted as %s", n, c.reason)
			}
			socktest.Await(t, "the memory is free", func() bool { return f.Config.Bodies.InFlight() == 0 })
		})
	}
}

// A message that is too long ends the connection.
func TestTooLarge(t *testing.T) {
	address, f := server(t)
	c := socktest.Dial(t, "tcp", address)
	socktest.Write(t, c, "\x92\xa1a\xc6\xff\xff\xff\xff")
	piece := strings.Repeat("a", 1<<20)
	for {
		if _, err := io.WriteString(c, piece); err != nil {
			break
		}
	}
	socktest.Await(t, "the message is counted", func() bool {
		return f.Metric(t, "cordwood_forward_dropped_total", "too_large") == 1
	})
	socktest.Await(t, "the memory is free", func() bool { return f.Config.Bodies.InFlight() == 0 })
}

// FuzzStream checks that the server survives any bytes, and that messages do not depend on how the bytes are split.
func FuzzStream(f *testing.F) {
	f.Add([]byte(messageOf("a", packedOf(entry("x"), entry("y")), option("chunk", "p"))), uint8(3))
	f.Add([]byte(messageOf("a", eventTimeOf(at), entry("x")[11:], option("size", "1"))), uint8(1))
	f.Add([]byte(messageOf("a", append([]byte{0x91}, entry("x")...))+"\xc0"), uint8(7))
	f.Add([]byte("\x93\xa1a\x01\xdf\xff\xff\xff\xff"), uint8(2))
	f.Add(bytes.Repeat([]byte{0x91}, 100), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		whole := socktest.Split(&framing{max: MaxBytes}, data, len(data)+1, len(data)+1)
		if diff := cmp.Diff(whole, socktest.Split(&framing{max: MaxBytes}, data, int(step)+1, len(data)+1)); diff != "" {
			t.Errorf("whole and in pieces (-, +):\n%s", diff)
		}
		for _, text := range whole {
			m, err := parse([]byte(text))
			if err != nil {
				continue
			}
			for _, b := range [][]byte{m.packed, m.entries} {
				for len(b) > 0 {
					_, record, rest, err := readEntry(b)
					if err != nil {
						break
					}
					checkRecord(t, record)
					b = rest
				}
			}
			if _, record, err := readTime(m.entry); err == nil {
				checkRecord(t, record)
			}
		}
	})
}

// checkRecord checks that a readable record becomes JSON.
func checkRecord(t *testing.T, data []byte) {
	text, ok := appendRecord(nil, &sockreceiver.Record{Data: data, From: "tag"})
	if ok && !isObject(text) {
		t.Errorf("%x became %s", data, text)
	}
}

// isObject reports whether a text is a JSON object.
func isObject(text []byte) bool {
	v, err := value.ParseJSON(string(text), value.JSONOptions{Strict: true})
	return err == nil && v.Kind() == value.Object
}

// TestLittleMemory checks that a chunk that fits into the memory for bodies is stored although the connection also
// holds its bytes. A decompression bomb is acknowledged, because otherwise the client would resend it forever.
func TestLittleMemory(t *testing.T) {
	const limit = 24 << 20
	text := strings.Repeat("x", limit/4)
	for name, c := range map[string]struct {
		message string
		rows    int
	}{
		"a large chunk": {messageOf("a", packedOf(entry(text)), option("chunk", "c")), 1},
		"compressed": {
			messageOf("a", msgp.AppendBytes(nil, gzipped(entry(text))), option("compressed", "gzip", "chunk", "c")), 1,
		},
		"a bomb": {
			messageOf("a", msgp.AppendBytes(nil, gzipped(make([]byte, limit))), option("compressed", "gzip", "chunk", "c")), 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, f := server(t, func(c *Config) {
				var err error
				if c.Bodies, err = body.New(body.Config{MaxBytes: limit, MaxInFlight: limit}); err != nil {
					t.Fatal(err)
				}
			})
			conn := socktest.Dial(t, "tcp", address)
			socktest.Write(t, conn, c.message)
			ack := make([]byte, len(ackOf("c")))
			if _, err := io.ReadFull(conn, ack); err != nil || string(ack) != ackOf("c") {
				t.Fatalf("%q, %v", ack, err)
			}
			f.Rows(t, "public.fluent_logs", c.rows)
		})
	}
}

// ackOf is the acknowledgement of a chunk.
func ackOf(chunk string) string {
	return string(msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(nil, 1), "ack"), chunk))
}
