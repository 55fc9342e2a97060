package rewrite

import (
	"fmt"
	"strings"

	"cordwood/proto/lazyregexp"
)

// numberFormat is a pattern of to_char for numbers, such as FM9,990.00.
type numberFormat struct {
	bare bool // FM: without spaces and zeros at the ends
	// whole and fraction are the patterns before and after the point. They have the characters 9, 0 and comma.
	whole, fraction string
	point           bool
	// sign is S before or after the number, MI after it, or empty.
	sign        string
	signInFront bool
}

var (
	numberPattern = lazyregexp.New(`^(FM)?(S|SG|MI|PL)?([90,G]*)([.D]([90]*))?(S|MI)?$`)
	// numberLetters matches patterns for numbers, supported or not.
	numberLetters = lazyregexp.New(`^(FM)?[-+$90.,]*(9|0|EEEE|RN|rn|[SDGLVB.,]|MI|PL|SG|PR|TH|th| )*$`)
)

// maxFormatted is the maximum number of digits in a pattern.
const maxFormatted = 30

// isNumberFormat reports whether a pattern of to_char is for numbers.
func isNumberFormat(pattern string) bool {
	return strings.ContainsAny(pattern, "90") && numberLetters.MatchString(pattern) ||
		strings.EqualFold(strings.TrimPrefix(pattern, "FM"), "RN")
}

// readNumberFormat reads a pattern. ok is false if a part of it is not supported.
func readNumberFormat(pattern string) (f numberFormat, ok bool) {
	m := numberPattern.FindStringSubmatch(pattern)
	if m == nil || m[2] != "" && (m[6] != "" || m[2] != "S") {
		return f, false
	}
	f = numberFormat{bare: m[1] != "", whole: strings.ReplaceAll(m[3], "G", ","), fraction: m[5], point: m[4] != ""}
	f.sign, f.signInFront = m[2]+m[6], m[2] != ""
	digits := len(f.whole) + len(f.fraction)
	return f, digits <= maxFormatted && strings.Trim(f.whole, ",") == f.whole && f.whole != ""
}

// text returns the expression for a number. It binds the number, its digits, and then the text without the sign.
func (f numberFormat) text(number string) string {
	digits := len(strings.ReplaceAll(f.whole, ",", ""))
	places := len(f.fraction)
	decimal := fmt.Sprintf("CAST(CAST(abs(cordwood_x) AS DECIMAL(38,%d)) AS VARCHAR)", places)
	// For floats, printf rounds 2.5 to 2, as PostgreSQL does.
	float := fmt.Sprintf("printf('%%.%df', CAST(abs(cordwood_x) AS DOUBLE))", places)
	decimal = "CASE WHEN typeof(cordwood_x) IN ('DOUBLE', 'FLOAT') THEN " + float + " ELSE " + decimal + " END"
	limit := "1" + strings.Repeat("0", digits)
	rounded := fmt.Sprintf("CASE WHEN abs(cordwood_x) < %s THEN %s ELSE %s END", limit, decimal, quote(limit))
	body := fmt.Sprintf("list_transform([split_part(cordwood_t, '.', 1)], lambda cordwood_i: "+
		"CASE WHEN len(cordwood_i) > %d THEN %s ELSE %s END)[1]", digits, quote(f.overflow()), f.digits())
	unsigned := fmt.Sprintf("list_transform([%s], lambda cordwood_t: list_transform([%s], lambda cordwood_s: %s)[1])[1]",
		rounded, body, f.signed())
	return fmt.Sprintf("list_transform([%s], lambda cordwood_x: CASE WHEN cordwood_x IS NOT NULL THEN %s END)[1]", number,
		unsigned)
}

// overflow is the text of a number with too many digits.
func (f numberFormat) overflow() string {
	text := strings.NewReplacer("9", "#", "0", "#").Replace(f.whole)
	if f.point {
		text += "." + strings.Repeat("#", len(f.fraction))
	}
	return text
}

// digits returns the expression for the digits of cordwood_i before the point, and for the point and what follows it.
func (f numberFormat) digits() string {
	n := len(strings.ReplaceAll(f.whole, ",", ""))
	zeros := 0 // the number of digits that are always written
	if first := strings.IndexByte(f.whole, '0'); first >= 0 {
		zeros = len(strings.ReplaceAll(f.whole[first:], ",", ""))
	}
	number := "cordwood_i"
	switch {
	case f.fraction != "" && f.bare && !strings.Contains(f.fraction, "0"):
		number = "CASE WHEN cordwood_i = '0' AND regexp_matches(cordwood_t, '[1-9]') THEN '' ELSE cordwood_i END"
	case f.fraction != "":
		number = "CASE WHEN cordwood_i = '0' THEN '' ELSE cordwood_i END"
	}
	if zeros > 0 {
		number = fmt.Sprintf("CASE WHEN len(cordwood_i) < %d OR cordwood_i = '0' THEN lpad(%s, %[1]d, '0') "+
			"ELSE cordwood_i END", zeros, number)
	}
	filled := fmt.Sprintf("lpad(%s, %d, ' ')", number, n)
	var parts []string
	digit := 0
	for _, c := range f.whole {
		if c == ',' {
			parts = append(parts, fmt.Sprintf("CASE WHEN cordwood_f[%d] = ' ' THEN ' ' ELSE ',' END", digit))
			continue
		}
		digit++
		parts = append(parts, fmt.Sprintf("cordwood_f[%d]", digit))
	}
	text := fmt.Sprintf("list_transform([%s], lambda cordwood_f: %s)[1]", filled, strings.Join(parts, " || "))
	if !f.point {
		return text
	}
	fraction := fmt.Sprintf("rpad(split_part(cordwood_t, '.', 2), %d, '0')", len(f.fraction))
	switch kept := strings.LastIndexByte(f.fraction, '0') + 1; {
	case f.fraction == "":
		fraction = "''"
	case f.bare:
		fraction = fmt.Sprintf("CASE WHEN len(rtrim(%s, '0')) < %d THEN rpad(rtrim(%[1]s, '0'), %[2]d, '0') ELSE "+
			"rtrim(%[1]s, '0') END", fraction, kept)
	}
	return text + " || '.' || " + fraction
}

// signed returns the expression for the number with its sign. cordwood_s is the text without it.
func (f numberFormat) signed() string {
	negative := "cordwood_x < 0 AND regexp_matches(cordwood_t, '[1-9]')"
	plain := "ltrim(cordwood_s, ' ')"
	width := len(f.whole) + len(f.fraction)
	if f.point {
		width++
	}
	either := func(minus, plus string) string {
		return "CASE WHEN " + negative + " THEN '" + minus + "' ELSE '" + plus + "' END"
	}
	aligned := func(text string, width int) string {
		if f.bare {
			return text
		}
		return fmt.Sprintf("lpad(%s, %d, ' ')", text, width)
	}
	space := " "
	if f.bare {
		space = ""
	}
	switch {
	case f.sign == "S" && f.signInFront:
		return aligned(either("-", "+")+" || "+plain, width+1)
	case f.sign == "S":
		return aligned(plain, width) + " || " + either("-", "+")
	case f.sign == "MI":
		return aligned(plain, width) + " || " + either("-", space)
	}
	return aligned(either("-", space)+" || "+plain, width+1)
}

// toChar rewrites to_char with a literal pattern for times or numbers.
func toChar(r *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	if isOpen(args[1]) {
		return "CAST(" + args[1] + " AS VARCHAR)", true
	}
	pattern, ok := literalOf(args[1])
	if !ok {
		return "", r.refuse("to_char needs a literal pattern, such as to_char(ts, 'YYYY-MM-DD')", 0)
	}
	if isNumberFormat(pattern) {
		f, ok := readNumberFormat(pattern)
		if !ok {
			return "", r.refuse("to_char does not support the pattern "+quote(pattern)+" for numbers, only the digits 9 and 0, "+
				"one point, commas, FM, S and MI; write printf('%.2f', x) or format('{:,}', x)", 0)
		}
		return f.text(args[0]), true
	}
	expression, ok := timeText(pattern)
	if !ok {
		return "", r.refuse("to_char does not support the suffix SP in the pattern "+quote(pattern)+"; leave it out", 0)
	}
	if strings.Count(expression, "%1") == 1 && strings.HasPrefix(expression, "strftime(%1, ") {
		return strings.Replace(expression, "%1", args[0], 1), true
	}
	return "list_transform([" + args[0] + "], lambda cordwood_x: " + strings.ReplaceAll(expression, "%1", "cordwood_x") +
		")[1]", true
}

// toNumber refuses to_number, whose patterns say where digits are.
func toNumber(r *rewriter, _ []string) (string, bool) {
	return "", r.refuse("to_number is not supported; write CAST(replace(x, ',', '') AS numeric(18, 2))", 0)
}
