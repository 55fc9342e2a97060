import"./chunk-3R2A4IMW.js";
