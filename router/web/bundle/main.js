import"./chunk-KRQGIKTQ.js";
