import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.ThreadContext;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.ConfigurationSource;
import org.apache.logging.log4j.core.config.Configurator;

/** Logs by appenders of log4j 2. */
class Log4j {
  static final String GELF = """
      <Configuration status="warn">
        <Appenders>
          <Socket name="OUT" host="HOST" port="PORT" protocol="TCP" reconnectDelayMillis="200">
            <GelfLayout host="web1" compressionType="OFF" includeNullDelimiter="true" includeStackTrace="true">
              <KeyValuePair key="app" value="shop"/>
            </GelfLayout>
          </Socket>
        </Appenders>
        <Loggers><Root level="info"><AppenderRef ref="OUT"/></Root></Loggers>
      </Configuration>
      """;

  static final String SYSLOG = """
      <Configuration status="warn">
        <Appenders>
          <Syslog name="OUT" format="RFC5424" host="HOST" port="PORT" protocol="TCP" appName="shop" facility="USER" newLine="true"
              mdcId="mdc" messageId="order" includeMDC="true" reconnectDelayMillis="200"/>
        </Appenders>
        <Loggers><Root level="info"><AppenderRef ref="OUT"/></Root></Loggers>
      </Configuration>
      """;

  static final String LOKI = """
      <Configuration status="warn">
        <Appenders>
          <Loki name="OUT" bufferSizeMegabytes="64" maxRetries="20" batchWait="1">
            <url>http://ADDRESS/loki/api/v1/push</url>
            <PatternLayout><Pattern>mark=%X{mark} %m</Pattern></PatternLayout>
            <Label name="app" value="shop"/>
            <LogLevelLabel>level</LogLevelLabel>
          </Loki>
        </Appenders>
        <Loggers><Root level="info"><AppenderRef ref="OUT"/></Root></Loggers>
      </Configuration>
      """;

  static void log(String configuration) throws Exception {
    String[] at = Send.address.split(":");
    String text = configuration.replace("ADDRESS", Send.address).replace("HOST", at[0]).replace("PORT", at[1]);
    var source = new ConfigurationSource(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    LoggerContext context = Configurator.initialize(null, source);
    var logger = LogManager.getLogger("clients");
    Send.each((mark, error) -> {
      ThreadContext.put("mark", Integer.toString(mark));
      if (error) logger.error("a record");
      else logger.info("a record");
    });
    if (configuration.equals(LOKI)) Thread.sleep(3000); // when it stops, it does not wait for its last requests
    context.stop(60, java.util.concurrent.TimeUnit.SECONDS);
  }
}
