package config

import (
	"slices"
	"testing"
)

// TestCgroupFiles checks the cgroups above the process's own, too.
func TestCgroupFiles(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", []string{"/c/memory.max", "/c/memory/memory.limit_in_bytes"}},
		{"garbage\n1:x\n", []string{"/c/memory.max", "/c/memory/memory.limit_in_bytes"}},
		{
			"0::/logs.slice/cordwood.service\n",
			[]string{
				"/c/memory.max", "/c/memory/memory.limit_in_bytes", "/c/logs.slice/cordwood.service/memory.max",
				"/c/logs.slice/memory.max",
			},
		},
		{
			"5:cpu,memory:/a/b\n4:cpuset:/z\n0::/\n",
			[]string{
				"/c/memory.max", "/c/memory/memory.limit_in_bytes", "/c/memory/a/b/memory.limit_in_bytes",
				"/c/memory/a/memory.limit_in_bytes",
			},
		},
		{"0::/../../up\n", []string{"/c/memory.max", "/c/memory/memory.limit_in_bytes", "/c/up/memory.max"}},
	} {
		if got := cgroupFiles("/c", c.list); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.list, got, c.want)
		}
	}
}
