import"./chunk-MEW2E5I2.js";
