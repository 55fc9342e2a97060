import"./chunk-KV7J3PGV.js";
