import"./chunk-ACLV4KID.js";
