package doctor

import "cordwood/router/httpapi/clusterapi"

// Severity is the severity of a finding.
type Severity string

const (
	// Note is for facts that are worth knowing and need no action.
	Note Severity = "note"
	// Attention means that an operator should act; no data is lost.
	Attention Severity = "attention"
	// Damage means that data is lost or cannot be read.
	Damage Severity = "damage"
)

// Finding is one result of a check.
type Finding struct {
	Severity Severity `json:"severity"`
	// Part is the part that was checked: settings, machine, server or data.
	Part string `json:"part"`
	// File is the file that the finding is about, relative to the data folder. It may be empty.
	File string `json:"file"`
	What string `json:"what"`
	// Do is the advice.
	Do string `json:"do,omitempty"`
}

// Report is the result of a run.
type Report struct {
	DataDir string `json:"data_dir"`
	// Server is the address of the server that was asked; empty if none was.
	Server string `json:"server,omitempty"`
	// Result is sound, needs attention or damaged.
	Result string `json:"result"`
	// Parts are the parts that were checked, each with its result.
	Parts    []Part    `json:"parts"`
	Findings []Finding `json:"findings"`
	// Files and Bytes count the files and bytes that were read in the data folder.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Objects counts the objects in object storage that were found whole.
	Objects int `json:"objects,omitempty"`
	// Storage is the object storage of the server's cluster.
	Storage *clusterapi.ObjectStorage `json:"object_storage,omitempty"`
}

// Part is a part that was checked.
type Part struct {
	Name   string `json:"name"`
	Result string `json:"result"`
}

// These are the exit statuses of a run. In all commands, 2 means wrong usage.
const (
	statusAttention = 1
	statusDamage    = 3
)

var results = map[int]string{0: "sound", statusAttention: "needs attention", statusDamage: "damaged"}

// Status returns 0 if everything is in order, 1 if an operator should act, and 3 if there is damage.
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
