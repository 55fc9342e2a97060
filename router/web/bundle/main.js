import"./chunk-EMUVXCV7.js";
