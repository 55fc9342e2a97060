import"./chunk-BMQDIJ6X.js";
