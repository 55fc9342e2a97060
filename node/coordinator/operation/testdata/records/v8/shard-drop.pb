
shard-dropPZcreate`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°º
lossall rows of shard 2º

shard2º
was1001