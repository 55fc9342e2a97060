package clients

import (
	"context"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// installed installs the packages that the clients of a language need, into a folder that git ignores.
type installed struct {
	once sync.Once
	why  string // why they are not available
}

var node, python, golang, rust, java, otelcolBuild, telegrafBuild installed

// need runs the commands in a folder, once. It skips the test if they fail because a program or the network is missing.
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

// needJava compiles the program, and writes a file with java's arguments for its class path.
func needJava(t *testing.T) {
	t.Helper()
	java.need(t, "java", "mvn -q -B dependency:build-classpath -Dmdep.outputFile=target/classpath",
		`mkdir -p target/classes && javac -nowarn -d target/classes -cp "$(cat target/classpath)" src/main/java/*.java`,
		`printf -- '-cp "%s:%s"' "$PWD/target/classes" "$(cat target/classpath)" > target/arguments`)
}

// needCollector builds the OpenTelemetry Collector with a few components.
func needCollector(t *testing.T) {
	t.Helper()
	otelcolBuild.need(t, "collector", "go build -trimpath -ldflags '-s -w' -o otelcol .")
}

// needTelegraf builds Telegraf with a few plugins.
func needTelegraf(t *testing.T) {
	t.Helper()
	telegrafBuild.need(t, "telegraf", "go build -trimpath -ldflags '-s -w' -o telegraf -tags "+
		"custom,inputs.tail,outputs.loki,outputs.elasticsearch,parsers.value github.com/influxdata/telegraf/cmd/telegraf")
}
