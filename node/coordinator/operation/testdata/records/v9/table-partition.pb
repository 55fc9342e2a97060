table-partition(NJPZplace`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°Ú

public.web 2