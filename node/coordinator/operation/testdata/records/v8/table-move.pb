
table-move(MJPZcopy`jwaits for a replicap€€@x€€€€€€€¨±ãŸçËˆ€ä¿öŸçË˜	¢ann°º
copiers1=node-a,3=node-bº
copies2º

copy12º

epoch7º
name
public.appº

old1,3º
rowstrueº
sealed1º	
told4º
whynode node-a is lost