import"./chunk-NWORFQYE.js";
