package backup

import "testing"

func TestFitted(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"restoring: 1 of 2 rows", 80, "restoring: 1 of 2 rows"},
		{"restoring: 1 of 2 rows", 10, "restorin…"},
		{"日本語の理由", 8, "日本語…"},
		{"unknown width", 0, "unknown width"},
	} {
		if got := fitted(tt.text, tt.width); got != tt.want {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}
