
	shard-addPZcreate`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°º	
base2º

count4º
initialtrue