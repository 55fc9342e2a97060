import"./chunk-TG2SFYL7.js";
