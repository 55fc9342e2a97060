# Carries out the checks of RPostgreSQL: check.R CLIENT HOST PORT DATABASE AUTHORITY. A line is printed for each check: "ok
# CHECK", or "failed CHECK TEXT".
suppressMessages(library(DBI))
suppressMessages(library(RPostgreSQL))

args <- commandArgs(trailingOnly = TRUE)
connect <- function(password = enc2utf8("pass w\u00f6rd's")) {
  dbConnect(PostgreSQL(), host = args[2], port = as.integer(args[3]), dbname = args[4], user = args[4], password = password)
}
con <- connect()
same <- function(got, want, what) {
  if (!isTRUE(all.equal(got, want, check.attributes = FALSE))) {
    stop(what, " is ", paste(deparse(got), collapse = " "), ", want ", paste(deparse(want), collapse = " "))
  }
}
checks <- list(
  connect = function() {
    same(dbGetQuery(con, "SELECT current_database() AS d")$d, args[4], "the database")
    wrong <- tryCatch({ connect("wrong"); "accepted" }, error = function(e) conditionMessage(e))
    if (!grepl("password authentication failed", wrong)) stop("a wrong password: ", wrong)
  },
  schema = function() {
    same(dbExistsTable(con, "merged"), TRUE, "whether the table exists")
    same(dbListFields(con, "merged"), c("ts", "host", "took"), "fields")
    r <- dbSendQuery(con, "SELECT * FROM merged")
    same(dbColumnInfo(r)$type, c("TIMESTAMPTZOID", "TEXT", "FLOAT8"), "types")
    dbClearResult(r)
  },
  parameters = function() {
    same(dbGetQuery(con, "SELECT t FROM public.many WHERE n = $1", 5)$t, "row 5", "the row")
    same(dbGetQuery(con, "SELECT $1::text AS t", "it's \u2603")$t, "it's \u2603", "the text")
  },
  types = function() {
    at <- as.POSIXct("2026-01-05 10:00:00", tz = "UTC")
    rows <- data.frame(ts = at + 0:1, host = c("a\tb", NA), n = c(1.5, NA), k = c(-2147483647L, NA), b = c(TRUE, NA))
    same(dbWriteTable(con, "frame", rows, row.names = FALSE), TRUE, "whether the rows were stored")
    got <- dbGetQuery(con, "SELECT * FROM frame ORDER BY k NULLS LAST")
    same(got$host, rows$host, "texts")
    same(got$n, rows$n, "numbers")
    same(got$k, rows$k, "integers")
    same(got$b, rows$b, "booleans")
    same(dbRemoveTable(con, "frame"), TRUE, "whether the table was removed")
  },
  fetch = function() {
    r <- dbSendQuery(con, "SELECT n FROM public.many ORDER BY n")
    n <- 0
    while (!dbHasCompleted(r)) {
      some <- fetch(r, 30000)
      if (nrow(some) > 0) same(some$n, n + seq_len(nrow(some)) - 1, "rows")
      n <- n + nrow(some)
    }
    dbClearResult(r)
    same(n, 100000, "the number of rows")
  },
  errors = function() {
    r <- tryCatch(dbSendQuery(con, "SELECT missing FROM types"), error = function(e) conditionMessage(e))
    if (!grepl("no column \"missing\"", r)) stop("the error is ", r)
    same(dbGetQuery(con, "SELECT 1 AS n")$n, 1, "the answer afterwards")
  }
)
for (name in names(checks)) {
  why <- tryCatch({ suppressWarnings(checks[[name]]()); NULL }, error = function(e) conditionMessage(e))
  if (is.null(why)) cat("ok ", name, "\n", sep = "") else cat("failed ", name, " ", gsub("\n", "\\\\n", why), "\n", sep = "")
}
