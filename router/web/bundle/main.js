import"./chunk-67RQXNT7.js";
