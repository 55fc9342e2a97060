package errs

// Explanation describes a code for clients, in the OpenAPI description and in
// docs/errors.md.
type Explanation struct {
	Code Code
	// Meaning describes what happened, as a part of a table row.
	Meaning string
	// Advice is what to do about it.
	Advice string
	// Retry reports whether the same request may succeed later.
	Retry Retry
}

// Retry is whether a client should send a failed request again.
type Retry string

const (
	// RetryNever means that the same request fails again.
	RetryNever Retry = "no"
	// RetryLater means that the cause is temporary. Retry-After is when to try again.
	RetryLater Retry = "yes"
	// RetryKeyed means that part of the request may have been carried out, so a repeated write needs the same
	// Idempotency-Key.
	RetryKeyed Retry = "yes, writes with the same `Idempotency-Key`"
)

// Texts that several codes share.
const (
	bug      = "a fault of the server, or damaged data"
	readLog  = "Read the server's log at the time of the request. Report it as a bug unless the log reports a damaged file"
	unused   = "not used at present"
	noAdvice = "–"
)

// Explanations lists every code but Success, by number.
func Explanations() []Explanation {
	return []Explanation{
		{Unknown, bug, readLog, RetryKeyed},
		{
			Unsupported, "cordwood does not do this: a statement, a type, a compression, an authentication scheme",
			"Read the message; it may contain an alternative", RetryNever,
		},
		{Unexpected, bug, readLog, RetryKeyed},
		{Internal, bug, readLog, RetryKeyed},
		{
			InvalidArguments, "the request is wrong: a parameter, a header, the body, a record, an option, a value",
			"Correct the fault that the message describes. For records see [my batch is " +
				"refused](troubleshooting.md#my-batch-is-refused)", RetryNever,
		},
		{
			Cancelled, "the request was cancelled, usually because the client closed the connection; with status 400, a user " +
				"ended the query with `KILL`",
			"Give the client a longer time limit", RetryKeyed,
		},
		{
			IllegalState, "the request is not possible in the present state, for example because an operation " +
				"has already ended",
			"Read the message; look at `cordwood cluster status`", RetryNever,
		},
		{
			External, "something that the server needs failed, for example the process that runs queries ended",
			"Send the request again", RetryLater,
		},
		{
			DeadlineExceeded,
			"the time limit of the request (`x-svc-timeout`) was reached, usually while waiting for another node",
			"Send it again; if the error persists, look at `cordwood cluster status`", RetryKeyed,
		},
		{Suspended, unused, noAdvice, RetryLater},
		{
			InvalidSyntax, "the text is not valid SQL, or names a column type that does not exist",
			"Correct the statement at the line and column in the message", RetryNever,
		},
		{
			PlanQuery, "the statement cannot be planned: types do not fit, a function does not exist or is not allowed",
			"Correct the statement; [what is refused](sql.md#what-is-refused)", RetryNever,
		},
		{EngineExecuteQuery, "the statement failed while it ran", "Read the message; simplify the statement", RetryNever},
		{
			QueryTimeout, "the statement reached its time limit",
			"Narrow the time range, or ask for more time with `x-svc-timeout` (up to `--query-max-timeout`)", RetryNever,
		},
		{TableAlreadyExists, "a table of this name exists", "Use `CREATE TABLE IF NOT EXISTS`, or another name", RetryNever},
		{
			TableNotFound, "the table does not exist in this database",
			"Check the name (names are case-sensitive) and the database (`db`, `x-svc-db-name`): `SHOW TABLES FROM db`",
			RetryNever,
		},
		{ColumnNotFound, "the table has no such column", "Look at the columns with `DESCRIBE table`. A column " +
			"exists when a record with it has been stored. Quote names with dots or capitals: `\"http.port\"`", RetryNever},
		{ColumnExists, "the table has a column of this name", "Use `ADD COLUMN IF NOT EXISTS`, or another name", RetryNever},
		{
			DatabaseNotFound, "the database does not exist",
			"Run `CREATE DATABASE name`, because ingestion creates tables, but not databases", RetryNever,
		},
		{ShardNotFound, "the shard does not exist", "Run `cordwood shard list` to see the shards", RetryNever},
		{ShardAlreadyExists, unused, noAdvice, RetryNever},
		{ShardReadonly, unused, noAdvice, RetryLater},
		{
			ShardNotReady,
			"a shard, or the metadata group, has no leader at the moment, or the node is starting or stopping",
			"Wait; an election takes about three seconds. If the error persists, `cordwood cluster status` " +
				"lists the nodes to start. A query with `consistency=any` reads a replica without a leader", RetryLater,
		},
		{
			ShardBusy, "the shard takes rows as fast as it can",
			"Wait for `Retry-After`. If the error persists, send fewer requests at the same time, set " +
				"`partitions` of the table, or add nodes", RetryLater,
		},
		{
			TableUnavailable, "the table is moving to another shard, is being restored, or a file of it is damaged",
			"Wait until the move or the restore is complete. If the message reports a [damaged " +
				"file](recovery.md#a-damaged-segment), a cluster with replicas repairs it; on a single server " +
				"the status is 500, and you have to restore the file", RetryLater,
		},
		{
			DatabaseAlreadyExists, "a database of this name exists",
			"Use `CREATE DATABASE IF NOT EXISTS`, or another name", RetryNever,
		},
		{
			ObjectStorageUnavailable, "the query needs rows that are only in object storage, which does not answer or " +
				"refuses, or the cache on the node has no room for them",
			"The message has the reason, and the days of the rows. Narrow the time range to newer rows, or try again. With " +
				"status 500, an operator first has to do what the message says; with 400, the query needs more than the cache has",
			RetryLater,
		},
		{
			StorageUnavailable, "the free disk space is below `--disk-reserve`, the disk fails, or a file is " +
				"damaged",
			"See [a full disk](recovery.md#a-full-disk) and [a damaged segment](recovery.md#a-damaged-segment)", RetryLater,
		},
		{
			RequestOutdated, "the request refers to an earlier state, because a table or an operation was " +
				"changed in the meantime",
			"Look at the present state and send the request again", RetryNever,
		},
		{
			ShardUnreachable, "the node that has the shard does not answer",
			"Wait; if the error persists, `cordwood cluster status` shows the node. A query with `consistency=any` reads any " +
				"replica that answers", RetryLater,
		},
		{
			RuntimeResourcesExhausted, "the query needs more memory than is allowed or free",
			"Narrow the time range, group by fewer values, or raise `--query-memory`. With status 400, the query would fetch " +
				"more from object storage than `--query-max-cold-bytes`", RetryLater,
		},
		{RateLimited, "too many requests, queries, tails, new tables or sign-ins at the same time, a body " +
			"that arrives too slowly, or a quota of the database is used up", "Wait for `Retry-After`, and send fewer or " +
			"smaller requests. For a quota, drop tables or ask an operator for a higher one", RetryLater},
		{
			UserNotFound, "the user does not exist",
			"Check the name (`SHOW USERS`); the server reads its user file again on SIGHUP", RetryNever,
		},
		{UnsupportedPasswordType, unused, noAdvice, RetryNever},
		{
			UserPasswordMismatch, "the password or token is wrong, has expired or was revoked, or the user was disabled",
			"Check it; an administrator sees users and tokens with `SHOW USERS` and `SHOW TOKENS`", RetryNever,
		},
		{
			AuthHeaderNotFound, "the server has users, but the request has no user",
			"Send HTTP Basic authentication (`curl -u name:password`, `--user`, `CORDWOOD_USER`) or a token (`--token`, " +
				"`CORDWOOD_TOKEN`)", RetryNever,
		},
		{
			InvalidAuthHeader, "the header `Authorization` cannot be read", "Send HTTP Basic authentication or a token",
			RetryNever,
		},
		{
			AccessDenied, "the user may not do this",
			"Use a user with the right, or grant it (`GRANT`) or change it in the user file", RetryNever,
		},
		{
			PermissionDenied, "the user may not do this, or a web page of another site sent the request",
			"Grant the privilege that the error names, or use another user or token; for web pages, " +
				"`--http-cors-allowed-origins`", RetryNever,
		},
	}
}
