import"./chunk-U75N57RG.js";
