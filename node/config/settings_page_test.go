package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

const settingsPage = "../../docs/settings.md"

var update = flag.Bool("update", false, "rewrite docs/settings.md")

var settingsSection = regexp.MustCompile(
	`(?s)## ([^\n]+)\n\n((?:[^#\n][^\n]*\n|\n)*?)<!-- settings -->\n.*?<!-- end -->`)

// TestSettingsPage compares docs/settings.md with the flags of the server. Each flag must be in the section of its
// group, and the groups must be in order.
func TestSettingsPage(t *testing.T) {
	var cfg Config
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cfg.Flags(fs)
	before, err := os.ReadFile(settingsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, titles := fillSettings(string(before), fs)
	var groups []string
	for _, g := range Groups {
		groups = append(groups, g.Title)
	}
	if diff := cmp.Diff(groups, titles); diff != "" {
		t.Errorf("%s has other sections than Groups (-Groups +page)\n%s", settingsPage, diff)
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if GroupOf(f.Name) < 0 {
			t.Errorf("--%s is in no group: add it to Groups", f.Name)
		}
	})
	if *update {
		if err := os.WriteFile(settingsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, string(before)); diff != "" {
		t.Errorf("%s is outdated; update it with: go test ./node/config -run TestSettingsPage -update\n(-want +got)\n%s",
			settingsPage, diff)
	}
}

// fillSettings rewrites the table of each section, and returns the titles of the sections.
func fillSettings(page string, fs *pflag.FlagSet) (filled string, titles []string) {
	filled = settingsSection.ReplaceAllStringFunc(page, func(old string) string {
		m := settingsSection.FindStringSubmatch(old)
		titles = append(titles, m[1])
		var b strings.Builder
		fmt.Fprintf(&b, "## %s\n\n%s<!-- settings -->\n| flag | environment | YAML | default | meaning "+
			"|\n|---|---|---|---|---|\n", m[1], m[2])
		fs.VisitAll(func(f *pflag.Flag) {
			if g := GroupOf(f.Name); g >= 0 && Groups[g].Title == m[1] {
				b.WriteString(settingRow(f))
			}
		})
		return b.String() + "<!-- end -->"
	})
	return filled, titles
}

// settingRow returns the line of a flag.
func settingRow(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	initial := "`" + f.DefValue + "`"
	switch {
	case f.Name == "node-name":
		initial = "the host name"
	case f.DefValue == "", f.DefValue == "[]":
		initial = ""
	case strings.HasPrefix(f.DefValue, "["):
		initial = "`" + strings.Trim(f.DefValue, "[]") + "`"
	}
	usage = strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*").Replace(usage)
	return fmt.Sprintf("| `--%s` | `%s` | `%s` | %s | %s |\n", f.Name, EnvName(f.Name), Key(f.Name), initial, usage)
}
