# Carries out the checks of DBD::Pg: check.pl CLIENT HOST PORT DATABASE AUTHORITY. A line is printed for each check: "ok
# CHECK", or "failed CHECK TEXT".
use strict;
use warnings;
use utf8;
use DBI;
use DBD::Pg qw(:pg_types :async);

my (undef, $host, $port, $database, $authority) = @ARGV;
my $slow = 'SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) WHERE x % 7 = y % 13';
my $text = "\x{dc}n\x{ef}code \x{2603} 'single' \"double\" back\\slash %s \$1 ? ; -- \t\nnext";

sub connected {
  my ($password, $options) = @_;
  return DBI->connect("dbi:Pg:host=$host;port=$port;dbname=$database;$options", $database, $password,
    {RaiseError => 1, PrintError => 0, PrintWarn => 0, pg_enable_utf8 => 1});
}

my $c = connected("pass w\xc3\xb6rd's", 'sslmode=disable');

sub same {
  my ($got, $want, $what) = @_;
  my $flat = sub { join '|', map { ref $_ ? '[' . join(',', map { $_ // 'undef' } @$_) . ']' : $_ // 'undef' } @{$_[0]} };
  my ($g, $w) = ($flat->($got), $flat->($want));
  die "$what is $g, want $w\n" if $g ne $w;
}

sub fails {
  my ($h, $sql, $state) = @_;
  eval { $h->selectall_arrayref($sql); 1 } and die "$sql succeeded\n";
  same([$h->state], [$state], $sql);
}

my %checks = (
  connect => sub {
    same($c->selectrow_arrayref('SELECT current_database(), current_user'), [$database, $database], 'the session');
    eval { connected('wrong', 'sslmode=disable'); 1 } and die "a wrong password is accepted\n";
  },
  tls => sub {
    my $t = connected("pass w\xc3\xb6rd's", "sslmode=verify-full;sslrootcert=$authority");
    same($t->selectrow_arrayref('SELECT 42'), [42], 'the answer');
  },
  schema => sub {
    my @names = map { $_->[2] } @{$c->table_info(undef, $database, '%', 'TABLE')->fetchall_arrayref};
    same([sort @names], ['merged', 'types'], 'tables');
    my @columns = map { [@$_[3, 5]] } @{$c->column_info(undef, $database, 'merged', '%')->fetchall_arrayref};
    same(\@columns, [['ts', 'timestamp with time zone'], ['host', 'text'], ['took', 'double precision']], 'columns');
    same([$c->primary_key(undef, $database, 'merged')], ['ts', 'host'], 'the key');
    my @index = grep { ($_->[5] // '') eq 'merged_pkey' } @{$c->statistics_info(undef, $database, 'merged', 0, 0)
      ->fetchall_arrayref};
    same([map { $_->[8] } @index], ['ts', 'host'], 'columns of the index');
  },
  parameters => sub {
    for my $round (1 .. 3) {
      same($c->selectrow_arrayref('SELECT ?::int8, ?::float8, ?::bool, ?::text, ?::timestamptz, ?::numeric(20, 5)', undef,
        '9223372036854775807', 1.5, 't', $text, '2026-01-05 10:00:00.123456Z', '123456789012345.67891'),
        ['9223372036854775807', '1.5', 1, $text, '2026-01-05 10:00:00.123456+00', '123456789012345.67891'], 'parameters');
    }
    same($c->selectcol_arrayref('SELECT n FROM public.many WHERE n = ANY(?) ORDER BY n', undef, [5, 7, -1]), [5, 7], 'rows');
    same($c->selectrow_arrayref('SELECT ?::text IS NULL, ARRAY[1, 2, NULL]', undef, undef), [1, [1, 2, undef]], 'null');
  },
  types => sub {
    my $s = $c->prepare('INSERT INTO types (ts, id, us, i8, i64, f64, b, t, bin, j) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    $s->bind_param(9, undef, {pg_type => PG_BYTEA});
    $s->execute('2026-01-05 10:00:00.123456Z', 1, '1600-02-29 00:00:00.001Z', -128, '-9223372036854775808', 'Infinity', 'f',
      $text, "\x00\xff'\\\n", '{"a": [1, null]}');
    $s->execute('2026-01-05 10:00:01Z', 2, (undef) x 8);
    same($c->selectrow_arrayref('SELECT ts, us, i8, i64, f64, b, t, bin FROM types WHERE i64 = ?', undef,
      '-9223372036854775808'), ['2026-01-05 10:00:00.123456+00', '1600-02-29 00:00:00.001+00', -128,
      '-9223372036854775808', 'Inf', 0, $text, "\x00\xff'\\\n"], 'the row');
    same($c->selectrow_arrayref('SELECT id, t, bin, j FROM types WHERE us IS NULL'), [2, undef, undef, undef], 'nulls');
  },
  fetch => sub {
    $c->begin_work;
    $c->do('DECLARE walk CURSOR FOR SELECT n, t FROM public.many ORDER BY n');
    my $n = 0;
    while (my @rows = @{$c->selectall_arrayref('FETCH 30000 FROM walk')}) {
      for (@rows) {
        same($_, [$n, "row $n"], 'a row');
        $n++;
      }
    }
    $c->commit;
    same([$n], [100000], 'the number of rows');
  },
  cancel => sub {
    $c->do($slow, {pg_async => PG_ASYNC});
    $c->pg_cancel or die "nothing was canceled\n";
    same($c->selectrow_arrayref('SELECT 1'), [1], 'the answer afterwards');
  },
  errors => sub {
    fails($c, 'SELECT missing FROM types', '42703');
    fails($c, 'SELECT id FROM missing', '42P01');
    fails($c, 'SELEC 1', '42601');
    fails($c, 'SELECT t::uuid FROM public.many', '22P02');
    $c->begin_work;
    $c->pg_savepoint('s');
    fails($c, 'SELECT missing FROM types', '42703');
    fails($c, 'SELECT 1', '25P02');
    $c->pg_rollback_to('s');
    same($c->selectrow_arrayref('SELECT 1'), [1], 'the answer afterwards');
    $c->rollback;
  },
  copy => sub {
    $c->do('COPY merged (ts, host, took) FROM STDIN');
    $c->pg_putcopydata("2026-01-05 10:00:00Z\ta\\tb\t\\N\n2026-01-05 10:00:01Z\t\\N\t2.5\n");
    $c->pg_putcopyend;
    $c->do('COPY (SELECT host, took FROM merged ORDER BY ts) TO STDOUT');
    my (@rows, $row);
    push @rows, $row while $c->pg_getcopydata($row) >= 0;
    same(\@rows, ["a\\tb\t\\N\n", "\\N\t2.5\n"], 'the rows');
  },
);

binmode STDOUT, ':utf8';
for my $name (sort keys %checks) {
  if (eval { $checks{$name}->(); 1 }) {
    print "ok $name\n";
  } else {
    my $why = $@;
    $why =~ s/\n/\\n/g;
    print "failed $name $why\n";
  }
}
