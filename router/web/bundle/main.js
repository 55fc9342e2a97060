import"./chunk-5MAO3MQX.js";
