package doctor

// Severity is how bad a finding is.
type Severity string

const (
	// Note is worth knowing and needs nothing.
	Note Severity = "note"
	// Attention means that an operator should look; no data is lost.
	Attention Severity = "attention"
	// Damage means that data is lost or cannot be read.
	Damage Severity = "damage"
)

// Finding is one thing that was found.
type Finding struct {
	Severity Severity `json:"severity"`
	// Part is what was looked at: settings, machine, server or data.
	Part string `json:"part"`
	// File is relative to the data folder; empty: none of its files.
	File string `json:"file"`
	What string `json:"what"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

// Report is what a run found.
type Report struct {
	DataDir string `json:"data_dir"`
	// Server is the address of the server that was asked; empty: none was.
	Server string `json:"server,omitempty"`
	// Result is sound, needs attention or damaged.
	Result string `json:"result"`
	// Parts are what was looked at, each with its result.
	Parts    []Part    `json:"parts"`
	Findings []Finding `json:"findings"`
	// Files and Bytes of the data folder were read.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Part is one of the things that were looked at.
type Part struct {
	Name   string `json:"name"`
	Result string `json:"result"`
}

// The exit statuses of a run. In all commands, 2 means wrong usage.
const (
	statusAttention = 1
	statusDamage    = 3
)

var results = map[int]string{0: "sound", statusAttention: "needs attention", statusDamage: "damaged"}

// Status returns 0 if everything is sound, 1 if an operator should look, 3 if there is damage.
func (r *Report) Status() int { return r.status("") }

// status returns the status of the named part, or of all parts if name is empty.
func (r *Report) status(part string) int {
	status := 0
	for _, f := range r.Findings {
		switch {
		case part != "" && f.Part != part:
		case f.Severity == Damage:
			return statusDamage
		case f.Severity == Attention:
			status = statusAttention
		}
	}
	return status
}
