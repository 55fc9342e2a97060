import"./chunk-4WDIIZR7.js";
