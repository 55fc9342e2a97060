import"./chunk-MZCOJ6VS.js";
