package clients

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// debianClients are clients in languages whose packages this test does not install. Each has the command that shows
// whether Debian's package is there.
var debianClients = []struct {
	client
	program string // what runs the program of the client
	script  string
	present []string
}{
	{
		documents("perl-elasticsearch", programs, false), "perl", "send.pl",
		[]string{"perl", "-MSearch::Elasticsearch", "-e1"},
	},
	{
		documents("ruby-elasticsearch", programs, false), "ruby", "send.rb",
		[]string{"ruby", "-e", "require 'elasticsearch'; require 'gelf'"},
	},
	{
		client{
			name: "ruby-gelf", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", datagrams: true,
			columns: `message = 'a record' AND host = 'web1' AND app = 'shop'`, again: nobody, // ruby-gelf has levels of its own
		},
		"ruby", "send.rb",
		[]string{"ruby", "-e", "require 'elasticsearch'; require 'gelf'"},
	},
	{syslogOf("php-monolog", true), "php", "send.php", []string{"php", "-r", "require 'Monolog/autoload.php';"}},
	{syslogOf("php-monolog-3164", true), "php", "send.php", []string{"php", "-r", "require 'Monolog/autoload.php';"}},
	{syslogOf("logger-tcp", false), "sh", "send.sh", []string{"logger", "--version"}},
	{syslogOf("logger-tcp-octets", false), "sh", "send.sh", []string{"logger", "--version"}},
	{syslogOf("logger-udp-3164", true), "sh", "send.sh", []string{"logger", "--version"}},
}

// syslogOf returns a client of syslog.
func syslogOf(name string, datagrams bool) client {
	return client{
		name: name, address: (*server).syslogAddr, table: "syslog", mark: markInText, again: nobody, datagrams: datagrams,
		columns: ofSyslog + ` AND appname = 'shop'`,
	}
}

// TestDebian runs clients in Perl, Ruby, PHP and C that Debian has as packages.
func TestDebian(t *testing.T) {
	for _, c := range debianClients {
		if out, err := exec.Command(c.present[0], c.present[1:]...).CombinedOutput(); err != nil {
			t.Run(c.name, func(t *testing.T) { t.Skipf("Debian's package is not installed: %v\n%s", err, out) })
			continue
		}
		run(t, []client{c.client}, program(c.program, filepath.Join("debian", c.script)))
	}
}
