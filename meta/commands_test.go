package meta

import (
	"testing"

	"cordwood/proto/metapb"
)

// TestCommands checks that every kind of command has a rule.
func TestCommands(t *testing.T) {
	kinds := (&metapb.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("op").Fields()
	for i := range kinds.Len() {
		if name := string(kinds.Get(i).Name()); commandRules[name].apply == nil {
			t.Errorf("command %s has no rule", name)
		}
	}
	if kinds.Len() != len(commandRules) {
		t.Errorf("%d rules, %d kinds of commands", len(commandRules), kinds.Len())
	}
	if err := prepare(&metapb.Command{}); err == nil {
		t.Error("a command of no kind is taken")
	}
}
