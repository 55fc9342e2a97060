package clients

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// debianPG returns a client in a language whose packages this test does not install. present is the command that shows
// whether Debian's packages are there.
func debianPG(name, script string, present ...string) pgDebianClient {
	return pgDebianClient{
		pgClient{name: name, run: pgProgram(name, present[0], filepath.Join("postgres", "debian", script))}, present,
	}
}

type pgDebianClient struct {
	pgClient
	present []string
}

func (c pgDebianClient) except(checks ...string) pgDebianClient {
	c.without = checks
	return c
}

const hasPDO = "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"

var pgDebianClients = []pgDebianClient{
	debianPG("perl-dbd", "check.pl", "perl", "-MDBD::Pg", "-e1"),
	debianPG("php-pdo", "check.php", "php", "-r", hasPDO).except(pgCancel),
	debianPG("php-pdo-emulated", "check.php", "php", "-r", hasPDO).except(pgCancel),
	debianPG("ruby", "check.rb", "ruby", "-e", "require 'pg'; require 'active_record'; require 'sequel'"),
	debianPG("r-postgresql", "check.R", "Rscript", "-e", "library(RPostgreSQL)").except(pgTLS, pgCancel, pgCopy),
}

// pgDebian returns the clients of Debian's packages.
func pgDebian() (list []pgClient) {
	for _, c := range pgDebianClients {
		list = append(list, c.pgClient)
	}
	return list
}

// runDebianPG tests the clients whose packages are installed.
func runDebianPG(t *testing.T, p *pgServer) {
	for _, c := range pgDebianClients {
		if out, err := exec.Command(c.present[0], c.present[1:]...).CombinedOutput(); err != nil {
			t.Run(c.name, func(t *testing.T) { t.Skipf("Debian's package is not installed: %v\n%s", err, out) })
			continue
		}
		runPG(t, p, []pgClient{c.pgClient})
	}
}
