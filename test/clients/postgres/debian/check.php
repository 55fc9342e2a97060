<?php
// Carries out the checks of PDO and of Doctrine's DBAL: check.php CLIENT HOST PORT DATABASE AUTHORITY. A line is printed for
// each check: "ok CHECK", or "failed CHECK TEXT".
[, $client, $host, $port, $database, $authority] = $argv;
const PASSWORD = "pass wörd's";
const TEXT = "Ünïcode ☃ 🎉 'single' \"double\" back\\slash %s \$1 ; -- \t\nnext";

function open(string $password = PASSWORD, string $options = 'sslmode=disable'): PDO
{
    global $client, $host, $port, $database;
    return new PDO("pgsql:host=$host;port=$port;dbname=$database;$options", $database, $password, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_NUM,
        PDO::ATTR_EMULATE_PREPARES => $client === 'php-pdo-emulated',
    ]);
}

function same(mixed $got, mixed $want, string $what): void
{
    if ($got !== $want) {
        throw new Exception("$what: " . var_export($got, true) . ', want ' . var_export($want, true));
    }
}

function rows(PDO $c, string $sql, array $values = []): array
{
    $s = $c->prepare($sql);
    $s->execute($values);
    return $s->fetchAll();
}

function fails(PDO $c, string $sql, string $state): void
{
    try {
        $c->query($sql);
    } catch (PDOException $e) {
        same((string) $e->getCode(), $state, $sql);
        return;
    }
    throw new Exception("$sql succeeded");
}

$c = open();
$checks = [
    'connect' => function () use ($c, $database) {
        same(rows($c, 'SELECT current_database(), current_user'), [[$database, $database]], 'the session');
        try {
            open('wrong');
        } catch (PDOException) {
            return;
        }
        throw new Exception('a wrong password is accepted');
    },
    'tls' => fn () => same(rows(open(PASSWORD, "sslmode=verify-full;sslrootcert=$authority"), 'SELECT 42'), [[42]], 'the answer'),
    'schema' => function () use ($c, $host, $port, $database) {
        $s = $c->query('SELECT ts, id, b, t FROM types');
        $got = [];
        for ($i = 0; $i < 4; $i++) {
            $m = $s->getColumnMeta($i);
            $got[] = [$m['name'], $m['native_type'], $m['table']];
        }
        same($got, [['ts', 'timestamptz', 'types'], ['id', 'int4', 'types'], ['b', 'bool', 'types'], ['t', 'text', 'types']], 'columns');
        if (!@include_once 'Doctrine/DBAL/autoload.php') {
            return;
        }
        $m = Doctrine\DBAL\DriverManager::getConnection(['driver' => 'pdo_pgsql', 'host' => $host, 'port' => $port,
            'user' => $database, 'password' => PASSWORD, 'dbname' => $database, 'sslmode' => 'disable'])->createSchemaManager();
        same(array_values(array_filter($m->listTableNames(), fn ($n) => !str_contains($n, '.'))), ['merged', 'types'], 'tables');
        same(array_keys($m->listTableColumns('merged')), ['ts', 'host', 'took'], 'columns of merged');
        same($m->introspectTable('merged')->getPrimaryKey()->getColumns(), ['ts', 'host'], 'the key');
        same($m->listTableForeignKeys('merged'), [], 'foreign keys');
    },
    'parameters' => function () use ($c) {
        for ($i = 0; $i < 3; $i++) {
            same(rows($c, 'SELECT ?::int8, ?::float8, ?::text, ?::timestamptz, ?::numeric(20, 5), ?::text IS NULL',
                [PHP_INT_MAX, 1.5, TEXT, '2026-01-05 10:00:00.123456Z', '123456789012345.67891', null]),
                [[PHP_INT_MAX, '1.5', TEXT, '2026-01-05 10:00:00.123456+00', '123456789012345.67891', true]], 'parameters');
        }
        $s = $c->prepare('SELECT n FROM public.many WHERE n >= :from ORDER BY n LIMIT :most');
        $s->bindValue('from', 5, PDO::PARAM_INT);
        $s->bindValue('most', 2, PDO::PARAM_INT);
        $s->execute();
        same($s->fetchAll(), [[5], [6]], 'rows');
    },
    'types' => function () use ($c) {
        $s = $c->prepare('INSERT INTO types (ts, id, us, i8, i64, f64, b, t, bin, j) VALUES (:ts, :id, :us, :i8, :i64, :f64, :b, :t, :bin, :j)');
        $values = ['ts' => '2026-01-05 10:00:00.123456Z', 'id' => 1, 'us' => '1600-02-29 00:00:00.001Z', 'i8' => -128,
            'i64' => PHP_INT_MIN, 'f64' => 'Infinity', 't' => TEXT, 'j' => '{"a":[1,null]}'];
        foreach ($values as $name => $value) {
            $s->bindValue($name, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
        }
        $s->bindValue('b', false, PDO::PARAM_BOOL);
        $blob = fopen('php://memory', 'w+');
        fwrite($blob, "\x00\xff'\\\n");
        rewind($blob);
        $s->bindValue('bin', $blob, PDO::PARAM_LOB);
        $s->execute();
        same($s->rowCount(), 1, 'the number of rows');
        $c->prepare('INSERT INTO types (ts, id, t, bin) VALUES (?, ?, ?, ?)')->execute(['2026-01-05 10:00:01Z', 2, null, null]);
        $row = rows($c, 'SELECT ts, us, i8, i64, f64, b, t, j, bin FROM types WHERE i64 = ?', [PHP_INT_MIN])[0];
        $row[8] = stream_get_contents($row[8]);
        same($row, ['2026-01-05 10:00:00.123456+00', '1600-02-29 00:00:00.001+00', -128, PHP_INT_MIN, 'Infinity', false, TEXT,
            '{"a":[1,null]}', "\x00\xff'\\\n"], 'the row');
        same(rows($c, 'SELECT id, t, bin, j FROM types WHERE us IS NULL'), [[2, null, null, null]], 'nulls');
    },
    'fetch' => function () use ($c) {
        $c->beginTransaction();
        $c->exec('DECLARE walk CURSOR FOR SELECT n, t FROM public.many ORDER BY n');
        $n = 0;
        while ($some = rows($c, 'FETCH 30000 FROM walk')) {
            foreach ($some as $row) {
                same($row, [$n, "row $n"], 'a row');
                $n++;
            }
        }
        $c->commit();
        same($n, 100000, 'the number of rows');
    },
    'errors' => function () use ($c) {
        fails($c, 'SELECT missing FROM types', '42703');
        fails($c, 'SELECT id FROM missing', '42P01');
        fails($c, 'SELEC 1', '42601');
        fails($c, "UPDATE types SET id = 1", '0A000');
        $c->beginTransaction();
        fails($c, 'SELECT missing FROM types', '42703');
        fails($c, 'SELECT 1', '25P02');
        $c->rollBack();
        same(rows($c, 'SELECT 1'), [[1]], 'the answer afterwards');
    },
    'copy' => function () use ($c) {
        $c->pgsqlCopyFromArray('merged', ["2026-01-05 10:00:00Z\ta\\tb\t\\N\n", "2026-01-05 10:00:01Z\t\\N\t2.5\n"], "\t", '\\\\N', 'ts, host, took');
        same($c->pgsqlCopyToArray('merged', "\t", '\\\\N', 'host, took'), ["a\\tb\t\\N\n", "\\N\t2.5\n"], 'the rows');
    },
];
foreach ($checks as $name => $check) {
    try {
        $check();
        echo "ok $name\n";
    } catch (Throwable $e) {
        echo "failed $name ", str_replace("\n", '\n', (string) $e), "\n";
    }
}
