"""Makes a Spark session that reads Iceberg tables, from the catalog "lake" if an address is given."""

from pyspark.sql import SparkSession


def session(jar, uri=None, token=None):
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", jar)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
    )
    if uri:
        builder = (
            builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
            .config("spark.sql.catalog.lake.type", "rest")
            .config("spark.sql.catalog.lake.uri", uri)
            .config("spark.sql.catalog.lake.token", token)
            .config("spark.sql.catalog.lake.io-impl", "org.apache.iceberg.hadoop.HadoopFileIO")
        )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
