import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLException;

/**
 * Carries out the checks of pgjdbc: Check CLIENT HOST PORT DATABASE AUTHORITY. A line is printed for each check: "ok CHECK", or
 * "failed CHECK TEXT". CLIENT is pgjdbc, or pgjdbc-simple for the simple protocol.
 */
public class Check {
  static final String TEXT = "Ünïcode ☃ 🎉 'single' \"double\" back\\slash %s $1 ; -- \t\nnext";
  static final String[] COLUMNS = {"ts", "id", "s", "ms", "us", "i8", "i16", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "b", "t",
    "bin", "j"};
  static final Object[][] ROWS = {
    {time("2026-01-05T10:00:00.123456Z"), 1, time("1969-12-31T23:59:59Z"), time("9999-12-31T23:59:59.999Z"),
      time("1600-02-29T00:00:00.000001Z"), 127, 32767, Long.MAX_VALUE, 255, 65535, 4294967295L,
      new BigDecimal("18446744073709551615"), Float.POSITIVE_INFINITY, Double.MAX_VALUE, true, TEXT, new byte[] {0, -1, 39, 92, 10},
      "{\"a\":[1,\"x\",null]}"},
    {time("1969-12-31T23:59:59.999999Z"), 2, time("9999-12-31T23:59:59Z"), time("0001-01-02T00:00:00Z"), time("1970-01-01T00:00:00Z"),
      -128, -32768, Long.MIN_VALUE, 0, 0, 0L, new BigDecimal("0"), -1.5f, Double.NaN, false, "", new byte[0], "[]"},
    {time("2026-01-05T10:00:01Z"), 3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null},
  };

  static String host, database, authority, options;
  static int port;
  static Connection c;

  interface Action {
    void run() throws Exception;
  }

  static OffsetDateTime time(String text) {
    return OffsetDateTime.parse(text);
  }

  static Connection open(String password, boolean tls) throws SQLException {
    Properties p = new Properties();
    p.setProperty("user", database);
    p.setProperty("password", password);
    p.setProperty("sslmode", tls ? "verify-full" : "disable");
    p.setProperty("sslrootcert", authority);
    return DriverManager.getConnection("jdbc:postgresql://" + host + ":" + port + "/" + database + options, p);
  }

  static void check(String name, Action action) throws Exception {
    try {
      action.run();
      System.out.println("ok " + name);
    } catch (Throwable e) {
      StringBuilder text = new StringBuilder(e.toString());
      for (StackTraceElement at : e.getStackTrace()) if (at.getClassName().equals("Check")) text.append("\\n").append(at);
      System.out.println("failed " + name + " " + text.toString().replace("\n", "\\n"));
      c = open("pass wörd's", false);
    }
  }

  static void expect(Object got, Object want, String what) {
    boolean same = Objects.deepEquals(got, want);
    if (got instanceof BigDecimal a && want instanceof BigDecimal b) same = a.compareTo(b) == 0;
    if (!same) {
      String g = got instanceof byte[] b ? Arrays.toString(b) : String.valueOf(got);
      String w = want instanceof byte[] b ? Arrays.toString(b) : String.valueOf(want);
      throw new AssertionError(what + " is " + g + ", want " + w);
    }
  }

  static SQLException failure(Action action, String state) {
    try {
      action.run();
    } catch (SQLException e) {
      expect(e.getSQLState(), state, "the SQLSTATE of " + e);
      return e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    throw new AssertionError("it succeeded, and should fail with " + state);
  }

  static List<String> names(ResultSet r, String... columns) throws SQLException {
    List<String> out = new ArrayList<>();
    while (r.next()) {
      List<String> row = new ArrayList<>();
      for (String column : columns) row.add(r.getString(column));
      out.add(String.join(" ", row));
    }
    return out;
  }

  static Object one(String sql, Object... values) throws SQLException {
    try (PreparedStatement s = c.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) s.setObject(i + 1, values[i]);
      try (ResultSet r = s.executeQuery()) {
        r.next();
        return r.getObject(1);
      }
    }
  }

  static void schema() throws SQLException {
    DatabaseMetaData m = c.getMetaData();
    expect(m.getDatabaseProductName(), "PostgreSQL", "the product");
    expect(names(m.getTables(null, database, "%", new String[] {"TABLE"}), "TABLE_NAME"), List.of("merged", "types"), "getTables");
    expect(names(m.getSchemas(), "TABLE_SCHEM").contains(database), true, "getSchemas has the database");
    List<String> columns = names(m.getColumns(null, database, "types", "%"), "COLUMN_NAME", "TYPE_NAME", "IS_NULLABLE");
    expect(columns.size(), 18, "the number of columns");
    expect(columns.subList(0, 3), List.of("ts timestamptz NO", "id int4 YES", "s timestamptz YES"), "getColumns");
    List<String> keys = names(m.getPrimaryKeys(null, database, "merged"), "COLUMN_NAME");
    keys.sort(null);
    expect(keys, List.of("host", "ts"), "getPrimaryKeys");
    expect(names(m.getIndexInfo(null, database, "merged", true, false), "COLUMN_NAME").size(), 2, "getIndexInfo");
    expect(names(m.getImportedKeys(null, database, "merged"), "PKTABLE_NAME"), List.of(), "getImportedKeys");
    expect(names(m.getTypeInfo(), "TYPE_NAME").contains("timestamptz"), true, "getTypeInfo has timestamptz");
    expect(names(m.getTables(null, database, "merged", null), "REMARKS"), List.of("rows by host"), "the comment");
    if (!options.isEmpty()) return; // the simple protocol describes nothing
    try (PreparedStatement s = c.prepareStatement("SELECT i64, t FROM types WHERE id = ? AND ts > ?")) {
      expect(s.getParameterMetaData().getParameterTypeName(1), "int4", "the type of a parameter");
      expect(s.getParameterMetaData().getParameterTypeName(2), "timestamptz", "the type of a parameter");
      expect(s.getMetaData().getColumnClassName(1), "java.lang.Long", "the class of a column");
    }
  }

  static void parameters() throws SQLException {
    Object[][] all = {
      {"SELECT CAST(? AS bigint)", Long.MIN_VALUE, Long.MIN_VALUE}, {"SELECT CAST(? AS smallint)", -5, -5}, {"SELECT ?::int", 5, 5},
      {"SELECT ?::float8", Double.MIN_VALUE, Double.MIN_VALUE}, {"SELECT ?::boolean", true, true}, {"SELECT ?::text", TEXT, TEXT},
      {"SELECT CAST(? AS numeric(20,4))", new BigDecimal("-1234567890123456.7891"), new BigDecimal("-1234567890123456.7891")},
      {"SELECT ?::bytea", new byte[] {0, -1}, new byte[] {0, -1}},
      {"SELECT ?::uuid", UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"), UUID.fromString("00112233-4455-6677-8899-aabbccddeeff")},
      {"SELECT epoch_us(?::timestamptz)", time("2026-01-05T10:00:00.000001+01:00"), 1767603600000001L},
      {"SELECT count(*) FROM public.many WHERE n < ? AND t <> 'row 1'", 10, 9L},
    };
    for (Object[] p : all) for (int i = 0; i < 7; i++) expect(one((String) p[0], p[1]), p[2], (String) p[0]); // prepared from 5 on
    expect(one("SELECT count(*) FROM public.many WHERE n = ANY(?)", c.createArrayOf("int8", new Long[] {1L, 2L})), 2L, "ANY");
    Object array = one("SELECT ?::text[]", c.createArrayOf("text", new String[] {"a,b", "q\"", null, ""}));
    expect(((java.sql.Array) array).getArray(), new String[] {"a,b", "q\"", null, ""}, "the array");
  }

  static void types() throws SQLException {
    String list = String.join(", ", COLUMNS);
    try (PreparedStatement s = c.prepareStatement("INSERT INTO types (" + list + ") VALUES (" + "?, ".repeat(17) + "?)")) {
      for (Object[] row : ROWS) {
        for (int i = 0; i < row.length; i++) {
          if (COLUMNS[i].equals("j") && row[i] != null) {
            PGobject json = new PGobject();
            json.setType("json");
            json.setValue((String) row[i]);
            s.setObject(i + 1, json);
          } else if (row[i] == null) {
            s.setNull(i + 1, i < 5 ? Types.TIMESTAMP_WITH_TIMEZONE : Types.OTHER);
          } else {
            s.setObject(i + 1, row[i]);
          }
        }
        s.addBatch();
      }
      s.executeBatch();
    }
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT " + list + " FROM types ORDER BY id")) {
      for (Object[] row : ROWS) {
        r.next();
        for (int i = 0; i < row.length; i++) {
          Object want = row[i];
          Object got = want instanceof OffsetDateTime ? r.getObject(i + 1, OffsetDateTime.class) : r.getObject(i + 1);
          if (got instanceof PGobject o) got = o.getValue();
          if (want instanceof OffsetDateTime w) want = w.toInstant();
          if (got instanceof OffsetDateTime g) got = g.toInstant();
          expect(got, want, COLUMNS[i]);
        }
      }
    }
    for (String name : new String[] {"ts", "s", "ms", "us", "i64", "u64", "t"}) {
      int at = Arrays.asList(COLUMNS).indexOf(name);
      for (int k = 0; k < 2; k++) expect(one("SELECT id FROM types WHERE id < 3 AND " + name + " = ?", ROWS[k][at]), k + 1, name);
    }
  }

  static void fetch() throws SQLException {
    c.setAutoCommit(false);
    try (Statement s = c.createStatement()) {
      s.setFetchSize(1000);
      try (ResultSet r = s.executeQuery("SELECT n, t FROM public.many ORDER BY n")) {
        long n = 0;
        for (; r.next(); n++) {
          if (r.getLong(1) != n || !r.getString(2).equals("row " + n)) throw new AssertionError("row " + n + " is " + r.getString(2));
        }
        expect(n, 100000L, "the number of rows");
      }
    }
    c.commit();
    c.setAutoCommit(true);
  }

  static void cancel() throws Exception {
    try (Statement s = c.createStatement()) {
      Thread other = new Thread(() -> {
        try {
          Thread.sleep(500);
          s.cancel();
        } catch (Exception e) {
          e.printStackTrace();
        }
      });
      other.start();
      String slow = "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 1000000) b(y) WHERE x % 7 = y % 13";
      failure(() -> s.executeQuery(slow), "57014");
      other.join();
      s.setQueryTimeout(1);
      failure(() -> s.executeQuery(slow), "57014");
    }
    expect(one("SELECT 1"), 1, "SELECT 1");
  }

  static void errors() throws Exception {
    Object[][] all = {{"SELECT missing FROM types", "42703", 8}, {"SELECT id FROM missing", "42P01", 16},
      {"SELECT 'é', missing FROM types", "42703", 13}, {"SELEC 1", "42601", 1}, {"UPDATE types SET id = 1", "0A000", 0}};
    for (Object[] one : all) {
      SQLException e = failure(() -> c.createStatement().execute((String) one[0]), (String) one[1]);
      int position = ((PSQLException) e).getServerErrorMessage().getPosition();
      if ((int) one[2] > 0) expect(position, one[2], "the position of " + one[0]);
      expect(one("SELECT 1"), 1, "SELECT 1");
    }
    c.setAutoCommit(false);
    failure(() -> one("SELECT missing"), "42703");
    failure(() -> one("SELECT 1"), "25P02");
    c.rollback();
    c.setAutoCommit(true);
    expect(one("SELECT 1"), 1, "SELECT 1");
  }

  static void copy() throws Exception {
    var copy = c.unwrap(PGConnection.class).getCopyAPI();
    String rows = "2026-02-01 00:00:00\t100\ta\\tb\n2026-02-01 00:00:01\t101\t\\N\n";
    expect(copy.copyIn("COPY types (ts, id, t) FROM STDIN", new StringReader(rows)), 2L, "copyIn");
    StringWriter out = new StringWriter();
    expect(copy.copyOut("COPY (SELECT id, t FROM types WHERE id >= 100 ORDER BY id) TO STDOUT", out), 2L, "copyOut");
    expect(out.toString(), "100\ta\\tb\n101\t\\N\n", "the text");
  }

  public static void main(String[] args) throws Exception {
    options = args[0].equals("pgjdbc-simple") ? "?preferQueryMode=simple" : "";
    host = args[1];
    port = Integer.parseInt(args[2]);
    database = args[3];
    authority = args[4];
    c = open("pass wörd's", false);
    check("connect", () -> {
      expect(one("SELECT current_database() || ' ' || current_user"), database + " " + database, "the database and the user");
      failure(() -> open("wrong", false), "28P01");
    });
    check("tls", () -> open("pass wörd's", true).close());
    check("schema", Check::schema);
    check("parameters", Check::parameters);
    check("types", Check::types);
    check("fetch", Check::fetch);
    check("cancel", Check::cancel);
    check("errors", Check::errors);
    check("copy", Check::copy);
  }
}
