import"./chunk-AWM5S76R.js";
