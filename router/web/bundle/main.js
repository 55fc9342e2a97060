import"./chunk-23VMVYBR.js";
