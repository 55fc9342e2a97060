package zone

import (
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"": "12:00", "utc": "12:00", "Europe/Berlin": "14:00", "+02:00": "14:00", "-0330": "08:30", "+5": "17:00",
		"Etc/GMT+2": "10:00",
	} {
		l, err := Load(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
		} else if got := noon.In(l).Format("15:04"); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"Local", "local", "Europe/Atlantis", "../etc/passwd", "+25:00", "+02:99", "x"} {
		if l, err := Load(name); err == nil {
			t.Errorf("%q is %s", name, l)
		}
	}
}
