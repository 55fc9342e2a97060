package processor

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

// hostileOptions has options of each processor for the field d, in YAML flow style.
var hostileOptions = map[string][]string{
	"cmcd": {``},
	"csv": {
		`target_fields: "a,b,c"`, `target_fields: "a,b,c", trim: true`, "target_fields: [" + manyNames(2000) + "]",
	},
	"date":       {`formats: ["%Y-%m-%dT%H:%M:%S%Z", "%d/%b/%Y:%H:%M:%S %z"]`},
	"decolorize": {``},
	"digest":     {`presets: [numbers, quoted, bracketed, uuid, ip]`, `regex: ["a*b|a"]`, `regex: ['\w+\s', '(a|aa)+$']`},
	"dissect": {
		`pattern: '%{a} %{b} %{c}'`, `pattern: '%{a->} %{b}'`,
		`patterns: ['%{+a/1} %{+a/2} "%{*k}=%{&k}"', '[%{a}] %{b} "%{c}"', '%{a}::%{b}']`,
		"pattern: '" + strings.Repeat("%{+a} ", 500) + "'",
	},
	"epoch":  {`resolution: ms`},
	"filter": {`targets: [a, "É"]`},
	"geoip":  nil, // refused without a database; it reads an address of bounded length
	"grok": {
		`pattern: '%{IP:ip} %{GREEDYDATA:m}'`, `patterns: ['%{COMBINEDAPACHELOG}', '%{DATA:a} %{DATA:b} %{QS:c}x']`,
		`pattern: '(?<x>(a+)+b)'`,
	},
	"gsub": {
		`pattern: a, replacement: bcd`, `pattern: 'a*b|a', replacement: x`,
		`pattern: '(\w+)\s+(\S+)', replacement: '$2 $1'`, `pattern: '', replacement: xyz`,
		`pattern: '(a+)+$', replacement: ''`,
	},
	"join":       {`separator: ", "`},
	"json_parse": {``, `into_root: true`},
	"json_path": {
		`json_path: '$..*'`, `json_path: '$..[?search(@, "a*b|(a+)+c")]'`, `json_path: '$[?@.key == 1]..value'`,
		`json_path: '$[?match(@, "(a|aa)*b")]'`,
	},
	"key_value": {``, `field_split: ",", value_split: ":"`},
	"letter":    {`method: upper`, `method: lower`, `method: capital`},
	"logfmt":    {``},
	"regex": {
		`pattern: '(?<x>\w+) (?<y>.*)b'`, `patterns: ['(?<x>(a+)+b)', '(?<y>[^"]*"[^"]*"){3}c']`,
		`pattern: '(?<x>(?:a?){300}a{300})'`,
	},
	"select":         {`type: exclude`, `type: include`},
	"simple_extract": {`key: a.b`},
	"syslog":         {``},
	"urlencoding":    {`method: decode`, `method: encode`},
	"user_agent":     {``},
	"vrl":            {`source: "."`},
}

func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("f", i)
	}
	return strings.Join(names, ", ")
}

// heads are beginnings of the texts that processors read.
var heads = []string{
	"", `"`, "{", "[", `{"a":`, "<34>1 2003-10-11T22:14:15.003Z h a - ID ", "<34>Oct 11 22:14:15 h a[1]: ",
	`127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "`, "br=1,", "a=",
}

var hostileUnits = []string{
	"a", "a ", "a=", "a=b ", "a,", ",", "=", "\"", "\"a,\"a,", "\"a\" ", "'", "(", "[", "{", "{\"a\":", "[1,", "1,", "<",
	"[a b=\"c\"]", "@", ":", "/", "%", "%25", "\\", "\\\"", "\\u0041",
	"\x1b[", "\x1b[0m", ".", "-", "aB", "É", "9", "1.", "\n", "\t", " ", "\x00", "|", ";", "a b \"c=d ", "::",
	"10.0.0.1 ", "a\\ ", "]",
}

// TestProcessorsPayForTheirWork runs every processor on hostile texts and values of 1 MB and 2 MB. The time and
// memory that it takes must be proportional to the steps and bytes that it takes from the record's budget. All
// are tried with 64 KB first. Those that take 16 times as long as allowed there, and some others, are tried with
// the full sizes.
func TestProcessorsPayForTheirWork(t *testing.T) {
	const screen = 64 << 10
	sizes := []int{1 << 20, 2 << 20}
	if testing.Short() {
		sizes = nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, k := range kinds {
		options, ok := hostileOptions[k.Name]
		if !ok {
			t.Errorf("%s has no hostile options: add some", k.Name)
		}
		t.Run(k.Name, func(t *testing.T) {
			for _, o := range options {
				if o != "" {
					o = ", " + o
				}
				text := "{field: d" + o + "}"
				if k.Name == "vrl" {
					text = "{" + o[2:] + "}"
				}
				var names Names
				step, err := compileOne(k.Name, text, Env{}, &names)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				begin := time.Now()
				for i := range hostileCount() {
					if time.Since(begin) > time.Second/3 && i%31 != 0 {
						continue // of the slow processors, some are enough
					}
					problem := processorExcess(t, &step, &names, hostileValue(i, screen), 1./16)
					if problem == "" && i%97 != 0 {
						continue
					}
					for _, size := range sizes {
						v := hostileValue(i, size)
						if problem = processorExcess(t, &step, &names, v, 1); problem != "" {
							t.Errorf("%.200s on %.60q of %d bytes: %s", text, Describe(v), size, problem)
							break
						}
					}
				}
			}
		})
	}
}

func hostileCount() int { return len(heads)*len(hostileUnits) + 4 }

// hostileValue returns a value of about size bytes.
func hostileValue(i, size int) value.Value {
	if i < len(heads)*len(hostileUnits) {
		head, unit := heads[i/len(hostileUnits)], hostileUnits[i%len(hostileUnits)]
		return value.NewString(head + strings.Repeat(unit, (size-len(head))/len(unit)))
	}
	list := make([]value.Value, size/16)
	for j := range list {
		switch i - len(heads)*len(hostileUnits) {
		case 0:
			list[j] = value.NewInt(int64(j))
		case 1:
			list[j] = value.NewString("aaaaaaaa")
		case 2:
			list[j] = value.ObjectOf(value.Field{Key: "key", Value: value.NewInt(1)},
				value.Field{Key: "value", Value: value.NewString("a")})
		default:
			list[j] = value.NewArray([]value.Value{value.NewString("a")})
		}
	}
	return value.NewArray(list)
}

// processorExcess measures a processor, up to three times, and describes what exceeds its budget.
func processorExcess(t *testing.T, step *Step, names *Names, v value.Value, free float64) (problem string) {
	t.Helper()
	for range 3 {
		if problem = measureProcessor(t, step, names, v, free); problem == "" {
			break
		}
	}
	return problem
}

func measureProcessor(t *testing.T, step *Step, names *Names, v value.Value, free float64) string {
	t.Helper()
	var m fn.Meter
	m.Start(nil, 0)
	budget := fn.Budget{Steps: 1 << 30, Bytes: vrl.DefaultBudget.Bytes}
	_ = m.Begin(budget)
	rec := NewRecord(names)
	rec.Work = &m
	rec.Value = value.ObjectOf(value.Field{Key: "d", Value: v.Share()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	watch := vrltest.StartWatch(t)
	_ = step.Apply(rec)
	took := watch.Took(t)
	runtime.ReadMemStats(&after)
	steps, bytes := budget.Steps-m.Record.Steps, budget.Bytes-m.Record.Bytes
	// Quadratic work takes a thousand times as long, so this limit leaves room for slow machines.
	if most := time.Duration(free*float64(320*time.Millisecond)) + 8*time.Duration(steps)*time.Microsecond; took > most {
		return fmt.Sprintf("takes %v for %d steps, at most %v is allowed", took, steps, most)
	}
	// Texts up to a few times as long as the field need not be charged.
	if got, most := int(after.TotalAlloc-before.TotalAlloc), int(free*(32<<20))+8*bytes; got > most {
		return fmt.Sprintf("allocates %d bytes, having reserved %d, at most %d is allowed", got, bytes, most)
	}
	return ""
}

// TestRecordBudget checks that processors fail on a record whose budget is used up.
func TestRecordBudget(t *testing.T) {
	var names Names
	var all []Step
	for _, k := range []string{"digest", "gsub", "regex", "grok", "csv", "letter", "key_value"} {
		step, err := compileOne(k, "{field: d, "+hostileOptions[k][0]+"}", Env{}, &names)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, step)
	}
	for _, step := range all {
		var m fn.Meter
		m.Start(nil, 0)
		_ = m.Begin(fn.Budget{Steps: 100, Bytes: 100})
		rec := NewRecord(&names)
		rec.Work = &m
		rec.Value = value.ObjectOf(value.Field{Key: "d", Value: value.NewString(strings.Repeat("a b ", 10_000))})
		if err := step.Apply(rec); err == nil || !strings.Contains(err.Error(), "its budget of steps is used up") {
			t.Errorf("%s: %v", step.Name, err)
		}
	}
}
