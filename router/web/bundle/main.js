import"./chunk-Q3QAFHCW.js";
