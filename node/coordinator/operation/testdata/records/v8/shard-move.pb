
shard-move :node-aBnode-dPZcopy`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann¨°º
copying1700000000000000001º
promoted1700000000000000002º
undonode node-d is drained