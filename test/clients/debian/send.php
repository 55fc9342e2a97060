<?php
// Sends records with the marks FIRST to LAST-1 by Monolog: send.php CLIENT FIRST LAST ADDRESS PAUSE. Every tenth record
// is an error.

require '/usr/share/php/Monolog/autoload.php';

use Monolog\Formatter\LineFormatter;
use Monolog\Handler\SyslogUdpHandler;
use Monolog\Logger;

[, $client, $first, $last, $address] = $argv;
[$host, $port] = explode(':', $address);
$rfc = $client === 'php-monolog-3164' ? SyslogUdpHandler::RFC3164 : SyslogUdpHandler::RFC5424;
$handler = new SyslogUdpHandler($host, (int) $port, LOG_USER, Logger::DEBUG, true, 'shop', $rfc);
$handler->setFormatter(new LineFormatter('mark=%context.mark% %message%'));
$logger = new Logger('shop', [$handler]);
for ($mark = (int) $first; $mark < (int) $last; $mark++) {
    $logger->log($mark % 10 ? Logger::INFO : Logger::ERROR, 'a record', ['mark' => $mark]);
    if ($mark % 50 === 0) {
        usleep(1000); // nothing else keeps a sender of datagrams from filling the kernel's buffer
    }
}
