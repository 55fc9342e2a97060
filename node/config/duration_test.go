package config

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// TestDurationFlag checks which texts are durations.
func TestDurationFlag(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "0": 0, "0s": 0,
		"-5s": -5 * time.Second,
		"30d": 30 * day, "2 weeks": 14 * day, "1d 12h": 36 * time.Hour, "1day": day, "500ms": 500 * time.Millisecond,
	} {
		var got time.Duration
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		durationVar(fs, &got, "local-for", time.Minute, "")
		if got != time.Minute || fs.Lookup("local-for").DefValue != "1m0s" {
			t.Fatalf("default %v, %q", got, fs.Lookup("local-for").DefValue)
		}
		if err := fs.Parse([]string{"--local-for", text}); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "forever", "instant", "30", "1x", "d", "-1d", "30 parsecs"} {
		var got time.Duration
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		durationVar(fs, &got, "local-for", time.Minute, "")
		if err := fs.Parse([]string{"--local-for", text}); err == nil {
			t.Errorf("%q is accepted as %v", text, got)
		}
	}
}
