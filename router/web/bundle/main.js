import"./chunk-KXFIWZZ5.js";
