
shard-dropPZcreate`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°Òéall rows of shard 2