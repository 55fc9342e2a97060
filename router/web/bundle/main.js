import"./chunk-IKNLBCR3.js";
