import"./chunk-DFJVNM5G.js";
