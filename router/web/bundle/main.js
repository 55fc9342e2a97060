import"./chunk-MGR2R5IS.js";
