package rights

// Need is the privileges that an action needs on an object. Database and Name are names. Name is empty if any table or
// pipeline is enough, and * for all tables of a database; both are * for all tables of all databases.
type Need struct {
	Kind           Kind
	Database, Name string
	Privileges     Set
}

// Allows reports whether the holder has what n needs.
func (x *Index) Allows(n Need) bool {
	var has Set
	switch {
	case n.Kind == Cluster:
		has = x.OnCluster()
	case n.Kind == Pipelines && n.Name == "":
		has = x.OnAnyPipeline()
	case n.Kind == Pipelines:
		has = x.OnPipeline(n.Name)
	case n.Kind != Tables:
		return false
	case n.Name == "":
		has = x.OnAnyTable()
	case n.Name == "*" && n.Database == "*":
		has = x.OnAllTables()
	case n.Name == "*":
		has = x.OnDatabase(n.Database)
	default:
		has = x.OnTable(n.Database, n.Name)
	}
	return n.Privileges != 0 && has&n.Privileges == n.Privileges
}
