import"./chunk-7ZD4YL2Y.js";
