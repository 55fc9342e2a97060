package syslog

// facilities are the names of facilities, by number.
var facilities = [...]string{
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
	"ntp", "security", "console", "solaris-cron",
	"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
}

// severities are the keywords of severities, by number.
var severities = [...]string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}

// Facility returns the name of a facility, such as local0, or "" if the number is not from 0 to 23.
func Facility[N int | int64](number N) string { return nameOf(facilities[:], number) }

// Severity returns the keyword of a severity, such as err, or "" if the number is not from 0 to 7.
func Severity[N int | int64](number N) string { return nameOf(severities[:], number) }

// FacilityNumber returns the number of a facility, or -1 if the name is unknown.
func FacilityNumber(name string) int { return numberOf(facilities[:], name) }

// SeverityNumber returns the number of a severity, or -1 if the keyword is unknown.
func SeverityNumber(name string) int { return numberOf(severities[:], name) }

func nameOf[N int | int64](names []string, i N) string {
	if i < 0 || int64(i) >= int64(len(names)) {
		return ""
	}
	return names[i]
}

func numberOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}
