import"./chunk-ZIUNLDUN.js";
