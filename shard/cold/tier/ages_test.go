package tier

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cordwood/shard/vfs"
)

// TestLoadAges reads files with times that no clock had. An age is never negative, also later.
func TestLoadAges(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(1_800_000_000, 0)
	m := &Mover{cfg: Config{
		FS: vfs.OS, Dir: dir, Now: func() time.Time { return now }, Monotonic: func() time.Duration { return time.Minute },
	}}
	for milli, want := range map[int64]time.Duration{
		now.UnixMilli() - 1000: time.Second, now.UnixMilli() + 1000: 0, 0: maxAge, math.MinInt64: maxAge, math.MaxInt64: 0,
	} {
		text := fmt.Sprintf("%s7 3 %d\n8 x\n", hotSinceHead, milli)
		if err := os.WriteFile(filepath.Join(dir, HotSinceFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := m.loadAges()
		if err != nil || len(got) != 1 || got[7].from != 3 {
			t.Errorf("%d: %v, %v", milli, got, err)
		}
		if later := time.Hour - got[7].since; later != 59*time.Minute+want {
			t.Errorf("%d: an hour after the start the age is %s, want %s more than 59 minutes", milli, later, want)
		}
	}
}
