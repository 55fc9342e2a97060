// Package docs runs what the documentation shows.
//
// Every block of a page that is marked as `sh` is run, one after another, in one shell
// and one empty folder a page, as a reader would who follows it from the top. Comments
// before a block, which readers of the page do not see, say more:
//
//	<!-- test: file NAME -->        the block is a file of the folder
//	<!-- test: output -->           the block is what the commands before it print; … stands for
//	                                any text, and alone on a line for any lines
//	<!-- test: background -->       the commands run until the page ends: a server
//	<!-- test: skip REASON -->      the block is not run
//	<!-- test: may-fail REASON -->  the block is run, whatever its status is
//	<!-- test: setup COMMAND -->    run at this place; for what a reader has anyway, as logs
//
// and before all blocks
//
//	<!-- test: server FLAGS -->     a server of `cordwood serve FLAGS` runs from the start
//	<!-- test: sql -->              blocks that are marked as `sql` are run, too, by `cordwood sql`;
//	                                one marked as `sql error: TEXT` must fail with that text
//
// Each page has a loopback address of its own, so that the ports are those of the text.
package docs

import (
	"fmt"
	"regexp"
	"strings"
)

// block is one fenced block of a page.
type block struct {
	line      int    // number of its first line, from 1
	lang      string // the first word after the fence
	info      string // the text after lang
	text      string // with a line end, unless empty
	directive string // the first word after `test:`, if any
	argument  string // the text after the directive
}

// page is a parsed page.
type page struct {
	name   string
	server *string // flags of the server that runs from the start, or nil
	sql    bool    // blocks of SQL are run
	blocks []block
}

var directive = regexp.MustCompile(`^<!-- test: (file|output|background|skip|may-fail|server|setup|sql)(?: (.*))? -->$`)

// parse parses a page. An error contains the line number.
func parse(name, text string) (*page, error) {
	p := &page{name: name}
	var open *block
	fence, indent := "", ""
	said, arg := "", ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case open != nil && trimmed == fence:
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case strings.HasPrefix(trimmed, "```"):
			ticks := len(trimmed) - len(strings.TrimLeft(trimmed, "`"))
			fence, indent = trimmed[:ticks], line[:strings.Index(line, "`")]
			lang, info, _ := strings.Cut(strings.TrimSpace(trimmed[ticks:]), " ")
			open = &block{line: i + 2, lang: lang, info: info, directive: said, argument: arg}
			said, arg = "", ""
		case strings.HasPrefix(trimmed, "<!-- test"):
			m := directive.FindStringSubmatch(trimmed)
			switch {
			case m == nil:
				return nil, fmt.Errorf("%s:%d: %s is not a directive", name, i+1, trimmed)
			case (m[1] == "server" || m[1] == "sql") && len(p.blocks) > 0:
				return nil, fmt.Errorf("%s:%d: the %s must come before all blocks", name, i+1, m[1])
			case m[1] == "sql":
				p.sql = true
			case m[1] == "server":
				p.server = &m[2]
			case m[1] != "output" && m[1] != "background" && m[2] == "":
				return nil, fmt.Errorf("%s:%d: %s needs an argument", name, i+1, m[1])
			case m[1] == "setup":
				p.blocks = append(p.blocks, block{line: i + 1, lang: "sh", text: m[2] + "\n", directive: "setup"})
			default:
				said, arg = m[1], m[2]
			}
		case trimmed != "" && said != "":
			return nil, fmt.Errorf("%s:%d: the directive %s has no block", name, i+1, said)
		}
	}
	if open != nil || said != "" {
		return nil, fmt.Errorf("%s: a block or a directive is not closed", name)
	}
	return p, nil
}

// command matches the beginning of a line that a reader would run.
var command = regexp.MustCompile(
	`^(\$ |sudo |bin/cordwood|cordwood ` +
		`(serve|ingest|sql|pipeline|vrl|cluster|node|shard|table|tail|backup|restore|doctor|inspect|recover|health|` +
		`rebalance)\b|curl |make |docker |helm |kubectl |apt |systemctl )`)

// runs reports whether the block contains commands or statements that are run.
func (p *page) runs(b block) bool { return b.lang == "sh" || b.lang == "sql" && p.sql }

// statement returns a block of SQL as a command.
func (b *block) statement(text string) string {
	run := "cordwood sql \"$(cat <<'@@end'\n" + text + "@@end\n)\""
	if want, fails := strings.CutPrefix(b.info, "error: "); fails {
		return "if " + run + " 2>error.txt; then echo 'it does not fail' >&2; exit 1; fi\n" +
			"grep -qF -- '" + want + "' error.txt || { cat error.txt >&2; exit 1; }\n"
	}
	return run + "\n"
}

// check reports commands and pipelines of a page that are neither run nor marked as skipped.
func (p *page) check() []string {
	var faults []string
	for _, b := range p.blocks {
		fault := func(text string) { faults = append(faults, fmt.Sprintf("%s:%d: %s", p.name, b.line, text)) }
		switch {
		case b.directive != "":
		case b.lang == "sql" && !p.sql && p.name != "sql.md": // which is run by a test of the engine
			fault("a block of SQL on a page that does not have it run")
		case b.lang == "yaml":
			fault("a YAML block is neither a file nor skipped")
		case b.lang == "":
			for line := range strings.Lines(b.text) {
				if command.MatchString(line) {
					fault("a command in a block that is not marked as sh: " + strings.TrimSpace(line))
					break
				}
			}
		}
	}
	return faults
}

// times matches the parts of an output that depend on time.
var times = regexp.MustCompile(`"execution_time_ms":\d+`)

// matches reports whether an output is the one that the page shows.
func matches(shown, got string) bool {
	var re strings.Builder
	re.WriteString(`(?s)^`)
	lines := strings.Split(strings.TrimSpace(times.ReplaceAllString(shown, "execution_time_ms")), "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) == "…" {
			re.WriteString(`.*?`)
			continue
		}
		for j, part := range strings.Split(strings.TrimRight(line, " "), "…") {
			if j > 0 {
				re.WriteString(`[^\n]*`)
			}
			re.WriteString(regexp.QuoteMeta(part))
		}
		if i < len(lines)-1 {
			re.WriteString(` *\r?\n`)
		}
	}
	re.WriteString(`\s*$`)
	return regexp.MustCompile(re.String()).MatchString(strings.TrimSpace(times.ReplaceAllString(got, "execution_time_ms")))
}
