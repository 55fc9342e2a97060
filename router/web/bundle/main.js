import"./chunk-7EP2JGN4.js";
