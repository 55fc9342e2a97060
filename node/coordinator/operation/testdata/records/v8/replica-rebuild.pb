replica-rebuild :node-aBnode-dPZremove`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°º
leavingtrueº
lefttrue