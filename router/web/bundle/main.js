import"./chunk-XFGZ6IPM.js";
