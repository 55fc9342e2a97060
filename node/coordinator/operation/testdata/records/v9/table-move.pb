
table-move(MJPZcopy`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°ÚM

public.app (2:@HR
node-aR
node-bZnode node-a is lostb