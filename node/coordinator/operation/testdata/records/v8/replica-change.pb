replica-change :node-aBnode-dPZpromote`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°º
addnode-b,node-cº
dropnode-aº
was1