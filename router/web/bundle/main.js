import"./chunk-LEE4G5GQ.js";
