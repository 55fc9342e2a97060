import"./chunk-VWIH3LYQ.js";
