// No Go is in this folder: the file keeps the commands of the module above out of node_modules, some packages of which
// have Go files.
module cordwood/deploy/tools/web

go 1.26
