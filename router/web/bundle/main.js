import"./chunk-3IAHF6XG.js";
