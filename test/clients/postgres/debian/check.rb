# Carries out the checks of Ruby's pg, ActiveRecord and Sequel: check.rb CLIENT HOST PORT DATABASE AUTHORITY. A line is
# printed for each check: "ok CHECK", or "failed CHECK TEXT".
require 'pg'
require 'active_record'
require 'sequel'

CLIENT, HOST, PORT, DATABASE, AUTHORITY = ARGV
PASSWORD = "pass wörd's".freeze
TEXT = "Ünïcode ☃ 🎉 'single' \"double\" back\\slash %s $1 ? ; -- \t\nnext".freeze
SLOW = 'SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) WHERE x % 7 = y % 13'.freeze

def open_pg(**options)
  PG.connect(host: HOST, port: PORT, dbname: DATABASE, user: DATABASE, password: PASSWORD, sslmode: 'disable', **options)
end

def same(got, want, what)
  raise "#{what} is #{got.inspect}, want #{want.inspect}" unless got == want
end

def fails(kind, position = nil)
  yield
rescue PG::Error => e
  same([e.class, e.result&.error_field(PG::PG_DIAG_STATEMENT_POSITION)], [kind, position], e.message)
else
  raise "it succeeded, and should fail with #{kind}"
end

ActiveRecord::Base.establish_connection(adapter: 'postgresql', host: HOST, port: PORT, database: DATABASE,
                                        username: DATABASE, password: PASSWORD, sslmode: 'disable')
SEQUEL = Sequel.connect(adapter: 'postgres', host: HOST, port: PORT, database: DATABASE, user: DATABASE,
                        password: PASSWORD, sslmode: 'disable')
C = open_pg

# Entry is a table that ActiveRecord creates.
class Entry < ActiveRecord::Base
  self.table_name = 'entries'
end

CHECKS = {
  'connect' => lambda {
    same(C.exec('SELECT current_database(), current_user').values, [[DATABASE, DATABASE]], 'the session')
    begin
      open_pg(password: 'wrong')
      raise 'a wrong password is accepted'
    rescue PG::ConnectionBad => e
      raise e unless e.message.include?('password authentication failed')
    end
  },
  'tls' => lambda {
    t = open_pg(sslmode: 'verify-full', sslrootcert: AUTHORITY)
    same([t.ssl_in_use?, t.exec('SELECT 42').values], [true, [['42']]], 'the answer')
  },
  'schema' => lambda {
    a = ActiveRecord::Base.connection
    same(a.tables.sort - ['entries'], %w[merged types], 'tables')
    same(a.columns('merged').map { |c| [c.name, c.sql_type, c.null] },
         [['ts', 'timestamp with time zone', false], ['host', 'text', true], ['took', 'double precision', true]], 'columns')
    same(a.primary_keys('merged'), %w[ts host], 'the key')
    same(a.table_comment('merged'), 'rows by host', 'the comment')
    same(SEQUEL.tables.sort - [:entries], %i[merged types], 'tables for Sequel')
    same(SEQUEL.schema(:merged).map { |n, c| [n, c[:primary_key]] }, [[:ts, true], [:host, true], [:took, false]],
         'columns for Sequel')
  },
  'parameters' => lambda {
    C.type_map_for_results = PG::BasicTypeMapForResults.new(C)
    C.type_map_for_queries = PG::BasicTypeMapForQueries.new(C)
    at = Time.utc(2026, 1, 5, 10, 0, 0, 123_456)
    3.times do
      same(C.exec_params('SELECT $1::int8, $2::float8, $3::bool, $4::text, $5::timestamptz, $6::int[]',
                         [9_223_372_036_854_775_807, 1.5, true, TEXT, at, [1, nil]]).values,
           [[9_223_372_036_854_775_807, 1.5, true, TEXT, at, [1, nil]]], 'parameters')
    end
    C.prepare('by n', 'SELECT n FROM public.many WHERE n = $1')
    same(C.exec_prepared('by n', [7]).values, [[7]], 'the row')
  },
  'types' => lambda {
    ActiveRecord::Base.connection.create_table(:entries, id: false) do |t|
      t.column :ts, 'timestamptz', null: false
      t.text :host
      t.bigint :n
      t.float :f
      t.boolean :b
      t.json :j
    end
    Entry.reset_column_information
    at = Time.utc(2026, 1, 5, 10, 0, 0, 123_456)
    Entry.create!(ts: at, host: TEXT, n: -9_223_372_036_854_775_808, f: 1.5, b: false, j: { 'a' => [1, nil] })
    Entry.create!(ts: at + 1)
    got = Entry.where(n: -9_223_372_036_854_775_808).where('ts >= ?', at).order(:ts).map(&:attributes)
    want = { 'ts' => at, 'host' => TEXT, 'n' => -9_223_372_036_854_775_808, 'f' => 1.5, 'b' => false,
             'j' => { 'a' => [1, nil] } }
    same(got, [want], 'the row')
    same(Entry.where(host: nil, ts: at..at + 5).pluck(:n, :f, :b, :j), [[nil, nil, nil, nil]], 'nulls')
    same(Entry.group(:host).count, { TEXT => 1, nil => 1 }, 'counts')
    SEQUEL[:entries].multi_insert([{ ts: at + 2, host: 'sequel' }, { ts: at + 3, host: 'sequel' }])
    same(SEQUEL[:entries].where(host: ['sequel']).count, 2, 'rows of Sequel')
    ActiveRecord::Base.connection.drop_table(:entries)
  },
  'fetch' => lambda {
    n = 0
    SEQUEL['SELECT n, t FROM public.many ORDER BY n'].use_cursor(rows_per_fetch: 30_000).each do |row|
      same(row, { n: n, t: "row #{n}" }, 'a row')
      n += 1
    end
    same(n, 100_000, 'the number of rows')
    C.send_query('SELECT n FROM public.many')
    C.set_single_row_mode
    count = 0
    while (r = C.get_result)
      r.check
      count += r.ntuples
    end
    same(count, 100_000, 'the number of single rows')
  },
  'cancel' => lambda {
    C.send_query(SLOW)
    C.cancel
    fails(PG::QueryCanceled) { C.get_last_result }
    same(C.exec('SELECT 1').ntuples, 1, 'the answer afterwards')
  },
  'errors' => lambda {
    fails(PG::UndefinedColumn, '13') { C.exec("SELECT 'é', missing FROM types") }
    fails(PG::UndefinedTable, '16') { C.exec('SELECT id FROM missing') }
    fails(PG::SyntaxError, '1') { C.exec('SELEC 1') }
    fails(PG::FeatureNotSupported) { C.exec('UPDATE types SET id = 1') }
    C.transaction { |t| fails(PG::UndefinedColumn, '8') { t.exec('SELECT missing FROM types') } }
    same(C.exec('SELECT 1').ntuples, 1, 'the answer afterwards')
  },
  'copy' => lambda {
    C.copy_data('COPY merged (ts, host, took) FROM STDIN') do
      C.put_copy_data("2026-01-05 10:00:00Z\ta\\tb\t\\N\n2026-01-05 10:00:01Z\t\\N\t2.5\n")
    end
    rows = []
    C.copy_data('COPY (SELECT host, took FROM merged ORDER BY ts) TO STDOUT') do
      while (row = C.get_copy_data)
        rows << row
      end
    end
    same(rows, ["a\\tb\t\\N\n", "\\N\t2.5\n"], 'the rows')
  }
}.freeze

CHECKS.each do |name, check|
  check.call
  puts "ok #{name}"
rescue StandardError => e
  puts "failed #{name} #{(e.full_message(highlight: false)).gsub("\n", '\n')}"
end
