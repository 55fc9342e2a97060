package meta

import (
	"slices"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file determines which version of the cluster a command needs if its kind alone does not
// determine it: a command of an old kind may have new fields that older programs do not know.

// always returns a rule for commands that all need one version.
func always(version uint32) func(*metapb.Command) uint32 {
	return func(*metapb.Command) uint32 { return version }
}

func needsOfAccess(cmd *metapb.Command) uint32 {
	if slices.ContainsFunc(cmd.GetChangeAccess().GetChanges(), setsUserDatabase) {
		return metapb.ProtocolUserDatabase
	}
	if slices.ContainsFunc(cmd.GetChangeAccess().GetChanges(), needsGroups) {
		return metapb.ProtocolGroups
	}
	resets := func(c *metapb.AccessChange) bool { return c.GetResetAdmin() != nil }
	if len(cmd.GetChangeAccess().GetConditions()) > 0 || slices.ContainsFunc(cmd.GetChangeAccess().GetChanges(), resets) {
		return metapb.ProtocolConsequences
	}
	if slices.ContainsFunc(cmd.GetChangeAccess().GetChanges(), isTokenChange) {
		return metapb.ProtocolTokens
	}
	return metapb.ProtocolAccess
}

// setsUserDatabase reports whether a change sets the database of a user for requests that name none.
func setsUserDatabase(c *metapb.AccessChange) bool {
	return c.GetCreate().GetPrincipal().GetDefaultDatabase() != "" ||
		c.GetAlter() != nil && c.GetAlter().DefaultDatabase != nil
}

// needsGroups reports whether a change concerns groups, names in certificates, or people.
func needsGroups(c *metapb.AccessChange) bool {
	p := c.GetCreate().GetPrincipal()
	return c.GetAlterRole() != nil || p.GetCertificate() != "" || len(p.GetGroups()) > 0 || rights.IsPerson(p.GetName()) ||
		c.GetAlter() != nil && c.GetAlter().Certificate != nil
}

func needsOfNode(cmd *metapb.Command) uint32 {
	if r := cmd.GetRegisterNode(); r.GetNode().GetMark() != nil || len(r.GetEarlier()) > 0 || r.GetReadmit() {
		return metapb.ProtocolMarks
	}
	return metapb.MinProtocol
}

func needsOfShard(cmd *metapb.Command) uint32 {
	switch cmd.GetChangeShard().GetChange().(type) {
	case *metapb.ChangeShard_MadeAnew:
		return metapb.ProtocolRecreate
	case *metapb.ChangeShard_Retiring:
		return metapb.ProtocolRetire
	}
	return metapb.ProtocolCluster
}

func needsOfTable(cmd *metapb.Command) uint32 {
	if cmd.GetCreateTable().GetTable().GetRestored().GetReplaces() != "" {
		return metapb.ProtocolReplace
	}
	return metapb.MinProtocol
}

func needsOfAlteration(cmd *metapb.Command) uint32 {
	switch cmd.GetAlterTable().GetChange().(type) {
	case *metapb.AlterTable_RenameColumn, *metapb.AlterTable_ModifyColumn, *metapb.AlterTable_ModifyIndex:
		return metapb.ProtocolWidening
	}
	return metapb.MinProtocol
}

func needsOfPlace(cmd *metapb.Command) uint32 {
	if cmd.GetPlaceTable().GetStep() != metapb.PlaceTable_STEP_UNSPECIFIED {
		return metapb.ProtocolHandoff
	}
	return metapb.ProtocolCluster
}

func needsOfOperation(cmd *metapb.Command) uint32 {
	if cmd.GetPutOperation().GetOperation().GetProgress() != nil {
		return metapb.ProtocolProgress
	}
	return metapb.ProtocolCluster
}

// needsOfPut ignores the author of a version: checkGate removes the author where older members
// would not know the field.
func needsOfPut(cmd *metapb.Command) uint32 {
	if p := cmd.GetPutPipeline(); p.GetNote() != "" || p.BasedOn != nil {
		return metapb.ProtocolSaved
	}
	return metapb.MinProtocol
}

func needsOfRestored(cmd *metapb.Command) uint32 {
	if cmd.GetRestorePipeline().GetPipeline().GetNote() != "" {
		return metapb.ProtocolSaved
	}
	return metapb.MinProtocol
}
