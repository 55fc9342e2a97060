package sql

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// EngineError is an error that DuckDB returned.
type EngineError struct {
	// Kind is the kind of error, such as "Binder" or "Out of Memory". Subtype is a text such as
	// "COLUMN_NOT_FOUND", or empty.
	Kind    string `json:"exception_type"`
	Subtype string `json:"error_subtype"`
	Message string `json:"exception_message"`
	// Position is the position of the mistake in the statement, in digits, or empty.
	Position string `json:"position"`
}

func (e *EngineError) Error() string { return e.Kind + ": " + e.Message }

// IsBroken reports whether the database cannot be used any more because of err.
func IsBroken(err error) bool {
	e := (*EngineError)(nil)
	return errors.As(err, &e) &&
		(strings.EqualFold(e.Kind, "FATAL") || strings.EqualFold(e.Kind, "INTERNAL") ||
			strings.Contains(e.Message, "database has been invalidated"))
}

// IsBinding reports whether err is about a name in the statement.
func IsBinding(err error) bool {
	e := (*EngineError)(nil)
	return errors.As(err, &e) && strings.EqualFold(e.Kind, "Binder")
}

// ToClient adds a code to err, and a text for the author of the statement. r, if not nil, describes
// how the statement was rewritten.
func ToClient(err error, r *Rewritten) error {
	e := (*EngineError)(nil)
	if !errors.As(err, &e) {
		if own := (*errs.Error)(nil); errors.As(err, &own) {
			return err
		}
		return errs.Wrap(errs.Internal, err, "query engine")
	}
	if strings.HasPrefix(e.Message, "Max expression depth") {
		return errTooDeep
	}
	msg := advise(firstLine(e.Message))
	if isOutOfMemory(e) {
		return noMemory(e, msg)
	}
	if r != nil {
		if at, perr := strconv.Atoi(e.Position); perr == nil {
			if name, ok := r.quotedName(at); ok && planCode(e) == errs.ColumnNotFound {
				msg += "; double quotes are for names: write a text in single quotes, " + QuoteText(name)
			} else if m := noSuchColumn.FindStringSubmatch(firstLine(e.Message)); m != nil && r.compared(at) {
				msg += "; if it is a text, write " + QuoteText(m[1])
			}
			if at, ok := r.clientPosition(at); ok {
				if m := beyondInt64.FindStringSubmatch(msg); m != nil {
					if word := limitWord(r.st.client, at); word != "" {
						msg = fmt.Sprintf("%s %s is too large; the maximum is %d", word, m[1], int64(math.MaxInt64))
					}
				}
				msg += fmt.Sprintf(" (position %d)", at)
			}
		}
	}
	switch strings.ToLower(e.Kind) {
	case "parser", "syntax":
		return &errs.Error{Code: errs.InvalidSyntax, Msg: msg, Err: err}
	case "binder", "catalog", "parameter not allowed", "parameter not resolved", "mismatch type", "type mismatch",
		"dependency", "expression", "not implemented":
		return &errs.Error{Code: planCode(e), Msg: msg, Err: err}
	case "conversion", "out of range", "invalid input", "divide by zero", "decimal", "invalid type", "unknown type",
		"constraint", "object size", "sequence":
		return &errs.Error{Code: errs.InvalidArguments, Msg: msg, Err: err}
	case "interrupt":
		return &errs.Error{Code: errs.Cancelled, Msg: "query: interrupted", Err: err}
	case "permission":
		return &errs.Error{Code: errs.Unsupported, Msg: msg, Err: err}
	case "io":
		if m := unwritten.FindStringSubmatch(e.Message); m != nil {
			return (&errs.Error{
				Code: errs.RuntimeResourcesExhausted, Err: err,
				Msg: "the query needs more than --query-memory, and " + query.SpillFailed + " to the data folder (" + m[1] +
					"); make room on its disk, narrow the time range of the query, or group by fewer values",
			}).WithRetryAfter(time.Second)
		}
		return &errs.Error{Code: errs.StorageUnavailable, Msg: "query: read a segment: " + msg, Err: err}
	case "fatal", "internal":
		if strings.Contains(e.Message, "database has been invalidated") {
			return (&errs.Error{
				Code: errs.External, Err: err,
				Msg: "the query engine broke down because of another query that ran at the same time, and was replaced; " +
					"nothing was changed: send the query again",
			}).WithRetryAfter(time.Second)
		}
		// A bug of DuckDB that this statement triggers.
		return &errs.Error{
			Code: errs.EngineExecuteQuery, Err: err,
			Msg: "this statement makes the query engine break down (" + msg +
				"); write it in another way, and check the values and types of its arguments first",
		}
	}
	return &errs.Error{Code: errs.EngineExecuteQuery, Msg: msg, Err: err}
}

// beyondInt64 matches the error of a number that does not fit 64 bits.
var beyondInt64 = lazyregexp.New(
	`^Type INT128 with value (\d+) can't be cast because the value is out of range for the destination type INT64$`)

// limitWord returns LIMIT or OFFSET if that word is in front of a position of a text, and otherwise an empty text.
func limitWord(text string, at int) string {
	before := strings.ToUpper(strings.TrimSpace(text[:min(at, len(text))]))
	for _, word := range []string{"LIMIT", "OFFSET"} {
		if rest, ok := strings.CutSuffix(before, word); ok && (rest == "" || !IsNameByte(rest[len(rest)-1])) {
			return word
		}
	}
	return ""
}

// unwritten matches the error of a temporary file that could not be written.
var unwritten = lazyregexp.New(`(?s)^Could not write .*duckdb_temp.*": ([^:]*)$`)

// memorySigns are parts of messages about a lack of memory, from the engine and from the C++
// library. Errors with such messages may have another kind.
var memorySigns = []string{
	"std::bad_alloc", "bad allocation", "Allocation failure", "allocation failure",
	"failed to allocate", "could not allocate",
}

// isOutOfMemory reports whether the cause of e is a lack of memory.
func isOutOfMemory(e *EngineError) bool {
	return strings.EqualFold(e.Kind, "out of memory") ||
		slices.ContainsFunc(memorySigns, func(sign string) bool { return strings.Contains(e.Message, sign) })
}

// noMemory returns the error for a statement that needs more memory than it can get.
func noMemory(cause error, msg string) error {
	text := "the query needs more memory than the engine has (" + msg + ")"
	if strings.Contains(msg, "failed to offload data block") {
		// It also spilled more than the limit of temporary files.
		text = "the query needs more than --query-memory, and its temporary files more than --query-temp-limit (" + msg + ")"
	}
	return (&errs.Error{
		Code: errs.RuntimeResourcesExhausted, Err: cause,
		Msg: text + "; narrow its time range, group by fewer values, or try again when fewer queries run",
	}).WithRetryAfter(time.Second)
}

var noColumn = lazyregexp.New(`does not have a column named|^Referenced column .* not found`)

func planCode(e *EngineError) errs.Code {
	if e.Subtype == "COLUMN_NOT_FOUND" || noColumn.MatchString(e.Message) {
		return errs.ColumnNotFound
	}
	return errs.PlanQuery
}

const numberTypes = `(TINYINT|SMALLINT|INTEGER|BIGINT|INTEGER_LITERAL|HUGEINT|UBIGINT|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\))`

// Messages of DuckDB about comparisons that users often try. They contain no advice.
var (
	numberAsTime = lazyregexp.New(`^Unimplemented type for cast \(` + numberTypes + ` -> TIMESTAMP|` +
		`^Cannot (compare|mix) values of type TIMESTAMP\w* and (type )?` + numberTypes + `|` +
		`^Cannot (compare|mix) values of type ` + numberTypes + ` and (type )?TIMESTAMP`)
	outsideNanos = lazyregexp.New(`^Could not convert Timestamp\(\w+\) to Timestamp\(NS\)|^a time lies outside what ` +
		`nanoseconds hold|^Type INT32 with value .* can't be cast to the destination type INT64`)
	textOutside  = lazyregexp.New(`^Could not convert string '(.*)' to INT64$`)
	wholeNumber  = lazyregexp.New(`^[+-]?[0-9]+$`)
	longYear     = lazyregexp.New(`^[+-]?[0-9]{5,}-[0-9]{1,2}-[0-9]{1,2}`)
	textAsNumber = lazyregexp.New(`^Could not convert string '(.*)' to INT64$`)
	digits       = lazyregexp.New(`^[0-9]+$`)
	likeATime    = lazyregexp.New(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([ T][0-9]|$)`)
	noSuchColumn = lazyregexp.New(
		`^Referenced column "(.*)" (?:not found in FROM clause!|was not found because the FROM clause is missing)` +
			`(?: Candidate bindings: (.*))?$`)
	noColumnOf = lazyregexp.New(`^(?:Values list|Table) "(.*)" does not have a column named "(.*)"$`)
	asOperator = lazyregexp.New(
		`^syntax error at or near "(contains|matches|matches_term|has|startswith|starts_with)"$`)
	timeAsNumber = lazyregexp.New(`^Unimplemented type for cast \((DATE|TIMESTAMP\w*( WITH TIME ZONE)?) -> ` +
		numberTypes + `\)`)
	textWithNumber = lazyregexp.New(`^Cannot (compare|mix) values of type (VARCHAR and (type )?` + numberTypes + `|` +
		numberTypes + ` and (type )?VARCHAR)`)
	spanless = lazyregexp.New(`^syntax error at or near "(ms|s|sec|m|min|h|d|w|y)"|"?[-+]\(TIMESTAMP\w*( WITH ` +
		`TIME ZONE)?, (STRING_LITERAL|VARCHAR|INTEGER_LITERAL|INTEGER|BIGINT)\)`)
	textPlus = lazyregexp.New(`argument types '[-+*/%]\((VARCHAR, ` + numberTypes + `|` + numberTypes +
		`, VARCHAR)\)'`)
	badPath  = lazyregexp.New(`^JSON path error near '(.*)'$`)
	jsonOf   = lazyregexp.New(`^No function matches .*'cordwood_depth\([A-Z_]+, (.*)\)'`)
	likeOf   = lazyregexp.New(`^No function matches .*'(?:!?~~|cordwood_like\w*|cordwood_glob)\((.*)\)'`)
	searchOf = lazyregexp.New(`^No function matches .*'cordwood_matches\((.*), [A-Z_]+\)'`)
)

// beyondBigint reports whether a text is an integer that has more than 64 bits.
func beyondBigint(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return errors.Is(err, strconv.ErrRange)
}

// advise adds advice to a message that contains none.
func advise(msg string) string {
	switch {
	case numberAsTime.MatchString(msg):
		return msg + "; write a time as '2026-01-05 10:00:00', or convert a number to a time: " +
			"to_timestamp(seconds), epoch_ms(milliseconds), make_timestamp(microseconds), make_timestamp_ns(nanoseconds)"
	case outsideNanos.MatchString(msg):
		return "the time of a row is outside the range of nanoseconds, which is 1677-09-22 to 2262-04-11: " +
			"TRY_CAST(… AS TIMESTAMP_NS) and TRY(epoch_ns(…)) return null for it; " +
			"epoch_us returns it in microseconds; to compare it with nanoseconds, cast these to TIMESTAMP"
	case textOutside.MatchString(msg) && isOutsideNanos(textOutside.FindStringSubmatch(msg)[1]):
		return fmt.Sprintf("the time '%s' is outside the range of nanoseconds, which is %s; "+
			"cast both sides of the comparison to TIMESTAMP",
			textOutside.FindStringSubmatch(msg)[1], schema.TimestampNanosecond.TimeSpan())
	case strings.HasPrefix(msg, "Overflow in HUGEINT "): // expressions of the client have messages about INT128
		return "a sum of integers has more than 38 digits; cast its argument to DOUBLE, as in sum(n::DOUBLE)"
	case strings.HasPrefix(msg, "timestamp field value out of range: "):
		return msg + outOfRange(strings.Trim(strings.TrimPrefix(msg, "timestamp field value out of range: "), `"`))
	case timeAsNumber.MatchString(msg):
		return msg + "; to convert a time to a number use epoch(ts) for seconds, epoch_ms(ts), epoch_us(ts) or epoch_ns(ts)"
	case textAsNumber.MatchString(msg) && likeATime.MatchString(textAsNumber.FindStringSubmatch(msg)[1]):
		return fmt.Sprintf("'%s' is neither an integer nor a time: there is no such day or time of day",
			textAsNumber.FindStringSubmatch(msg)[1])
	case textAsNumber.MatchString(msg) && beyondBigint(textAsNumber.FindStringSubmatch(msg)[1]):
		return fmt.Sprintf("'%s' is out of range for an integer of 64 bits, and it is not a time",
			textAsNumber.FindStringSubmatch(msg)[1])
	case textAsNumber.MatchString(msg) && digits.MatchString(textAsNumber.FindStringSubmatch(msg)[1]):
		return fmt.Sprintf("'%s' is a number in quotes, not a time; write a time as '2026-01-05 10:00:00', or convert "+
			"the number without quotes: to_timestamp(seconds), epoch_ms(milliseconds)",
			textAsNumber.FindStringSubmatch(msg)[1])
	case textAsNumber.MatchString(msg):
		return msg + ": it is neither an integer nor a time such as '2026-01-05 10:00:00'; write a time relative to now " +
			"as now() - INTERVAL '1 day'"
	case textWithNumber.MatchString(msg):
		return msg + "; write the number as text, as in code = '404', or compare the text's number: " +
			"TRY_CAST(code AS BIGINT) = 404"
	}
	if m := noSuchColumn.FindStringSubmatch(msg); m != nil {
		like := ""
		if m[2] != "" {
			like = "; the nearest names are " + m[2]
		}
		return `there is no column "` + m[1] + `"` + like
	}
	if m := noColumnOf.FindStringSubmatch(msg); m != nil {
		return `"` + m[1] + `" has no column "` + m[2] + `"`
	}
	if m := asOperator.FindStringSubmatch(strings.ToLower(msg)); m != nil {
		return msg + "; write a search as a function, as in matches(message, 'error') or contains(message, 'rror')"
	}
	if m := badPath.FindStringSubmatch(msg); m != nil {
		return "a path of JSON is wrong near '" + m[1] + "'; write it as '$.a.b[0]', and a key that has other characters " +
			"than letters, digits and _ in double quotes after a dot, as '$.a.\"my key\"[0]'"
	}
	if textPlus.MatchString(msg) {
		return strings.TrimSuffix(msg, ". You might need to add explicit type casts.") +
			"; cast the text to a number, as in code::DOUBLE + 1 or (data->>'n')::DOUBLE + 1"
	}
	if spanless.MatchString(msg) {
		return strings.TrimSuffix(msg, ".") + "; write an interval as in now() - INTERVAL '1 hour'"
	}
	if m := jsonOf.FindStringSubmatch(msg); m != nil {
		return "JSON functions take JSON or text, not values of type " + m[1] + "; use to_json to convert the " +
			"value to JSON"
	}
	if m := likeOf.FindStringSubmatch(msg); m != nil {
		of, _, _ := strings.Cut(m[1], ", ")
		return "LIKE, ILIKE and GLOB take texts, not values of type " + of +
			"; cast the value to text, as in code::VARCHAR LIKE '4%'"
	}
	if m := searchOf.FindStringSubmatch(msg); m != nil {
		return "matches and matches_term search texts, not values of type " + m[1] +
			"; cast the column, as in matches_term(code::VARCHAR, '404')"
	}
	return msg
}

// outOfRange describes which part of a time is out of range when DuckDB refuses the time.
func outOfRange(text string) string {
	switch {
	case wholeNumber.MatchString(text):
		return "; write a number without quotes: compared with a column, it is in the column's unit"
	case longYear.MatchString(text):
		return "; write a year between -290307 and 294246"
	}
	return "; there is no such day or time of day"
}

// isOutsideNanos reports whether a text is a time outside the range of nanoseconds.
func isOutsideNanos(s string) bool {
	if longYear.MatchString(s) {
		return true
	}
	utc, _, ok := inUTC(s, time.UTC)
	if !ok {
		return false
	}
	at, err := time.Parse(utcLayout, utc)
	return err == nil && (at.Before(time.Unix(0, math.MinInt64)) || at.After(time.Unix(0, math.MaxInt64)))
}

// firstLine removes the lists of candidates and the excerpt of the statement from DuckDB's text.
func firstLine(msg string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(msg), "\n")
	if next, _, _ := strings.Cut(rest, "\n"); strings.HasPrefix(next, "Did you mean") ||
		strings.HasPrefix(next, "Candidate bindings: \"") {
		line += " " + next
	}
	return line
}
