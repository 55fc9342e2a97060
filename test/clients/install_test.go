package clients

import (
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// installed installs what a language needs to run its clients, in a folder that git ignores.
type installed struct {
	once sync.Once
	why  string // it cannot be had
}

var node, python, golang, java, otelcolBuild, telegrafBuild installed

// need skips the test if the commands, one after another in a folder, fail: there is no program of that name, or no
// network. They are run once.
func (i *installed) need(t *testing.T, dir string, commands ...string) {
	t.Helper()
	i.once.Do(func() {
		for _, c := range commands {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			cmd := exec.CommandContext(ctx, "sh", "-c", c)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil {
				i.why = c + ": " + err.Error() + "\n" + string(out)
				return
			}
		}
	})
	if i.why != "" {
		t.Skip("the clients cannot be installed: " + i.why)
	}
}

func needNode(t *testing.T) {
	t.Helper()
	node.need(t, "node", "cmp -s package-lock.json node_modules/.lock || "+
		"{ npm ci --no-audit --no-fund --ignore-scripts --prefer-offline && cp package-lock.json node_modules/.lock; }")
}

func needPython(t *testing.T) {
	t.Helper()
	const pip = "venv/bin/pip install -q --disable-pip-version-check"
	python.need(t, "python", "test -x venv/bin/python || python3 -m venv venv", pip+" -r requirements.txt",
		"test -d elasticsearch8 || "+pip+" --target elasticsearch8 -r requirements-elasticsearch8.txt")
}

// needJava compiles the program, and writes the arguments with which java finds it and what it needs.
func needJava(t *testing.T) {
	t.Helper()
	java.need(t, "java", "mvn -q -B dependency:build-classpath -Dmdep.outputFile=target/classpath",
		`mkdir -p target/classes && javac -nowarn -d target/classes -cp "$(cat target/classpath)" src/main/java/Send.java`,
		`printf -- '-cp "%s:%s"' "$PWD/target/classes" "$(cat target/classpath)" > target/arguments`)
}

// needCollector builds the OpenTelemetry Collector of a few parts.
func needCollector(t *testing.T) {
	t.Helper()
	otelcolBuild.need(t, "collector", "go build -trimpath -ldflags '-s -w' -o otelcol .")
}

// needTelegraf builds Telegraf of a few parts.
func needTelegraf(t *testing.T) {
	t.Helper()
	telegrafBuild.need(t, "telegraf", "go build -trimpath -ldflags '-s -w' -o telegraf -tags "+
		"custom,inputs.tail,outputs.loki,outputs.elasticsearch,parsers.value github.com/influxdata/telegraf/cmd/telegraf")
}
