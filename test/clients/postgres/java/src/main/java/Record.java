import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.OffsetDateTime;

/** Sends what pgjdbc sends for each kind of statement, so that its messages can be recorded: Record HOST PORT. */
public final class Record {
  private Record() {}

  public static void main(String[] args) throws SQLException {
    String url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/public?user=svc&sslmode=disable&gssEncMode=disable";
    try (Connection c = DriverManager.getConnection(url)) {
      try (Statement s = c.createStatement()) {
        s.execute("CREATE TABLE messages (ts TIMESTAMPTZ NOT NULL, host TEXT, n BIGINT, f DOUBLE PRECISION, b BOOLEAN, "
            + "bin BYTEA, j JSON, PRIMARY KEY (ts, host))");
      }
      insert(c);
      for (int i = 0; i < 6; i++) { // the fifth is prepared under a name, and reads binary values
        select(c, i);
      }
      fetch(c);
      for (String sql : new String[] {"SELECT nope FROM messages", "SELEC 1", "SELECT 'é', nope"}) {
        try (Statement s = c.createStatement()) {
          s.execute(sql);
        } catch (SQLException expected) {
          // the messages are what counts
        }
      }
      try (ResultSet r = c.getMetaData().getPrimaryKeys(null, "public", "messages")) {
        while (r.next()) {
          r.getString("COLUMN_NAME");
        }
      }
      c.isValid(5);
      try (Statement s = c.createStatement()) {
        s.execute("DROP TABLE messages");
      }
    }
  }

  private static void insert(Connection c) throws SQLException {
    String sql = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)";
    try (PreparedStatement p = c.prepareStatement(sql)) {
      p.setObject(1, OffsetDateTime.parse("2026-01-05T10:00:00.123456Z"));
      p.setString(2, "it's");
      p.setLong(3, Long.MAX_VALUE);
      p.setDouble(4, 1.5);
      p.setBoolean(5, true);
      p.setBytes(6, new byte[] {0, (byte) 255});
      p.setObject(7, "{\"a\":1}", Types.OTHER);
      p.addBatch();
      p.setObject(1, OffsetDateTime.parse("1970-01-01T00:00:00Z"));
      for (int i = 2; i <= 7; i++) {
        p.setNull(i, i == 3 ? Types.BIGINT : Types.NULL);
      }
      p.addBatch();
      p.executeBatch();
    }
  }

  private static void select(Connection c, int round) throws SQLException {
    String sql = "SELECT *, ?::numeric AS d FROM messages WHERE n = ? AND ts < ? AND host = ANY(?)";
    try (PreparedStatement p = c.prepareStatement(sql)) {
      p.setBigDecimal(1, new BigDecimal("12.50"));
      p.setLong(2, round == 1 ? 0 : Long.MAX_VALUE);
      p.setTimestamp(3, new Timestamp(4102444800000L));
      p.setArray(4, c.createArrayOf("text", new String[] {"it's", "a,b"}));
      try (ResultSet r = p.executeQuery()) {
        while (r.next()) {
          r.getLong("n");
        }
      }
    }
  }

  private static void fetch(Connection c) throws SQLException {
    c.setAutoCommit(false);
    try (PreparedStatement p = c.prepareStatement("SELECT x FROM generate_series(1, 5) x WHERE x > ?")) {
      p.setInt(1, 0);
      p.setFetchSize(2);
      try (ResultSet r = p.executeQuery()) {
        while (r.next()) {
          r.getInt(1);
        }
      }
    }
    c.commit();
    c.setAutoCommit(true);
  }
}
