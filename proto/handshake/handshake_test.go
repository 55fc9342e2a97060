package handshake

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TestNames reads names that were appended, including the longest name.
func TestNames(t *testing.T) {
	want := []string{"", "n1", strings.Repeat("x", MaxName)}
	b := AppendNames(nil, want...)
	got := make([]string, 3)
	if err := ReadNames(bytes.NewReader(b), &got[0], &got[1], &got[2]); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("name %d is %q, want %q", i, got[i], want[i])
		}
	}
	for cut := range b {
		var s [3]string
		if err := ReadNames(bytes.NewReader(b[:cut]), &s[0], &s[1], &s[2]); err == nil {
			t.Fatalf("names cut at byte %d of %d were read", cut, len(b))
		}
	}
}

// TestReadAnswer distinguishes a choice, a refusal, and bytes that are not an answer.
func TestReadAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		version uint16
		reason  string
		refused bool
		text    string // text in the error; empty means no error
	}{
		{"chosen", 2, "", false, ""},
		{"refused", 0, "another cluster", true, "another cluster"},
		{"below the range", 1, "", false, "version 1, want 2 to 3"},
		{"above the range", 4, "", false, "version 4, want 2 to 3"},
		{"long reason", 0, strings.Repeat("x", MaxReason+1), false, "1025 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Answer(&b, "TEST", c.version, c.reason); err != nil {
				t.Fatal(err)
			}
			err := ReadAnswer(&b, "TEST", 2, 3)
			if errors.Is(err, ErrRefused) != c.refused {
				t.Errorf("refused is %v, want %v: %v", !c.refused, c.refused, err)
			}
			if c.text == "" && err != nil || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("error %v, want one with %q", err, c.text)
			}
		})
	}
	if err := ReadAnswer(strings.NewReader("HTTP/1.1"), "TEST", 2, 3); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("an answer of something else: %v", err)
	}
}

// TestDuring checks that an exchange ends with the context although the other side is silent.
func TestDuring(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := During(ctx, here, func() error { return ReadAnswer(here, "TEST", 1, 1) })
	if err == nil {
		t.Fatal("an exchange with a silent side ended without an error")
	}
	if err := During(t.Context(), here, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
}
