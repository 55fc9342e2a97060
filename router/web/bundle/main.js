import"./chunk-OYUOI726.js";
