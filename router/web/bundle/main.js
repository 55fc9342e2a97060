import"./chunk-JEHXOMAJ.js";
