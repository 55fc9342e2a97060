import"./chunk-35TBAV4V.js";
