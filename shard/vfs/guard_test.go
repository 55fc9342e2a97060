package vfs

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestGuard(t *testing.T) {
	boom := errors.New("boom")
	var mu sync.Mutex
	var failed []string
	failOn, hang := "", make(chan struct{})
	disk := Hook(NewMem(), func(op Op) error {
		switch {
		case op.Kind+" "+filepath.Base(op.Path) == failOn:
			return boom
		case failOn == "hang" && op.Kind == OpSync:
			<-hang
		}
		return nil
	})
	fsys := Guard(disk, GuardConfig{
		Fatal: func(name string) bool { return strings.HasPrefix(filepath.Base(name), "LOG") }, Deadline: time.Hour,
		Fail: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err.Error())
		},
	})
	publish := func(name string) error {
		f, err := fsys.Create("d/" + name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write([]byte("x"))
		return errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir("d"))
	}
	if err := fsys.MkdirAll("d"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ failOn, file, want string }{
		{"", "LOG", ""},
		{"sync LOG", "LOG", "sync d/LOG: sync LOG: boom"},
		{"write LOG", "LOG", ""},
		{"sync segment", "segment", ""},
		{"sync-dir d", "segment", "sync directory d: boom"},
	} {
		failOn, failed = test.failOn, nil
		err := publish(test.file)
		if (err != nil) != (test.failOn != "") {
			t.Errorf("%s: got %v", test.failOn, err)
		}
		want := strings.ReplaceAll(test.want, "sync LOG: ", "")
		if got := strings.Join(failed, "; "); got != want {
			t.Errorf("%s: failed with %q, want %q", test.failOn, got, want)
		}
	}
	failOn, failed = "hang", nil
	fsys.(*guardFS).cfg.Deadline = time.Millisecond
	done := make(chan error)
	go func() { done <- publish("LOG") }()
	for deadline := time.Now().Add(10 * time.Second); ; {
		mu.Lock()
		n := len(failed)
		mu.Unlock()
		if n > 0 || time.Now().After(deadline) {
			break
		}
	}
	close(hang)
	if err := <-done; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(failed) == 0 || !strings.Contains(failed[0], "did not answer within") {
		t.Errorf("a sync that hangs: %q", failed)
	}
}
