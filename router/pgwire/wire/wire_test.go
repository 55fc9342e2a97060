package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func message(kind byte, length int, body string) []byte {
	b := []byte{kind}
	b = binary.BigEndian.AppendUint32(b, uint32(length))
	return append(b, body...)
}

// TestBounds checks that invalid lengths are refused before memory is allocated.
func TestBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		in       []byte
		protocol bool
	}{
		"too short":         {message('Q', 3, ""), true},
		"negative":          {message('Q', -1, ""), true},
		"a query too long":  {message('Q', maxText+5, ""), true},
		"a bind too long":   {message('B', maxBind+5, ""), true},
		"an unknown type":   {message('z', 4, ""), true},
		"a cut body":        {message('Q', 20, "SELECT"), false},
		"a cut head":        {[]byte{'Q', 0}, false},
		"a large cut bind":  {message('B', maxBind, "x"), false},
		"a password":        {message('p', maxPassword+5, ""), true},
		"a huge unsigned 4": {message('P', -2147483648, ""), true},
	} {
		r := NewReader(bytes.NewReader(tt.in))
		_, _, err := r.Next()
		var protocol ProtocolError
		if err == nil || errors.As(err, &protocol) != tt.protocol {
			t.Errorf("%s: %v", name, err)
		}
		if cap(r.body) > 2*step {
			t.Errorf("%s: %d bytes were allocated", name, cap(r.body))
		}
	}
	for _, n := range []int{0, 7, maxStartup + 5, -1} {
		in := binary.BigEndian.AppendUint32(nil, uint32(n))
		if _, err := NewReader(bytes.NewReader(in)).Startup(); !errors.As(err, new(ProtocolError)) {
			t.Errorf("a startup packet of %d bytes: %v", n, err)
		}
	}
}

// TestWatch checks that Watch detects the end of a connection, keeps data that arrives before, and can be interrupted.
func TestWatch(t *testing.T) {
	client, server := net.Pipe()
	r := NewReader(server)
	done := make(chan error, 1)
	go func() { done <- r.Watch() }()
	if _, err := client.Write(message('S', 4, "")); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if kind, _, err := r.Next(); kind != 'S' || err != nil {
		t.Fatalf("%q %v", kind, err)
	}
	go func() { done <- r.Watch() }()
	client.Close()
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

// FuzzReader reads arbitrary bytes as messages.
func FuzzReader(f *testing.F) {
	f.Add(message('Q', 12, "SELECT 1"))
	f.Add(append(message('P', 5, "\x00"), message('S', 4, "")...))
	f.Add(message('B', 1<<24, ""))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		for {
			kind, body, err := r.Next()
			if err != nil {
				return
			}
			if len(body) > bounds[kind] || len(body) > len(in) {
				t.Fatalf("%q: a body of %d bytes of %d", kind, len(body), len(in))
			}
		}
	})
}
