//! Sends records with the marks FIRST to LAST-1 by a crate, with a pause in milliseconds after every 20:
//! send CLIENT FIRST LAST ADDRESS PAUSE.

use std::collections::HashSet;
use std::error::Error;
use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_otlp::{
    LogExporter, Protocol, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::logs::SdkLoggerProvider;
use serde_json::{json, Value};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let marks = args[2].parse()?..args[3].parse()?;
    let address = args[4].clone();
    let pause = Duration::from_millis(args[5].parse()?);
    let runtime = tokio::runtime::Runtime::new()?;
    match args[1].as_str() {
        "rust-elasticsearch" => runtime.block_on(elasticsearch(address, marks, pause)),
        "rust-opensearch" => runtime.block_on(opensearch(address, marks, pause)),
        "rust-tracing-loki" => runtime.block_on(loki(address, marks, pause)),
        "rust-tracing-gelf" => runtime.block_on(gelf(address, marks, pause)),
        "rust-syslog-udp" => syslog(address, marks, pause),
        "rust-otlp-grpc" => {
            let _guard = runtime.enter(); // tonic needs the runtime
            let mut metadata = tonic::metadata::MetadataMap::new();
            metadata.insert(
                "x-svc-log-table-name",
                tonic::metadata::MetadataValue::from_static("records"),
            );
            let exporter = LogExporter::builder().with_tonic().with_metadata(metadata);
            opentelemetry(
                exporter
                    .with_endpoint(format!("http://{address}"))
                    .build()?,
                marks,
                pause,
            )
        }
        name @ ("rust-otlp-http" | "rust-otlp-json") => {
            let protocol = if name == "rust-otlp-http" {
                Protocol::HttpBinary
            } else {
                Protocol::HttpJson
            };
            let exporter = LogExporter::builder().with_http().with_protocol(protocol);
            let headers = [("x-svc-log-table-name".to_string(), "records".to_string())].into();
            let exporter = exporter
                .with_headers(headers)
                .with_endpoint(format!("http://{address}/v1/logs"));
            opentelemetry(exporter.build()?, marks, pause)
        }
        other => Err(format!("unknown client {other}").into()),
    }
}

/// emit emits a record for each mark, with the mark as a field, through the subscriber.
fn emit(marks: Range<u64>, pause: Duration) {
    for mark in marks {
        if mark % 10 == 0 {
            tracing::error!(mark, "a record");
        } else {
            tracing::info!(mark, "a record");
        }
        if mark % 20 == 19 {
            std::thread::sleep(pause);
        }
    }
}

fn opentelemetry(exporter: LogExporter, marks: Range<u64>, pause: Duration) -> Result<()> {
    let resource = opentelemetry_sdk::Resource::builder()
        .with_service_name("shop")
        .build();
    let provider = SdkLoggerProvider::builder()
        .with_resource(resource)
        .with_batch_exporter(exporter)
        .build();
    let bridge = opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge::new(&provider);
    tracing_subscriber::registry()
        .with(tracing_subscriber::filter::LevelFilter::INFO)
        .with(bridge)
        .init();
    emit(marks, pause);
    provider.shutdown()?;
    Ok(())
}

async fn loki(address: String, marks: Range<u64>, pause: Duration) -> Result<()> {
    let builder = tracing_loki::builder().label("app", "shop")?;
    let (layer, controller, task) =
        builder.build_controller_url(url::Url::parse(&format!("http://{address}"))?)?;
    let own = tracing_subscriber::filter::Targets::new().with_target("send", tracing::Level::INFO); // not the crate's events
    tracing_subscriber::registry().with(own).with(layer).init();
    let task = tokio::spawn(task);
    // The crate drops records if more than 512 wait to be sent.
    tokio::task::block_in_place(|| emit(marks, pause.max(Duration::from_millis(2))));
    controller.shutdown().await;
    task.await?;
    Ok(())
}

async fn gelf(address: String, marks: Range<u64>, pause: Duration) -> Result<()> {
    let mut connection = tracing_gelf::Logger::builder()
        .additional_field("app", "shop")
        .buffer(4000)
        .init_tcp(address)?;
    tokio::spawn(async move { connection.connect().await });
    tokio::task::block_in_place(|| emit(marks, pause));
    tokio::time::sleep(Duration::from_secs(1)).await; // the crate has no call that waits for its buffer
    Ok(())
}

fn syslog(address: String, marks: Range<u64>, pause: Duration) -> Result<()> {
    let formatter = syslog::Formatter5424 {
        facility: syslog::Facility::LOG_USER,
        hostname: Some("web1".into()),
        process: "shop".into(),
        pid: 1,
    };
    let local = format!("{}:0", address.split(':').next().unwrap_or_default());
    let mut writer = syslog::udp(formatter, local, address)?;
    for mark in marks {
        let message = (1u32, Default::default(), format!("mark={mark} a record"));
        if mark % 10 == 0 {
            writer.err(message)?;
        } else {
            writer.info(message)?;
        }
        if mark % 20 == 19 {
            std::thread::sleep(pause.max(Duration::from_millis(1))); // so that the socket's buffer does not overflow
        }
    }
    Ok(())
}

/// documents returns the action and the document of each mark.
fn documents(marks: &[u64]) -> Vec<Value> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis() as u64;
    let level = |mark: &u64| if mark % 10 == 0 { "error" } else { "info" };
    let pair = |mark: &u64| {
        let document =
            json!({"@timestamp": now, "level": level(mark), "message": "a record", "mark": mark});
        [json!({"create": {"_id": format!("m{mark}")}}), document]
    };
    marks.iter().flat_map(pair).collect()
}

/// missing returns the marks that a response of the bulk API does not report as stored.
fn missing(marks: &[u64], response: &Value) -> Vec<u64> {
    let stored = |item: &&Value| matches!(item["create"]["status"].as_u64(), Some(201 | 409));
    let items = response["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(stored);
    let ids: HashSet<&str> = items
        .filter_map(|item| item["create"]["_id"].as_str())
        .collect();
    marks
        .iter()
        .copied()
        .filter(|mark| !ids.contains(format!("m{mark}").as_str()))
        .collect()
}

/// bulk defines a function that sends documents with a crate and its client: both crates have the same interface.
macro_rules! bulk {
    ($name:ident, $client:ident) => {
        async fn $name(address: String, marks: Range<u64>, pause: Duration) -> Result<()> {
            use $name::{http::transport::Transport, BulkParts};
            let client = $name::$client::new(Transport::single_node(&format!("http://{address}"))?);
            for chunk in marks.collect::<Vec<_>>().chunks(100) {
                let mut left = chunk.to_vec();
                while !left.is_empty() {
                    let body: Vec<_> = documents(&left)
                        .into_iter()
                        .map($name::http::request::JsonBody::new)
                        .collect();
                    match client
                        .bulk(BulkParts::Index("shop"))
                        .body(body)
                        .send()
                        .await
                    {
                        Ok(response) => {
                            left = missing(&left, &response.json().await.unwrap_or_default())
                        }
                        Err(error) => eprintln!("again: {error}"),
                    }
                    tokio::time::sleep(if left.is_empty() {
                        pause * 5
                    } else {
                        Duration::from_millis(300)
                    })
                    .await;
                }
            }
            Ok(())
        }
    };
}

bulk!(elasticsearch, Elasticsearch);
bulk!(opensearch, OpenSearch);
