import"./chunk-JJIR7VZQ.js";
