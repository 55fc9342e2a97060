package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestReportOfCrash checks that an error of the runtime that no code can catch leaves a report, and a kill none.
func TestReportOfCrash(t *testing.T) {
	t.Parallel()
	const variable = "CORDWOOD_TEST_CRASH"
	if how, ok := os.LookupEnv(variable); ok {
		if err := writeCrashesTo(os.Getenv(variable + "_FILE")); err != nil {
			t.Fatal(err)
		}
		if how == "kill" {
			p, _ := os.FindProcess(os.Getpid()) // never fails on Unix
			_ = p.Kill()
			select {}
		}
		debug.SetMaxStack(1 << 16)
		t.Log(deeper(func() bool { return false }))
	}
	for how, want := range map[string]string{"kill": "", "stack": "runtime.morestack"} {
		file := filepath.Join(t.TempDir(), CrashFile)
		cmd := exec.Command(os.Args[0], "-test.run", "^TestReportOfCrash$")
		cmd.Env = append(os.Environ(), variable+"="+how, variable+"_FILE="+file)
		if err := cmd.Run(); err == nil {
			t.Errorf("%s: the process ended well", how)
		}
		report, err := os.ReadFile(file)
		if err != nil || (want == "") != (len(report) == 0) || !strings.Contains(string(report), want) {
			t.Errorf("%s: %.300q, %v", how, report, err)
		}
	}
}

// deeper needs more and more stack until stop.
func deeper(stop func() bool) int {
	if stop() {
		return 0
	}
	return deeper(stop) + 1
}
