package processor

// Kind is a processor that a pipeline may name.
type Kind struct {
	Name string
	// Compile reads the options. If they are invalid, it notes the faults in o. The Apply is then not used and may be
	// nil.
	Compile func(o *Options) Apply
}

// kinds has all processors, sorted by name.
var kinds = []Kind{
	{"cmcd", compileCMCD},
	{"csv", compileCSV},
	{"date", compileDate},
	{"decolorize", compileDecolorize},
	{"digest", compileDigest},
	{"dissect", compileDissect},
	{"epoch", compileEpoch},
	{"filter", compileFilter},
	{"geoip", compileGeoIP},
	{"grok", compileGrok},
	{"gsub", compileGsub},
	{"join", compileJoin},
	{"json_parse", compileJSONParse},
	{"json_path", compileJSONPath},
	{"key_value", compileKeyValue},
	{"letter", compileLetter},
	{"logfmt", compileLogfmt},
	{"regex", compileRegex},
	{"select", compileSelect},
	{"simple_extract", compileSimpleExtract},
	{"syslog", compileSyslog},
	{"urlencoding", compileURLEncoding},
	{"user_agent", compileUserAgent},
	{"vrl", compileVRL},
}

// Find returns the processor with that name.
func Find(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// KindNames lists the names of all processors.
func KindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

// ownFieldsOnly contains the processors that change only fields named in their options: those in their field lists,
// and those that they declare as targets. Other processors may change any field.
var ownFieldsOnly = map[string]bool{
	"csv": true, "date": true, "decolorize": true, "digest": true, "dissect": true, "epoch": true,
	"filter": true, "gsub": true, "letter": true, "regex": true, "urlencoding": true,
}
