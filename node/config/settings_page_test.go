package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

const settingsPage = "../../docs/settings.md"

var update = flag.Bool("update", false, "write docs/settings.md anew")

var settingsSection = regexp.MustCompile(`(?s)<!-- settings ([a-z0-9 -]+) -->\n.*?<!-- end -->`)

// TestSettingsPage holds docs/settings.md against the flags of the server: each is in one
// section of the page, whose marker has the flag's name or the beginning of it.
func TestSettingsPage(t *testing.T) {
	var cfg Config
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cfg.Flags(fs)
	before, err := os.ReadFile(settingsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, listed := fillSettings(string(before), fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if !listed[f.Name] {
			t.Errorf("--%s is of no section of %s: add it to a marker", f.Name, settingsPage)
		}
	})
	if *update {
		if err := os.WriteFile(settingsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, string(before)); diff != "" {
		t.Errorf("%s is not true; write it anew by: go test ./node/config -run TestSettingsPage -update\n"+
			"(-want +got)\n%s", settingsPage, diff)
	}
}

// fillSettings writes the table of each section anew, and tells which flags are listed. A
// flag belongs to the section with the longest word that begins its name.
func fillSettings(page string, fs *pflag.FlagSet) (string, map[string]bool) {
	var words []string
	for _, m := range settingsSection.FindAllStringSubmatch(page, -1) {
		words = append(words, strings.Fields(m[1])...)
	}
	claims := func(name string) string {
		best := ""
		for _, w := range words {
			if len(w) > len(best) && (w == name || strings.HasSuffix(w, "-") && strings.HasPrefix(name, w)) {
				best = w
			}
		}
		return best
	}
	listed := map[string]bool{}
	page = settingsSection.ReplaceAllStringFunc(page, func(old string) string {
		mine := strings.Fields(settingsSection.FindStringSubmatch(old)[1])
		var b strings.Builder
		fmt.Fprintf(&b,
			"<!-- settings %s -->\n| flag | environment | YAML | default | meaning |\n|---|---|---|---|---|\n",
			strings.Join(mine, " "))
		var rows []string
		fs.VisitAll(func(f *pflag.Flag) {
			if slices.Contains(mine, claims(f.Name)) {
				listed[f.Name] = true
				rows = append(rows, settingRow(f))
			}
		})
		b.WriteString(strings.Join(rows, ""))
		return b.String() + "<!-- end -->"
	})
	return page, listed
}

// settingRow is the line of a flag.
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
