table-partition(NJPZplace`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°º

count2º

epoch0º
name
public.webº
old1