package translate

import (
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
)

// Levels are the values of the label detected_level.
var Levels = []string{"critical", "fatal", "error", "warn", "info", "debug", "trace", "unknown"}

// plainLevels are the values of detected_level that are words for themselves.
var plainLevels = Levels[:len(Levels)-1]

// criticalWords are the words for the level critical. criticalNumbers are the syslog severities for it.
var criticalWords = []string{"crit", "critical", "emerg", "emergency", "alert"}

// The regular expressions that find a level in a line: a pair such as level=warn or "level":"warn", or a word in
// capitals.
const (
	levelPair = `(?i)(?:^|[\s,{])"?level"?\s*[=:]\s*"?([A-Za-z]+)`
	levelWord = `\b(FATAL|CRITICAL|ERROR|ERR|WARNING|WARN|INFO|DEBUG|TRACE)\b`
)

var (
	levelPairRe = lazyregexp.New(levelPair)
	levelWordRe = lazyregexp.New(levelWord)
)

// LevelOfWord returns the value of detected_level for a word, or an empty string if the word is not a level.
func LevelOfWord(word string) string {
	if slices.Contains(criticalWords, strings.ToLower(word)) {
		return "critical"
	}
	if level, ok := roles.Parse(word); ok && level != roles.Other {
		return level
	}
	return ""
}

// LevelOfLine returns the level that a line contains, or unknown.
func LevelOfLine(line string) string {
	for _, re := range []*lazyregexp.Regexp{levelPairRe, levelWordRe} {
		if m := re.FindStringSubmatch(line); m != nil {
			if level := LevelOfWord(m[1]); level != "" {
				return level
			}
		}
	}
	return "unknown"
}

// levelSQL returns the SQL text of detected_level: the level in the column, or else the one in the line.
func (t *Table) levelSQL() string {
	line := levelInLine(t.LineSQL())
	if t.Level == nil {
		return line
	}
	return "CASE " + t.levelCases() + " ELSE " + line + " END"
}

// levelCases returns the branches of a CASE that gives the level for the values of the column.
func (t *Table) levelCases() string {
	var b strings.Builder
	name := schema.QuoteIdent(t.Level.Column.Name)
	switch t.Level.Scheme {
	case roles.Text:
		// Most values are written like the level itself. Comparing them as they are saves the CPU time of lower.
		b.WriteString("WHEN " + name + " IN (" + quoteAll(plainLevels) + ") THEN " + name + " ")
		b.WriteString("WHEN " + name + " IN (" + strings.ToUpper(quoteAll(plainLevels)) + ") THEN lower(" + name + ") ")
		b.WriteString("WHEN lower(" + name + ") IN (" + quoteAll(criticalWords) + ") THEN 'critical' ")
	case roles.Syslog:
		b.WriteString("WHEN " + name + " BETWEEN 0 AND 2 THEN 'critical' ")
	}
	for _, level := range roles.Names {
		b.WriteString("WHEN " + t.Level.Condition([]string{level}, schema.QuoteIdent) + " THEN " + quote(level) + " ")
	}
	return strings.TrimSuffix(b.String(), " ")
}

// levelInLine returns the SQL text of the level in a line, or unknown.
func levelInLine(line string) string {
	branch := func(re string) string {
		word := "lower(regexp_extract(" + line + ", " + quote(re) + ", 1))"
		return "CASE " + word + wordCases() + " END"
	}
	return "coalesce(" + branch(levelPair) + ", " + branch(levelWord) + ", 'unknown')"
}

// wordCases returns the branches of CASE word WHEN … for the words of levels.
func wordCases() string {
	var b strings.Builder
	for _, word := range roles.Words() {
		b.WriteString(" WHEN " + quote(word) + " THEN " + quote(LevelOfWord(word)))
	}
	return b.String()
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return strings.Join(quoted, ", ")
}

// LevelOfNumber returns the value of detected_level for a number, or an empty string if the number is not a level.
func LevelOfNumber(scheme roles.Scheme, text string) string {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return ""
	case scheme == roles.Syslog && n >= 0 && n <= 2:
		return "critical"
	}
	return roles.OfNumber(scheme, n)
}
