import"./chunk-B7ND7GUL.js";
