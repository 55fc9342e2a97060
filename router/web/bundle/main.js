import"./chunk-T76BZHZH.js";
