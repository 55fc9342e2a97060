package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The parts of an interval. Products of months may exceed 64 bits.
const (
	monthsOf = "(CAST(datepart('year', cordwood_i) AS HUGEINT) * 12 + datepart('month', cordwood_i))"
	daysOf   = "CAST(datepart('day', cordwood_i) AS HUGEINT)"
	microsOf = "(CAST(datepart('hour', cordwood_i) AS HUGEINT) * 3600000000 + datepart('minute', cordwood_i) * " +
		"60000000 + datepart('microsecond', cordwood_i))"
	microsOfDay = "86400000000"
)

// justify returns a function that makes an interval of its parts, in which %1 is the argument.
func justify(months, days, micros string) expand {
	return with("list_transform([CAST(%1 AS INTERVAL)], lambda cordwood_i: to_months(CAST("+months+" AS INTEGER)) + "+
		"to_days(CAST("+days+" AS INTEGER)) + to_microseconds(CAST("+micros+" AS BIGINT)))[1]", 1)
}

// The functions justify_hours, justify_days and justify_interval make all parts of an interval positive or all
// negative, so the parts are quotients and remainders of a sum.
var (
	justifyHours = func() expand {
		all := "(" + daysOf + " * " + microsOfDay + " + " + microsOf + ")"
		return justify(monthsOf, all+" // "+microsOfDay, all+" % "+microsOfDay)
	}()
	justifyDays = func() expand {
		all := "(" + monthsOf + " * 30 + " + daysOf + ")"
		return justify(all+" // 30", all+" % 30", microsOf)
	}()
	justifyInterval = func() expand {
		all := "((" + monthsOf + " * 30 + " + daysOf + ") * " + microsOfDay + " + " + microsOf + ")"
		month := "(30 * CAST(" + microsOfDay + " AS HUGEINT))"
		return justify(all+" // "+month, all+" % "+month+" // "+microsOfDay, all+" % "+microsOfDay)
	}()
)

// currentTime rewrites current_timestamp(p) and localtimestamp(p), which round to p digits of a second.
func currentTime(_ *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	p, err := strconv.Atoi(args[0])
	if err != nil || p < 0 {
		return "", false
	}
	if p >= 6 { // PostgreSQL has no finer resolution, and reduces p with a warning
		return "now()", true
	}
	unit := 1
	for range 6 - p {
		unit *= 10
	}
	return fmt.Sprintf("make_timestamp((epoch_us(now()) + %d) // %d * %[2]d)", unit/2, unit), true
}

// intervalParts are the parameters of make_interval, in their order, with the functions that make an interval of them.
var intervalParts = []struct{ name, function string }{
	{"years", "to_years(%s)"},
	{"months", "to_months(%s)"},
	{"weeks", "to_weeks(%s)"},
	{"days", "to_days(%s)"},
	{"hours", "to_hours(%s)"},
	{"mins", "to_minutes(%s)"},
	{"secs", "to_microseconds(CAST(round((%s) * 1000000) AS BIGINT))"},
}

// makeInterval rewrites make_interval with arguments in their order or with names.
func makeInterval(_ *rewriter, args []string) (string, bool) {
	if len(args) > len(intervalParts) {
		return "", false
	}
	sum := []string{"to_days(0)"}
	for i, arg := range args {
		at := i
		for k, part := range intervalParts {
			rest, named := strings.CutPrefix(strings.ToLower(arg), part.name)
			rest = strings.TrimLeft(rest, " \t\n")
			if named && (strings.HasPrefix(rest, "=>") || strings.HasPrefix(rest, ":=")) {
				at, arg = k, arg[len(arg)-len(rest)+2:]
			}
		}
		sum = append(sum, fmt.Sprintf(intervalParts[at].function, arg))
	}
	return "(" + strings.Join(sum, " + ") + ")", true
}

// mayBeInterval reports whether an expression may be an interval: one that names the type, the difference of two times,
// or a column of a subquery in a statement with intervals.
func (r *rewriter) mayBeInterval(source []tok) bool {
	if len(source) == 0 || source[0].word("DISTINCT") || r.columns().catalog {
		return false
	}
	minus := false
	for i, t := range source {
		switch {
		case t.word("INTERVAL"), t.word("age"), t.word("make_interval"):
			return true
		case t.sym("-"):
			minus = minus || i > 0
		}
	}
	if minus {
		return r.mayBe(source, typeTime)
	}
	_, known := r.columns().types[strings.ToLower(source[len(source)-1].val)]
	return !known && source[len(source)-1].isName() && len(source) < 4 &&
		slices.ContainsFunc(r.tokens, func(t tok) bool { return t.word("INTERVAL") })
}

// intervalSum rewrites sum of intervals, with FILTER and OVER behind it: the engine has sums of numbers only. The name
// is n tokens ahead, and the arguments end end tokens ahead. It reports false and writes nothing for another sum.
func (r *rewriter) intervalSum(n, end int) bool {
	source := r.in[r.i+n+2 : r.i+end]
	if !r.mayBeInterval(source) {
		return false
	}
	x := joined(r.all(source))
	typ, probe := r.typeAt(source[0].at, x)
	if probe != "" {
		_, size := r.clausesAfter(end)
		r.raw(r.at(0), probe)
		r.i += size
		return true
	}
	if typ != "INTERVAL" {
		return false
	}
	clauses, size := r.clausesAfter(end)
	part := func(name string) string { return "datepart('" + name + "', " + x + ")" }
	total := func(number, typ string) string { return "CAST(sum(" + number + ")" + clauses + " AS " + typ + ")" }
	r.raw(r.at(0), "(to_months("+total(part("year")+" * 12 + "+part("month"), "INTEGER")+") + to_days("+
		total(part("day"), "INTEGER")+") + to_microseconds("+total(part("hour")+" * 3600000000 + "+part("minute")+
		" * 60000000 + "+part("microsecond"), "BIGINT")+"))")
	r.i += size
	return true
}
