package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/shard/cold/bucket/buckettest"
)

// checkStorage runs 'cordwood object-storage check'.
func checkStorage(args ...string) (out string, status int) {
	var stdout, stderr bytes.Buffer
	cmd := newRootCommand()
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(append([]string{"object-storage", "check"}, args...))
	err := cmd.Execute()
	if err != nil && !cli.IsSilent(err) {
		return stdout.String() + err.Error(), cli.ExitStatus(err)
	}
	return stdout.String(), cli.ExitStatus(err)
}

func TestCheckDirectory(t *testing.T) {
	dir := t.TempDir()
	out, status := checkStorage("file://" + dir)
	if status != 0 || !strings.HasSuffix(out, "\n"+dir+" can keep objects of cordwood.\n") ||
		strings.Count(out, "ok ") != 9 {
		t.Errorf("status %d:\n%s", status, out)
	}
	out, status = checkStorage("file://"+dir, "--output", "json")
	var result probeResult
	if err := json.Unmarshal([]byte(out), &result); err != nil || status != 0 || !result.OK || len(result.Steps) != 9 {
		t.Errorf("status %d, %v:\n%s", status, err, out)
	}
	out, status = checkStorage("file://" + dir + "/absent")
	if status != cli.ExitFailed || !strings.Contains(out, "create the directory first") {
		t.Errorf("status %d:\n%s", status, out)
	}
	if _, err := os.Stat(dir + "/absent"); err == nil {
		t.Error("the directory was created")
	}
	for _, args := range [][]string{{"ftp://x"}, {dir}, {"s3:/logs"}, {"file://" + dir, "--timeout", "0s"}, {}} {
		if out, status := checkStorage(args...); status != cli.ExitUsage {
			t.Errorf("%v: status %d:\n%s", args, status, out)
		}
	}
}

// TestCheckBucket checks buckets of an independent S3 server, with and without what is needed.
func TestCheckBucket(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	p := buckettest.NewProxy(t, endpoint, nil)
	for _, tt := range []struct {
		plan   buckettest.Plan
		want   string
		status int
	}{
		{nil, "credentials: key test of AWS_ACCESS_KEY_ID\n", 0},
		{buckettest.Always(buckettest.LagList), "warning: list it: the listing does not contain it", 0},
		{buckettest.Always(buckettest.Unconditional), "FAILED: keep it when its key is used again: the service replaced", 1},
		{buckettest.Always(buckettest.Forbid), "Credentials: those of AWS_ACCESS_KEY_ID", 1},
	} {
		p.SetPlan(tt.plan)
		out, status := checkStorage("s3://"+name+"/p", "--endpoint", p.URL)
		if status != tt.status || !strings.Contains(out, tt.want) || strings.Contains(out, buckettest.SecretKey) {
			t.Errorf("status %d, want %d and %q:\n%s", status, tt.status, tt.want, out)
		}
	}
}
