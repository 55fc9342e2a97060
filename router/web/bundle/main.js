import"./chunk-5OFQM5HJ.js";
