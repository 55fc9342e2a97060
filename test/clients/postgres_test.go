package clients

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// pgUser is the user for requests over HTTP. Each client has its own user, named after its database.
	pgUser = "ann"
	// pgPassword has characters that a client must quote or encode.
	pgPassword = "pass wörd's"
	// pgMany is the number of rows in public.many, whose n counts from 0.
	pgMany = 100_000
)

// The checks of a client. README.md describes them.
const (
	pgConnect    = "connect"
	pgTLS        = "tls"
	pgSchema     = "schema"
	pgParameters = "parameters"
	pgTypes      = "types"
	pgFetch      = "fetch"
	pgCancel     = "cancel"
	pgErrors     = "errors"
	pgCopy       = "copy"
)

var pgChecks = []string{
	pgConnect, pgTLS, pgSchema, pgParameters, pgTypes, pgFetch, pgCancel, pgErrors, pgCopy,
}

// pgTarget is the configuration of a client: the server's address, its database, and the file with the CA of the
// server's certificate.
type pgTarget struct {
	host, port, database, ca string
}

// pgClient is a client of PostgreSQL.
type pgClient struct {
	name string
	// without lists the checks that the client cannot run.
	without []string
	// run runs the checks, and calls report with the result of each.
	run func(t *testing.T, to pgTarget, report func(check string, err error))
}

// database returns the name of the client's database, which is also the name of its user.
func (c *pgClient) database() string { return strings.ReplaceAll(c.name, "-", "_") }

// pgServer is a server with users, TLS, and a table with many rows.
type pgServer struct {
	*server
	host, port, ca string
}

// startPG starts a server for all clients of PostgreSQL.
func startPG(t *testing.T, tables ...[]pgClient) *pgServer {
	t.Helper()
	s := prepare(t)
	host, _ := hostAndPort(t, s.users)
	dir := t.TempDir()
	cert, key := certificate(t, dir, host)
	users := filepath.Join(dir, "users")
	list := pgUser + "=" + pgPassword + "\n"
	for _, c := range slices.Concat(tables...) { // wrong passwords are counted for each user
		list += c.database() + "=" + pgPassword + "\n"
	}
	if err := os.WriteFile(users, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = append(slices.Clone(s.args[:9]), "--pg-addr", host+":5432", "--user-file", users,
		"--tls-cert", cert, "--tls-key", key)
	s.url = "https://" + s.users
	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	s.web = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	s.run()
	p := &pgServer{server: s, host: host, port: "5432", ca: cert}
	p.statement("public", "CREATE TABLE many (ts TIMESTAMP(9) TIME INDEX, n BIGINT, t TEXT) WITH (append_mode='true')")
	p.fill()
	return p
}

// post sends a body to a path of the HTTP port, as the user of the clients.
func (p *pgServer) post(path, contentType string, body io.Reader) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.SetBasicAuth(pgUser, pgPassword)
	req.Header.Set("Content-Type", contentType)
	resp, err := p.web.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s: %s", path, resp.Status, text)
	}
}

// statement runs a statement over HTTP.
func (p *pgServer) statement(db, sql string) {
	p.t.Helper()
	p.post("/v1/sql?db="+db, "application/sql", strings.NewReader(sql))
}

// fill stores the rows of public.many.
func (p *pgServer) fill() {
	p.t.Helper()
	var rows bytes.Buffer
	for n := range pgMany {
		fmt.Fprintf(&rows, `{"ts":%d,"n":%d,"t":"row %d"}`+"\n", 1767607200_000000000+int64(n)*1000, n, n)
	}
	p.post("/v1/ingest?table=many&pipeline_name=svc_identity&custom_time_index=ts;epoch;ns", "application/x-ndjson", &rows)
}

// database creates a database for a client, with a table that has all types of columns, and a table that merges rows.
func (p *pgServer) database(c *pgClient) pgTarget {
	p.t.Helper()
	db := c.database()
	p.statement("public", "CREATE DATABASE "+db)
	p.statement(db, "CREATE TABLE types (ts TIMESTAMP(9) TIME INDEX, id INT, s TIMESTAMP(0), ms TIMESTAMP(3), "+
		"us TIMESTAMP(6), i8 TINYINT, i16 SMALLINT, i64 BIGINT, u8 TINYINT UNSIGNED, u16 SMALLINT UNSIGNED, "+
		"u32 INT UNSIGNED, u64 BIGINT UNSIGNED, f32 FLOAT, f64 DOUBLE, b BOOLEAN, t TEXT, bin BINARY, j JSON) "+
		"WITH (append_mode='true')")
	p.statement(db, "CREATE TABLE merged (ts TIMESTAMP(6) TIME INDEX, host TEXT, took DOUBLE DEFAULT 1.5, "+
		"PRIMARY KEY (host)) WITH (append_mode='false', comment='rows by host')")
	return pgTarget{host: p.host, port: p.port, database: db, ca: p.ca}
}

// certificate writes a self-signed certificate for an address, and its key.
func certificate(t *testing.T, dir, ip string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: ip}, IPAddresses: []net.IP{net.ParseIP(ip)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: raw},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// pgProgram runs the checks with a program. Its arguments are the client's name, host, port, database and CA file.
// For each check it prints a line "ok CHECK" or "failed CHECK TEXT".
func pgProgram(client string, command ...string) func(*testing.T, pgTarget, func(string, error)) {
	return func(t *testing.T, to pgTarget, report func(string, error)) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		args := append(command[1:len(command):len(command)], client, to.host, to.port, to.database, to.ca)
		cmd := exec.CommandContext(ctx, command[0], args...)
		cmd.Env = append(os.Environ(), "PGPASSWORD=", "TZ=America/New_York") // results in UTC must not depend on the machine
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			outcome, rest, _ := strings.Cut(lines.Text(), " ")
			check, text, _ := strings.Cut(rest, " ")
			switch outcome {
			case "ok":
				report(check, nil)
			case "failed":
				report(check, errors.New(strings.ReplaceAll(text, `\n`, "\n")))
			}
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// pgFunctions runs the checks by Go functions.
func pgFunctions(
	checks map[string]func(t *testing.T, to pgTarget) error,
) func(*testing.T, pgTarget, func(string, error)) {
	return func(t *testing.T, to pgTarget, report func(string, error)) {
		for _, name := range pgChecks {
			if check := checks[name]; check != nil {
				report(name, check(t, to))
			}
		}
	}
}

// runPG tests each client of a table with the server.
func runPG(t *testing.T, p *pgServer, table []pgClient) {
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var (
				mu       sync.Mutex
				outcomes = map[string]error{}
			)
			c.run(t, p.database(&c), func(check string, err error) {
				mu.Lock()
				defer mu.Unlock()
				outcomes[check] = err
			})
			for _, check := range pgChecks {
				err, done := outcomes[check]
				switch without := slices.Contains(c.without, check); {
				case without && done:
					t.Errorf("%s: was executed, although the table lists it in without", check)
				case !without && !done:
					t.Errorf("%s: was not executed", check)
				case err != nil:
					t.Errorf("%s: %v", check, err)
				}
			}
		})
	}
}

// TestPostgres runs clients of PostgreSQL that browse, query and fill one server. A client that is not available is
// skipped.
func TestPostgres(t *testing.T) {
	p := startPG(t, pgGoClients, pgPythonClients, pgNodeClients, pgJavaClients, pgShellClients, pgODBCClients,
		pgDebian())
	t.Run("clients", func(t *testing.T) {
		runPG(t, p, pgGoClients)
		t.Run("debian", func(t *testing.T) {
			t.Parallel()
			runDebianPG(t, p)
		})
		for name, group := range map[string]struct {
			need    func(*testing.T)
			clients []pgClient
		}{
			"python": {needPGPython, pgPythonClients}, "node": {needPGNode, pgNodeClients},
			"java": {needPGJava, pgJavaClients}, "shell": {needPSQL, pgShellClients}, "odbc": {needISQL, pgODBCClients},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				group.need(t)
				runPG(t, p, group.clients)
			})
		}
	})
}

func python3(client string) pgClient {
	return pgClient{name: client, run: pgProgram(client, filepath.Join("postgres", "python", "venv", "bin", "python"),
		filepath.Join("postgres", "python", "check.py"))}
}

// except returns the client without the given checks, which it cannot run.
func (c pgClient) except(checks ...string) pgClient {
	c.without = checks
	return c
}

// allBut returns the checks that are not listed.
func allBut(checks ...string) []string {
	return slices.DeleteFunc(slices.Clone(pgChecks), func(c string) bool { return slices.Contains(checks, c) })
}

var pgPythonClients = []pgClient{
	python3("psycopg2"),
	python3("psycopg3"),
	python3("psycopg3-binary"),
	python3("asyncpg"),
	python3("sqlalchemy-psycopg2").except(pgCancel, pgCopy),
	python3("sqlalchemy-psycopg3").except(pgCancel, pgCopy),
	python3("sqlalchemy-pg8000").except(pgCancel, pgCopy),
	python3("pyodbc").except(pgCopy),
	python3("pyodbc-fetch").except(pgCopy), // psqlODBC declares a cursor for each query
}

func nodeClient(name string) pgClient {
	return pgClient{name: name, run: pgProgram(name, "node", filepath.Join("postgres", "node", "check.mjs"))}
}

var pgNodeClients = []pgClient{
	nodeClient("node-postgres"),
	nodeClient("postgres-js"),
	nodeClient("typeorm").except(pgTLS, pgCancel, pgCopy),
	nodeClient("sequelize").except(pgTLS, pgFetch, pgCancel, pgCopy),
	nodeClient("drizzle").except(pgTLS, pgSchema, pgFetch, pgCancel, pgCopy),
	nodeClient("kysely").except(pgTLS, pgTypes, pgCancel, pgCopy),
	nodeClient("prisma").except(pgTLS, pgSchema, pgFetch, pgCancel, pgCopy),
}

func javaClient(name string) pgClient {
	return pgClient{name: name, run: pgProgram(name, "java", "@"+filepath.Join("postgres", "java", "target", "arguments"),
		"Check")}
}

var pgJavaClients = []pgClient{javaClient("pgjdbc"), javaClient("pgjdbc-simple")}

var pgPython, pgNode, pgJava installed

func needPGNode(t *testing.T) {
	t.Helper()
	// Prisma does not need its schema engine, a program that it would download, to generate the client.
	pgNode.need(t, filepath.Join("postgres", "node"), "cmp -s package-lock.json node_modules/.lock || "+
		"{ npm ci --no-audit --no-fund --ignore-scripts --prefer-offline && PRISMA_SCHEMA_ENGINE_BINARY=/bin/true "+
		"npx prisma generate --schema schema.prisma && cp package-lock.json node_modules/.lock; }")
}

func needPGJava(t *testing.T) {
	t.Helper()
	pgJava.need(t, filepath.Join("postgres", "java"),
		"mvn -q -B dependency:build-classpath -Dmdep.outputFile=target/classpath",
		`mkdir -p target/classes && javac -encoding UTF-8 -nowarn -d target/classes -cp "$(cat target/classpath)" `+
			"src/main/java/*.java",
		`printf -- '-Dfile.encoding=UTF-8 -cp "%s:%s"' "$PWD/target/classes" "$(cat target/classpath)" > target/arguments`)
}

func needPGPython(t *testing.T) {
	t.Helper()
	pgPython.need(t, filepath.Join("postgres", "python"), "test -x venv/bin/python || python3 -m venv venv",
		"venv/bin/pip install -q --disable-pip-version-check -r requirements.txt")
}
