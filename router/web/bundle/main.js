import"./chunk-34DIAQP4.js";
