import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import co.elastic.clients.elasticsearch.ElasticsearchClient;
import co.elastic.clients.elasticsearch._helpers.bulk.BulkIngester;
import co.elastic.clients.elasticsearch._helpers.bulk.BulkListener;
import co.elastic.clients.elasticsearch.core.BulkRequest;
import co.elastic.clients.elasticsearch.core.BulkResponse;
import co.elastic.clients.elasticsearch.core.bulk.BulkOperation;
import co.elastic.clients.transport.BackoffPolicy;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.logs.OtlpGrpcLogRecordExporter;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.resources.Resource;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/**
 * Sends records with the marks FIRST to LAST-1 by a client: Send CLIENT FIRST LAST ADDRESS PAUSE, the address of its protocol's port and
 * the milliseconds to wait after each 20 records. Every tenth record is an error.
 */
public class Send {
  static int first, last, pause;
  static String address;

  interface Record {
    void send(int mark, boolean error) throws Exception;
  }

  /** Makes the records, as fast as the program does. */
  static void each(Record to) throws Exception {
    for (int mark = first; mark < last; mark++) {
      to.send(mark, mark % 10 == 0);
      if (pause > 0 && mark % 20 == 19) Thread.sleep(pause);
    }
  }

  public static void main(String[] args) throws Exception {
    first = Integer.parseInt(args[1]);
    last = Integer.parseInt(args[2]);
    address = args[3];
    pause = Integer.parseInt(args[4]);
    switch (args[0]) {
      case "loki4j" -> logback(LOKI);
      case "logback-gelf" -> logback(GELF);
      case "logback-elasticsearch" -> logback(ELASTICSEARCH);
      case "log4j2-gelf" -> Log4j.log(Log4j.GELF);
      case "log4j2-syslog" -> Log4j.log(Log4j.SYSLOG);
      case "tjahzi" -> Log4j.log(Log4j.LOKI);
      case "fluency" -> fluency();
      case "otlp-grpc" -> opentelemetry(OtlpGrpcLogRecordExporter.builder().setEndpoint("http://" + address)
          .addHeader("x-svc-log-table-name", "records").setTimeout(Duration.ofSeconds(30)).build());
      case "otlp-http" -> opentelemetry(OtlpHttpLogRecordExporter.builder().setEndpoint("http://" + address + "/v1/logs")
          .addHeader("x-svc-log-table-name", "records").setCompression("gzip").setTimeout(Duration.ofSeconds(30)).build());
      case "elasticsearch-ingester" -> elasticsearch();
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  static final String LOKI = """
      <configuration>
        <appender name="OUT" class="com.github.loki4j.logback.Loki4jAppender">
          <labels>
            app=shop
            level=%level
          </labels>
          <structuredMetadata>
            mark=%mdc{mark}
            thread=%thread
          </structuredMetadata>
          <message><pattern>%msg</pattern></message>
          <http>
            <url>http://ADDRESS/loki/api/v1/push</url>
            <maxRetries>20</maxRetries>
            <minRetryBackoffMs>200</minRetryBackoffMs>
            <maxRetryBackoffMs>1000</maxRetryBackoffMs>
          </http>
          <batch><maxItems>100</maxItems><timeoutMs>200</timeoutMs></batch>
        </appender>
        <root level="INFO"><appender-ref ref="OUT"/></root>
      </configuration>
      """;

  static final String GELF = """
      <configuration>
        <appender name="OUT" class="de.siegmar.logbackgelf.GelfTcpAppender">
          <graylogHost>HOST</graylogHost>
          <graylogPort>PORT</graylogPort>
          <encoder class="de.siegmar.logbackgelf.GelfEncoder">
            <numbersAsString>false</numbersAsString>
            <staticField>app:shop</staticField>
          </encoder>
        </appender>
        <root level="INFO"><appender-ref ref="OUT"/></root>
      </configuration>
      """;

  static final String ELASTICSEARCH = """
      <configuration>
        <appender name="OUT" class="com.internetitem.logback.elasticsearch.ElasticsearchAppender">
          <url>http://ADDRESS/_bulk</url>
          <index>shop</index>
          <maxRetries>20</maxRetries>
          <sleepTime>250</sleepTime>
          <includeMdc>true</includeMdc>
          <headers><header><name>Content-Type</name><value>application/json</value></header></headers>
        </appender>
        <root level="INFO"><appender-ref ref="OUT"/></root>
      </configuration>
      """;

  /** Logs by an appender of logback. */
  static void logback(String configuration) throws Exception {
    String[] at = address.split(":");
    String text = configuration.replace("ADDRESS", address).replace("HOST", at[0]).replace("PORT", at[1]);
    LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
    context.reset();
    JoranConfigurator configurator = new JoranConfigurator();
    configurator.setContext(context);
    configurator.doConfigure(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    ch.qos.logback.core.util.StatusPrinter.printInCaseOfErrorsOrWarnings(context);
    var logger = LoggerFactory.getLogger("clients");
    each((mark, error) -> {
      MDC.put("mark", Integer.toString(mark));
      if (error) logger.error("a record");
      else logger.info("a record");
    });
    context.stop();
  }

  /** Sends by the forward protocol, with acknowledgements. */
  static void fluency() throws Exception {
    ((LoggerContext) LoggerFactory.getILoggerFactory()).getLogger("ROOT").setLevel(Level.WARN);
    String[] at = address.split(":");
    var builder = new org.komamitsu.fluency.fluentd.FluencyBuilderForFluentd();
    builder.setAckResponseMode(true);
    builder.setSenderMaxRetryCount(60);
    builder.setBufferChunkInitialSize(8 << 10);
    builder.setBufferChunkRetentionSize(16 << 10);
    builder.setWaitUntilBufferFlushed(90);
    builder.setWaitUntilFlusherTerminated(90);
    try (var fluency = builder.build(at[0], Integer.parseInt(at[1]))) {
      each((mark, error) -> fluency.emit("shop.cart", Map.of("message", "a record", "level", error ? "error" : "info", "mark", mark)));
      fluency.flush();
    }
  }

  static void opentelemetry(LogRecordExporter exporter) throws Exception {
    var processor = BatchLogRecordProcessor.builder(exporter).setMaxQueueSize(2 * (last - first)).setMaxExportBatchSize(100)
        .setScheduleDelay(Duration.ofMillis(200)).setExporterTimeout(Duration.ofSeconds(60)).build();
    var provider = SdkLoggerProvider.builder().addLogRecordProcessor(processor)
        .setResource(Resource.create(Attributes.of(AttributeKey.stringKey("service.name"), "shop"))).build();
    var logger = provider.get("clients");
    each((mark, error) -> logger.logRecordBuilder().setBody("a record").setTimestamp(Instant.now())
        .setSeverity(error ? Severity.ERROR : Severity.INFO).setSeverityText(error ? "ERROR" : "INFO")
        .setAttribute(AttributeKey.longKey("mark"), (long) mark).emit());
    provider.shutdown().join(90, TimeUnit.SECONDS);
  }

  /** Sends by the ingester. A request that could not be sent is given to the program, which sends its operations again. */
  static void elasticsearch() throws Exception {
    ((LoggerContext) LoggerFactory.getILoggerFactory()).getLogger("ROOT").setLevel(Level.WARN);
    Set<String> missing = ConcurrentHashMap.newKeySet();
    Queue<BulkOperation> again = new ConcurrentLinkedQueue<>();
    BulkListener<Void> listener = new BulkListener<>() {
      @Override
      public void beforeBulk(long id, BulkRequest request, List<Void> contexts) {}

      @Override
      public void afterBulk(long id, BulkRequest request, List<Void> contexts, BulkResponse response) {
        for (int i = 0; i < response.items().size(); i++) {
          if (response.items().get(i).error() == null) missing.remove(response.items().get(i).id());
          else again.add(request.operations().get(i));
        }
      }

      @Override
      public void afterBulk(long id, BulkRequest request, List<Void> contexts, Throwable failure) {
        again.addAll(request.operations());
      }
    };
    try (ElasticsearchClient client = ElasticsearchClient.of(b -> b.host("http://" + address))) {
      BulkIngester<Void> ingester = BulkIngester.of(b -> b.client(client).maxOperations(100).flushInterval(200, TimeUnit.MILLISECONDS)
          .backoffPolicy(BackoffPolicy.constantBackoff(300L, 100)).listener(listener));
      each((mark, error) -> {
        missing.add("m" + mark);
        ingester.add(op -> op.create(c -> c.index("shop").id("m" + mark).document(Map.of(
            "@timestamp", Instant.now().toString(), "level", error ? "error" : "info", "message", "a record", "mark", mark))));
      });
      for (int left = 100; !missing.isEmpty() && left > 0; left--) {
        Thread.sleep(300);
        for (BulkOperation op = again.poll(); op != null; op = again.poll()) ingester.add(op);
      }
      ingester.close();
    }
  }
}
