import"./chunk-AZM577GD.js";
