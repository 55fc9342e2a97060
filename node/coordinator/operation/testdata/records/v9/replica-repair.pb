replica-repair :node-aBnode-dPZcopy`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°Ê
€¨±ãŸçË