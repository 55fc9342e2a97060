import"./chunk-BJJFDVMV.js";
