import"./chunk-7BDA5UTA.js";
