import"./chunk-RBVROFZW.js";
