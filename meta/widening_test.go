package meta

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestMessageColumnWaits checks that the option message_column gets into the log only after all
// programs know it, and never with a write.
func TestMessageColumnWaits(t *testing.T) {
	option := map[string]string{"message_column": "note"}
	set := &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
		Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: option}},
	}}}
	create := &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{
		Table: &schemapb.Table{Options: option},
	}}}
	for name, cmd := range map[string]*metapb.Command{"altered": set, "created": create} {
		if err := checkNewOptions(cmd, metapb.ProtocolSaved-1); errs.CodeOf(err) != errs.Unsupported ||
			!strings.Contains(err.Error(), "message_column=note needs protocol version 10") {
			t.Errorf("%s before: %v", name, err)
		}
		if err := checkNewOptions(cmd, metapb.ProtocolSaved); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := prepareEnsureSchema(&metapb.EnsureSchema{Tables: []*metapb.TableDemand{
		{Database: "public", Name: "t", Options: map[string]string{"message_column": "note"}},
	}})
	if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "not with a write") {
		t.Errorf("by a write: %v", err)
	}
}

// TestLokiLabelsWait checks the same for the option loki_labels.
func TestLokiLabelsWait(t *testing.T) {
	option := map[string]string{"loki_labels": "host,path"}
	set := &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
		Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: option}},
	}}}
	if err := checkNewOptions(set, metapb.ProtocolLokiLabels-1); errs.CodeOf(err) != errs.Unsupported ||
		!strings.Contains(err.Error(), "loki_labels=host,path needs protocol version 12") {
		t.Errorf("before: %v", err)
	}
	if err := checkNewOptions(set, metapb.ProtocolLokiLabels); err != nil {
		t.Error(err)
	}
	err := prepareEnsureSchema(&metapb.EnsureSchema{Tables: []*metapb.TableDemand{
		{Database: "public", Name: "t", Options: option},
	}})
	if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "loki_labels is set by a statement") {
		t.Errorf("by a write: %v", err)
	}
}

// TestWideningWaits checks that nothing unknown to older programs gets into the log before the
// cluster's version has it.
func TestWideningWaits(t *testing.T) {
	column := func() *schemapb.Column {
		return &schemapb.Column{Name: "n", Type: schemapb.Type_TYPE_INT64, WithinDouble: true}
	}
	option := map[string]string{"on_type_conflict": "aside"}
	alter := func(a *metapb.AlterTable) *metapb.Command {
		return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: a}}
	}
	ensure := func(d *metapb.TableDemand) *metapb.Command {
		return &metapb.Command{
			Op: &metapb.Command_EnsureSchema{EnsureSchema: &metapb.EnsureSchema{Tables: []*metapb.TableDemand{d}}},
		}
	}
	create := func(t *schemapb.Table) *metapb.Command {
		return &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{Table: t}}}
	}
	for name, cmd := range map[string]*metapb.Command{
		"a rename": alter(&metapb.AlterTable{Change: &metapb.AlterTable_RenameColumn{RenameColumn: &metapb.RenameColumn{}}}),
		"a type":   alter(&metapb.AlterTable{Change: &metapb.AlterTable_ModifyColumn{ModifyColumn: &metapb.ModifyColumn{}}}),
		"an index": alter(&metapb.AlterTable{Change: &metapb.AlterTable_ModifyIndex{ModifyIndex: &metapb.ModifyIndex{}}}),
		"the option, altered": alter(&metapb.AlterTable{
			Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: option}},
		}),
		"the option, by a write": ensure(&metapb.TableDemand{Options: option}),
		"the option, created":    create(&schemapb.Table{Options: option}),
	} {
		for version, refused := range map[uint32]bool{metapb.ProtocolWidening - 1: true, metapb.ProtocolWidening: false} {
			err := checkGate(cmd, version)
			if err == nil {
				err = checkWidening(cmd, version)
			}
			if (err != nil) != refused || refused && (errs.CodeOf(err) != errs.Unsupported ||
				!strings.Contains(err.Error(), "needs protocol version 9")) {
				t.Errorf("%s at version %d: %v", name, version, err)
			}
		}
	}
	for version, kept := range map[uint32]bool{metapb.ProtocolWidening - 1: false, metapb.ProtocolWidening: true} {
		written, created, added := column(), column(), column()
		for _, cmd := range []*metapb.Command{
			ensure(&metapb.TableDemand{Columns: []*schemapb.Column{written}}),
			create(&schemapb.Table{Columns: []*schemapb.Column{created}}),
			alter(&metapb.AlterTable{Change: &metapb.AlterTable_AddColumn{AddColumn: added}}),
		} {
			if err := checkWidening(cmd, version); err != nil {
				t.Error(err)
			}
		}
		if written.WithinDouble != kept || created.WithinDouble != kept || added.WithinDouble != kept {
			t.Errorf("at version %d the marks are %v, %v and %v", version, written.WithinDouble, created.WithinDouble,
				added.WithinDouble)
		}
	}
}
