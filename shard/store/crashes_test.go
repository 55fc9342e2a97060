package store

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// crashed is a process that ends while it works on something.
type crashed struct {
	before, now *systemState
	itself      bool // the process has crashed, and was not killed
}

// TestEndsDuringWork checks how often ends of different kinds count.
func TestEndsDuringWork(t *testing.T) {
	t.Parallel()
	boot := func(id string, killed int64) *systemState { return &systemState{Boot: id, Killed: killed} }
	kill := crashed{before: boot("a", 3), now: boot("a", 3)}
	times := func(n int, e crashed) []crashed { return slices.Repeat([]crashed{e}, n) }
	for name, test := range map[string]struct {
		ends []crashed
		want int
	}{
		"one kill":                        {times(1, kill), 0},
		"three kills":                     {times(3, kill), 0},
		"four kills":                      {times(4, kill), crashesAlone},
		"eight kills":                     {times(8, kill), crashesPostponed},
		"kills never stop all attempts":   {times(100, kill), crashesPostponed},
		"the power failed":                {times(1, crashed{before: boot("a", 3), now: boot("b", 5)}), 0},
		"a crash":                         {times(1, crashed{before: boot("a", 3), now: boot("a", 3), itself: true}), 1},
		"the kernel has killed something": {times(2, crashed{before: boot("a", 3), now: boot("a", 4)}), 2},
		"nothing was known then":          {times(2, crashed{now: boot("a", 4)}), 2},
		"nothing is known now":            {times(2, crashed{before: boot("a", 4)}), 2},
		"three crashes":                   {times(3, crashed{itself: true}), crashesFinal},
		"a crash and four kills":          {append(times(4, kill), crashed{itself: true}), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), FlushingFile)
			var d *crashLog
			open := func(itself bool, system *systemState) {
				d = openCrashLog(path, slog.New(slog.DiscardHandler), itself, func() *systemState { return system })
			}
			open(false, nil)
			for _, e := range test.ends {
				d.system = func() *systemState { return e.before }
				d.begin(7)
				open(e.itself, e.now)
			}
			if got := d.count(7); got != test.want {
				t.Errorf("counted %d, want %d", got, test.want)
			}
			if got := d.suspects(1); (len(got) == 1) != (test.want > 0) {
				t.Errorf("suspects %v", got)
			}
			d.end(7)
			if got := d.count(7); got != 0 {
				t.Errorf("after a success: %d", got)
			}
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}

// TestSystemState checks that Linux says what is needed to tell kills apart.
func TestSystemState(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/vmstat"); err != nil {
		t.Skip(err)
	}
	now := readSystemState()
	if now == nil || len(now.Boot) < 30 || now.Killed < 0 {
		t.Errorf("%+v", now)
	}
}
