import"./chunk-QHAANIUV.js";
