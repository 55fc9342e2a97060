import"./chunk-HJE2WNRK.js";
