import"./chunk-SDK2F7YX.js";
