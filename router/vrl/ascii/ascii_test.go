package ascii_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl/ascii"
)

func TestOnly(t *testing.T) {
	for n := range 40 {
		s := strings.Repeat("\x7f", n)
		if !ascii.Only(s) {
			t.Errorf("%d bytes of ASCII are not ASCII", n)
		}
		for i := range n {
			if ascii.Only(s[:i] + "\x80" + s[i+1:]) {
				t.Errorf("%d bytes with a byte of 128 at %d are ASCII", n, i)
			}
		}
	}
}
