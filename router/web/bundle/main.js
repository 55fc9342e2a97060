import"./chunk-SXVW7VML.js";
