import{$ as C,A as O,B as Ee,C as z,E as De,F as Ae,G as Ne,H as ae,I as S,J as Pe,K as oe,L as me,M as qe,N as je,O as Ie,Q as Le,R as Me,S as _,T as We,U as Ue,V as Fe,W as ze,X as Be,Z as Ge,_ as He,a as g,aa as N,b as y,ba as Ve,c as V,ca as B,d as Ce,da as G,e as Se,ea as he,f as a,fa as Ke,g as b,h as T,i as M,j as E,l as Oe,m as te,n as Re,o as $e,p as W,q as U,r as se,s as K,t as D,u as R,w as A,x,y as _e,z as F}from"./chunk-KV7J3PGV.js";var bt=8;function vt({stores:e}){let{analysis:t,explore:s,prefs:r}=e,o=t.sets.value,n=r.zone.value,{q:i,bq:l}=s.state.value,[c,u]=g(l);y(()=>{t.compare()},[JSON.stringify(o),i]);let d=t.comparison.value.value,p=d!==null&&(d.a.rows===0||d.b.rows===0);return a`<div class="comparing" data-ui="compare"><div class="subhead">${o&&a`<span><i class="set-a"></i>A: ${($=>`${S($.from,n)} \u2013 ${S($.to,n).slice(11)}`)(o.a)} <b>${d&&b(d.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${o.rest?"the rest of the range":l?a`the search <code>${l}</code>`:"the range before"} <b>${d&&b(d.b.rows)}</b></span>`}<span class="grow"></span>${(s.state.value.afrom||l)&&a`<button class="text" onClick=${()=>s.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${$=>{$.preventDefault(),s.set({bq:c.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${c} onInput=${$=>u($.currentTarget.value)} /></form></div>
<${x} latest=${t.comparison} what="Comparing" />
${d?.low&&!p&&a`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${p&&a`<${gt} answer=${d} before=${!o?.rest&&!l} />`}
${d&&!p&&d.fields.length===0&&a`<${O} title="No field differs."><p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&d?"dim":""}`}>${d?.fields.map($=>a`<${wt} key=${$.name} field=${$} answer=${d} onOnly=${s.only} onWithout=${s.without} />`)}
${d&&(d.same.length>0||d.unique.length>0)&&a`<p class="quiet none">${d.same.length>0&&`Alike in both: ${d.same.join(", ")}. `}${d.unique.length>0&&`Different in each row: ${d.unique.join(", ")}.`}</p>`}</div></div>`}function gt({answer:e,before:t}){let s=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return a`<${O} title="There is nothing to compare."><p>${s} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function wt({field:e,answer:t,onOnly:s,onWithout:r}){let o=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),n=e.kind==="numbers"?o:[...o].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,bt),i=Math.max(1e-4,...n.flatMap(({a:c,b:u})=>[c,u])),l=c=>{let{value:u}=n[c];if(u===null)return me(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return me(e.name,String(u));let d=n[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return a`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${n.map(({value:c,a:u,b:d},p)=>a`<li><button class="only" onClick=${()=>c===null?r(l(p)):s(l(p))} title=${`A ${ne(u)}, B ${ne(d)}; click: only these`}>${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?Number(Number(c).toPrecision(4)):E(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/i*100}%`}}></i><i class="set-b" style=${{width:`${d/i*100}%`}}></i></span><small>${ne(u)}<br />${ne(d)}</small></li>`)}</ul></section>`}function ne(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var Ye={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function yt({stores:e}){let{analysis:t,explore:s,prefs:r}=e,[o,n]=g("count"),i=s.range.value,l=s.state.value,c=s.fields.value.value?.fields??[],u=c.filter(v=>v.type==="String").map(v=>v.name),d=`${l.db}.${l.tables.join()}=`,p=r.patternFields.value.find(v=>v.startsWith(d))?.slice(d.length)??"",h=u.includes(p)?p:"",$=c.length>0&&h===""&&!c.some(v=>v.role==="message");y(()=>{i&&!$&&t.loadPatterns(h)},[i?.from,i?.to,l.q,h,$]);let m=v=>{r.patternFields.value=[d+v,...r.patternFields.value.filter(L=>!L.startsWith(d))]};if($)return a`<${kt} texts=${u} onChoose=${m} />`;let f=t.patterns.value.value,w=f?f.patterns.reduce((v,L)=>v+L.count,f.other):0,k=[...f?.patterns??[]].sort(Ye[o][1]);return a`<div class="subhead"><span class="quiet">${f&&`${f.exact?"":"\u2248 "}${b(w)} rows as ${b(f.patterns.length)} patterns of`}</span>
${f&&a`<select aria-label="Text whose patterns are shown" value=${h||f.field} onChange=${v=>m(v.currentTarget.value)}>${[...new Set([f.field,...u])].map(v=>a`<option value=${v}>${v}</option>`)}</select>`}<span class="grow"></span>
<span role="group" aria-label="Order" class="orders">${Object.entries(Ye).map(([v,[L]])=>a`<button class="text" aria-pressed=${v===o} onClick=${()=>n(v)}>${L}</button>`)}</span></div>
<${x} latest=${t.patterns} what="Looking for patterns" />
${f&&f.patterns.length===0&&a`<${O} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&f?"dim":""}`}>${k.map(v=>a`<${xt} key=${v.pattern} pattern=${v} total=${w} zone=${r.zone.value} exact=${f?.exact!==!1}
onOnly=${()=>s.only(v.query,{view:"rows"})} onWithout=${()=>s.search(`${l.q} -(${v.query})`.trim())} />`)}</ul>
${f&&f.other>0&&a`<div class="foot"><span>${b(f.other)} rows have none of these patterns</span></div>`}`}function kt({texts:e,onChoose:t}){return e.length===0?a`<${O} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:a`<${O} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(s=>a`<button class="button" data-ui="pattern-field" onClick=${()=>t(s)}>${s}</button> `)}</p><//>`}function xt({pattern:e,total:t,zone:s,exact:r,onOnly:o,onWithout:n}){let i=t>0?e.count/t*100:0,l=De.find(u=>e.levels[u]>0&&Ae(u))??"",c=e.before===0?"new":`${b(e.before)} before`;return a`<li data-ui="pattern" class=${l}>
<span class="count">${r?"":"\u2248 "}${b(e.count)}<small>${i<.1?"< 0.1":i.toFixed(1)} %</small></span>
<${Tt} counts=${e.spark} level=${l} />
<button class="only" title=${e.example.text.slice(0,500)} onClick=${o}>${e.pattern.split("\u27E8*\u27E9").map((u,d)=>a`${d>0&&a`<i>⟨*⟩</i>`}${u}`)}</button>
<small class=${`wide ${e.before===0?"fresh":""}`}>${c}</small><small class="wide">since ${S(e.first,s).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${e.pattern.slice(0,60)}`} title="Hide these rows" onClick=${n}>−</button></li>`}function Tt({counts:e,level:t}){let s=Math.max(1,...e),r=e.map((o,n)=>o>0?`M${n*3+1} 18v-${Math.max(1,o/s*16).toFixed(1)}`:"").join("");return a`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true"><path d=${r} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function Y({stores:e,rejects:t}){return a`<ul class="rejectlist">${t.map(s=>a`<li data-ui="reject"><p class="mono">${E(s.record.slice(0,500))}</p><p class="why">${E(s.error.slice(0,500))}</p>
<p class="quiet">${S(s.at,e.prefs.zone.value)} · ${s.pipeline} → ${s.table} · ${s.format} ·${" "}
<button class="text go" onClick=${()=>Ct(e,s)}>Fix in pipeline</button></p></li>`)}</ul>`}async function Ct({pipelines:e,place:t},s){await e.open(s.pipeline,""),e.setSamples([s.record,...e.samples.value.filter(r=>r!==s.record)]),t.set("pipelines",{name:s.pipeline,t:s.table})}function J(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function re(e,t){return J(e)+(e.pipeline===P?`&custom_time_index=${t}`:"")}var P="svc_identity";function le(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===P?"":` --pipeline ${e.pipeline}`}`}function fe(e){return e.user?`export CORDWOOD_USER=${te(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Je(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==P&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function H(e){return Je(e).map(([t,s])=>`${t}: ${q(s)}`).join(", ")}function be(e){return Je(e).map(([t,s])=>`"${t}" = "${s}"`).join(", ")}function q(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var St={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function Z({db:e,table:t,pipeline:s}){for(let[r,o]of[["database",e],["table",t],["pipeline",s]])if(!St[r].test(o))return`\u201C${o}\u201D cannot be the name of a ${r}. Use letters, digits, and the characters _ . : -`;return""}function j(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function ve(e,t){let s=e.split(`
`).find(r=>r.startsWith(`${t} = "`));return s?s.slice(t.length+4,s.lastIndexOf('"')):""}function ge(e,t,s){let{host:r,port:o,secure:n}=j(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${r}
      port: ${o}${n?`
      tls: on`:""}
      uri: ${re(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===P?"iso8601":s}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${q(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function we(...e){return t=>{let s=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==P&&`pipeline=${t.pipeline}`];return e.map(r=>`${r}?${s.filter(Boolean).join("&")}`).join(",")}}var Ze=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:we("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${j(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:we("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${j(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:we("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${j(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${j(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${H(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var X=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${J(e)}' \\
     ${e.user?`-u ${te(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${fe(e)}cordwood ingest --server ${e.origin} ${le(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${fe(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${le(e)}${e.pipeline===P?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${J(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${q(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>ge(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>ge(e,`  inputs:
    - name: tail
      path: /var/log/containers/*.log
      multiline.parser: docker, cri
      tag: kube.*
      db: /var/lib/fluent-bit/tail.db
      storage.type: filesystem
  filters:
    - name: kubernetes
      match: kube.*`,"double")},{id:"fluentd",name:"Fluentd",file:"fluentd.conf",text:e=>`<filter app.**>
  @type record_transformer       # the time of the event is not in the record
  enable_ruby true
  <record>
    time \${(time.to_f * 1000).to_i}
  </record>
</filter>
<match app.**>
  @type http
  endpoint ${re(e,"time;epoch;ms")}
  content_type application/x-ndjson
  retryable_response_codes 408,429,503${e.user?`
  <auth>
    method basic
    username ${e.user}
    password "#{ENV['CORDWOOD_PASSWORD']}"
  </auth>`:""}
  <format>
    @type json
  </format>
  <buffer>
    @type file
    path /var/lib/fluentd/cordwood
    chunk_limit_size 2m
    flush_interval 1s
    flush_thread_count 4
    retry_forever true
    retry_max_interval 30s
  </buffer>
</match>`},{id:"logstash",name:"Logstash",file:"a file of pipeline.conf",note:"Set queue.type: persisted in logstash.yml, so that nothing is lost when Logstash stops.",text:e=>`output {
  http {
    url => "${re(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
    http_method => "post"
    format => "json_batch"
    http_compression => true
    retry_failed => true
    retryable_codes => [408, 429, 500, 502, 503, 504]${e.user?`
    user => "${e.user}"
    password => "\${CORDWOOD_PASSWORD}"`:""}
  }
}`},{id:"syslog-ng",name:"syslog-ng",file:"syslog-ng.conf",text:e=>`source s_local { system(); internal(); };
destination d_cordwood {
  http(
    url("${J(e)}")${e.user?`
    user("${e.user}") password("\`CORDWOOD_PASSWORD\`")`:""}
    method("POST") headers("Content-Type: application/x-ndjson")
    body("$(format-json --scope rfc5424 --key ISODATE)") delimiter("\\n")
    batch-lines(1000) batch-timeout(1000) workers(2) persist-name("cordwood")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216))
    retries(1000000)
  );
};
log { source(s_local); destination(d_cordwood); flags(flow-control); };`},{id:"rsyslog",name:"rsyslog",file:"rsyslog.conf",note:"If the server has users, add --user NAME:PASSWORD to the command, and let only root read the file.",text:e=>`module(load="omprog")
template(name="ndjson" type="list" option.jsonf="on") {
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="program" name="programname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
action(type="omprog" template="ndjson" name="cordwood" output="/var/log/cordwood-ingest.log"
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${le(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${q(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${H(e)}}
    sending_queue:
      storage: file_storage
      batch: {flush_timeout: 1s, min_size: 1000, max_size: 5000, sizer: items}
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions:
    - file_storage${e.user?`
    - basicauth`:""}
  pipelines:
    logs: {receivers: [filelog], exporters: [otlphttp]}`},{id:"alloy",name:"Grafana Alloy",file:"config.alloy",text:e=>`loki.write "cordwood" {
  endpoint {
    url                 = "${e.origin}/loki/api/v1/push"
    headers             = {${be(e)}}
    max_backoff_retries = 0${e.user?`
    basic_auth {
      username = ${JSON.stringify(e.user)}
      password = sys.env("CORDWOOD_PASSWORD")
    }`:""}
  }
}
local.file_match "app" { path_targets = [{"__path__" = "/var/log/app/*.log", "app" = "shop"}] }
loki.source.file "app" {
  targets    = local.file_match.app.targets
  forward_to = [loki.write.cordwood.receiver]
}`},{id:"promtail",name:"Promtail",file:"promtail.yaml",note:"Start Promtail with -config.expand-env=true, so that it reads variables.",text:e=>`clients:
  - url: ${e.origin}/loki/api/v1/push
    backoff_config: {max_retries: 0}
    headers: {${H(e)}}${e.user?`
    basic_auth: {username: ${q(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:s,secure:r}=j(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${r?"https":"http"}://${t}:${s}/v1/elasticsearch"]${e.user?`
  username: ${q(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${H(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${be(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===P?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${q(e.table)}
        splunk-format: json`},...Ze];var Ot={db:null,t:null,pipeline:null,sender:e=>X.some(t=>t.id===e)};function Rt({stores:e}){let{adding:t,place:s,signIn:r}=e,o=s.here.value.params,n=X.find($=>$.id===o.get("sender"))??X[0],[i,l,c]=[o.get("db")||"public",o.get("t")||"app",o.get("pipeline")||"svc_identity"];_(s.page.value==="add"?D(o,Ot):[]),y(()=>{document.title="Add data \xB7 cordwood"},[]),y(()=>{let $=setTimeout(()=>{t.follow(i,l)},300);return()=>{clearTimeout($),t.stop()}},[i,l]);let u=$=>s.set("add",{sender:n.id,t:l,db:i,pipeline:c,...$},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=Z({db:i,table:l,pipeline:c})||n.lacks?.({db:i,table:l,pipeline:c})||"",p=_t(r,Z({db:i,table:l,pipeline:c})?"":`${C(i)}.${C(l)}`),h=d?"":n.text({origin:location.origin,db:i,table:l,pipeline:c,user:r.user.value});return a`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${!p&&a`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${l}: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${l} onInput=${$=>u({t:Xe($)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${$=>u({pipeline:Xe($)})} /></label>
<${Dt} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${X.map($=>a`<button class="text" aria-pressed=${$===n} data-ui=${`sender-${$.id}`} onClick=${()=>u({sender:$.id})}>${$.name}</button>`)}</nav>
${n.port&&!d&&a`<${Et} api=${e.api} flag=${n.port.flag} value=${n.port.text({origin:location.origin,db:i,table:l,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${n.name}><div class="head"><h2>${n.name}</h2><span class="quiet">${n.file}</span><span class="grow"></span>
${!d&&a`<button class="button" onClick=${()=>A(h)}>Copy</button>`}</div>
${d?a`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:a`<pre data-ui="snippet" tabindex="0">${h}</pre>`}
${n.note&&a`<p class="quiet none">${n.note}</p>`}
${r.user.value&&a`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${r.session.value?.auth==="token"?"a token that may store rows":`the password of ${r.user.value}`}.</p>`}</section>
${p&&!Z({db:i,table:l,pipeline:c})&&a`<${At} adding=${t} to=${{db:i,table:l,pipeline:c}} />`}
<${Nt} stores=${e} db=${i} table=${l} />
<${It} key=${`${i}.${l}`} stores=${e} db=${i} table=${l} />
</div>`}function _t(e,t){let[s,r]=g(!0);return y(()=>{let o=!0;return t&&e.may(["INSERT",t]).then(n=>o&&r(n)),()=>{o=!1}},[t,e.user.value]),s}function Et({api:e,flag:t,value:s}){let[r,o]=g("");y(()=>{e.send({path:"/config",need:["MONITOR","CLUSTER"]}).then(async l=>o(await l.text()),()=>{})},[]);let n=ve(r,t),i=`cordwood serve --${t} ${Re(s)}`;return a`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${n?`It listens at ${n}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>A(i)}>Copy</button></div><pre tabindex="0">${i}</pre></section>`}function Xe(e){return e.currentTarget.value.trim()}function Dt({api:e}){let[t,s]=g([]);return y(()=>{e.json({path:"/v1/pipelines"}).then(r=>s(r.pipelines.map(o=>o.name)),()=>{})},[]),a`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(r=>a`<option value=${r}></option>`)}</datalist>`}function At({adding:e,to:t}){let[s,r]=g(!1),o=Ce(null),n=l=>l?.[0]&&void e.send(l[0],t),i=e.sending.value;return a`<section class=${`drop ${s?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${l=>{l.preventDefault(),r(!0)}}
onDragLeave=${()=>r(!1)}
onDrop=${l=>{l.preventDefault(),r(!1),n(l.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>o.current?.click()}>Choose a file</button>
<input ref=${o} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${l=>{let c=l.currentTarget;n(c.files),c.value=""}} /></p>
${i&&a`<p role="status">${i.name}: ${T(i.sent)} of ${T(i.size)}, ${b(i.rows)} ${i.rows===1?"row":"rows"} stored${i.done?i.error?`. ${i.error}`:", done.":"\u2026"} ${!i.done&&a`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${i.size>0?i.sent/i.size*100:100}%`}}></div>
${i.refused>0&&a`<p class="wrong">${b(i.refused)} ${i.refused===1?"record was":"records were"} refused${i.refused>i.reasons.length&&", for example"}:</p>`}
${i.reasons.map(l=>a`<p class="wrong">${E(l)}</p>`)}`}
</section>`}function Nt({stores:e,db:t,table:s}){let{adding:r,api:o,prefs:n}=e,i=z(),[l]=g(()=>B(G)),c=r.rows.value,u=c.length>0;if(y(()=>{u&&l.run(p=>o.json({path:"/v1/explore/fields",body:{db:t,tables:[s]},signal:p}))},[u,t,s]),!u)return a`<section class="first" aria-live="polite" data-ui="first-row"><${Lt} table=${s} /></section>`;let d=l.value.value;return a`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${b(r.count.value)} ${r.count.value===1?"row":"rows"} arrived in ${s}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(p=>p.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${R("explore",{db:t,t:s},{db:"public"})}>Open in Explore</a></div>
<${oe} count=${c.length} at=${p=>c[p]} shape=${Ve(d)} columns=${[]} marks=${null} zone=${n.zone.value}
density=${n.density.value} narrow=${i} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var Pt=10,qt=3e3,jt=6e4;function It({stores:e,db:t,table:s}){let[r]=g(()=>B(G));y(()=>{let n=Date.now()-jt,i=()=>document.visibilityState==="visible"&&void r.run(c=>e.rejects.newest({db:t,table:s,since:n},c));i();let l=setInterval(i,qt);return()=>{clearInterval(l),r.cancel()}},[t,s]);let o=r.value.value??[];return o.length===0?null:a`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${o.length===5?"Newest rejected records":`${b(o.length)} rejected ${o.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${R("rejects",{t:s})}>All rejects of ${s}</a></div>
<${Y} stores=${e} rejects=${o} /></section>`}function Lt({table:e}){let[t]=g(Date.now()),s=_e(1e3),r=Math.floor((s-t)/1e3);return a`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${r} s</p>
${r>=Pt&&a`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var I=()=>"",Q={name:"node",label:"Node",kind:"node"},Qe={name:"force",label:"Also if the metadata group then survives the loss of fewer nodes",kind:"check"},ie={name:"shard",label:"Shard",kind:"shard"},ee=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[Q,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:I,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[Q],word:I,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[Q,Qe],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node,force:e.force==="yes"})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[Q,Qe],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node,force:e.force==="yes"})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:I,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[ie,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:I,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[ie,{name:"replicas",label:"Replicas",kind:"number"}],word:I,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[ie,Q],word:I,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[ie],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:I,request:e=>({kind:"table-move",table:e.table,to_shards:Mt(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:I,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function Mt(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}function et(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,s=>s.toUpperCase())}}function tt({id:e,given:t,state:s,stores:r,onClose:o}){let{operations:n,health:i,tables:l}=r,c=ee.find(w=>w.id===e),[u,d]=g({count:"1",replicas:String(s.replication),partitions:"2",...t});V(()=>n.clear(),[]);let p=n.asks.value,h=n.start.value.value,$=p||c.word(u);async function m(){if(n.start.since.value>0)return;let w=c.request(u);await n.begin(p?{...w,confirm:p}:w)&&(W(n.start.value.value?.message||"The operation has started."),o(),await i.load())}let f=w=>k=>d({...u,[w]:k});return a`<${se} key=${p} title=${c.name.replace("\u2026","")} word=${$} action="Begin" busy=${n.start.since.value>0} onYes=${m} onClose=${o}>
<p>${c.says}</p>
${c.asks.map(w=>a`<label class=${w.kind==="check"?"check":""}>${w.kind!=="check"&&w.label}<${Ut} asked=${w} value=${u[w.name]??""} state=${s} tables=${l.all.value} onValue=${f(w.name)} />${w.kind==="check"&&w.label}</label>`)}
<${Wt} values=${u} state=${s} tables=${l.all.value} />
${p&&h?.message&&a`<p class="wrong" role="alert">${h.message}</p>`}
<${x} latest=${n.start} what="Beginning it" inForm /><//>`}function Wt({values:e,state:t,tables:s}){let r=t.nodes.find(l=>l.name===(e.shard?"":e.node)),o=t.shards.find(l=>String(l.id)===e.shard),n=s.find(l=>`${l.db}.${l.name}`===e.table),i=o?`Shard ${o.id} has ${T(o.bytes)} on disk.`:r?`${r.name} has ${r.replicas} replicas with ${T(r.bytes)}, and leads ${r.leads} shards.`:n?`${e.table} has ${T(n.bytes)}.`:"";return i&&a`<p class="quiet">${i}</p>`}function Ut({asked:e,value:t,state:s,tables:r,onValue:o}){let n=c=>o(c.currentTarget.value),i=`act-${e.name}`;if(e.kind==="check")return a`<input type="checkbox" data-ui=${i} checked=${t==="yes"} onChange=${()=>o(t==="yes"?"":"yes")} />`;if(e.kind==="number")return a`<input type="number" data-ui=${i} required min="1" max="64" value=${t} onInput=${n} />`;if(e.kind==="shards")return a`<input required data-ui=${i} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${n} />`;let l={node:()=>s.nodes.map(c=>c.name),shard:()=>s.shards.map(c=>String(c.id)),table:()=>r.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return a`<select required data-ui=${i} value=${t} onChange=${n}><option value="">Choose</option>${l.map(c=>a`<option value=${c}>${c}</option>`)}</select>`}function st({state:e,onClose:t}){let[s]=g(()=>new Set(e.nodes.map(i=>i.id))),r=e.nodes.filter(i=>!s.has(i.id)),n=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(i=>i.rpc_addr).join(",")}`].join(` \\
  `);return a`<${U} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${n}</pre>
<p role="status" data-ui="joined">${r.length===0?a`<span class="dot waiting"></span> Waiting for it to join…`:`${r.map(i=>i.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>A(n)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function at({stores:e,onClose:t}){let{operations:s,health:r}=e;V(()=>{s.clear(),s.loadPlan()},[]);let o=s.plan.value.value;async function n(i){s.start.since.value>0||await s.begin({kind:i})&&(W(s.start.value.value?.message||"Started."),await r.load(),t())}return a`<${U} title="Rebalance" onClose=${t}><div class="asks">
<${x} latest=${s.plan} what="Asking for the plan" />
${!o&&!s.plan.error.value&&a`<p class="quiet" role="status">Asking what would move…</p>`}
${o&&o.moves.length===0&&a`<p>Nothing would move: ${(o.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${o&&o.moves.length>0&&a`<p>${o.moves.length} replicas would move, ${T(o.moves.reduce((i,l)=>i+l.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${o.moves.map(i=>a`<tr><td>${i.shard}</td><td>${i.from}</td><td>${i.to}</td><td class="r">${T(i.bytes)}</td><td>${i.reason}</td></tr>`)}</tbody></table></div>`}
${o?.blocked.map(i=>a`<p class="wrong">${i}</p>`)}
<${x} latest=${s.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!o||o.moves.length===0} onClick=${()=>n("rebalance")}>Begin</button>
${o&&a`<button class="button" data-ui="pause" onClick=${()=>n(o.paused?"rebalance-resume":"rebalance-pause")}>${o.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function Ft({stores:e}){let{health:t,signIn:s,operations:r,place:o}=e;_(o.page.value==="cluster"?D(o.here.value.params,{}):[]),y(()=>{document.title="Cluster \xB7 cordwood";let m=()=>{document.visibilityState==="visible"&&(t.load(),r.loadList())};r.loadList();let f=setInterval(m,2e3);return()=>clearInterval(f)},[t]);let[n,i]=g({id:"",given:{}}),l=t.value.value;if(!l)return a`<h1 class="hidden">Cluster</h1><${x} latest=${t} what="Asking for the state of the cluster" />`;let c=l.health==="ok",u=t.error.value!==null,d=s.canManage.value,p=((m,f={})=>i({id:m,given:f})),h=()=>i({id:"",given:{}}),$=l.failure_tolerance;return a`<div class="scrolled">
<div class="state"><h1>${u?"The state of the cluster is not known":c?"The cluster is healthy":a`The cluster is <i>${l.health}</i>`}</h1>
${u?a`<span class="quiet" data-ui="known-since">What follows was so at ${ae(t.answered.value,e.prefs.zone.value).time} (${e.prefs.zone.value}).</span>`:a`<span class="quiet">${$>0?`It survives the loss of ${$} ${$===1?"node":"nodes"}.`:`It survives the loss of no node; ${l.limited_by} limits it.`}</span>`}</div>
<${x} latest=${t} what="Asking for the state of the cluster" />
${l.problems.map(m=>a`<div class="problem"><p><b>${$e(m.text)}</b> ${$e(m.advice)}</p></div>`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${d&&a`<button class="text wide" data-ui="add-node" onClick=${()=>p("add-node")}>Add a node…</button><${ot} group="nodes" first=${["add-node","Add a node\u2026"]} onDo=${p} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th class="r opt">bytes</th><th>disk</th><th class="opt">version</th></tr></thead>
<tbody>${l.nodes.map(m=>a`<${zt} key=${m.id} node=${m} />`)}</tbody></table></div>
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${d&&a`<button class="text wide" data-ui="rebalance" onClick=${()=>p("rebalance")}>Rebalance…</button><${ot} group="shards" first=${["rebalance","Rebalance\u2026"]} onDo=${p} />`}</h2>
<${Bt} state=${l} onDo=${d?p:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${Vt} operations=${r.list.value.value??l.operations} stores=${e} may=${d} /></section>
</div></div>
${n.id==="add-node"&&a`<${st} state=${l} onClose=${h} />`}
${n.id==="rebalance"&&a`<${at} stores=${e} onClose=${h} />`}
${ee.some(m=>m.id===n.id)&&a`<${tt} id=${n.id} given=${n.given} state=${l} stores=${e} onClose=${h} />`}`}function zt({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0;return a`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${e.silent_seconds>10&&` silent for ${Math.round(e.silent_seconds)} s`}</td>
<td>${e.roles.join(", ")}</td><td>${e.meta}</td><td class="r">${b(e.replicas)}</td><td class="r">${b(e.leads)}</td><td class="r opt">${T(e.bytes??0)}</td>
<td><span class=${`disk ${t>85?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>${T(e.disk_used)} of ${T(e.disk_capacity)}</td>
<td class="opt">${e.version}</td></tr>`}function ot({group:e,first:t,onDo:s}){return a`<${K} button=${a`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${r=>[{id:t[0],name:t[1]},...ee.filter(o=>o.group===e)].map(({id:o,name:n},i)=>a`<button class=${`choice ${i===0?"narrow-only":""}`} data-ui=${`do-${o}`} onClick=${()=>{r(),s(o)}}>${n}</button>`)}<//>`}function Bt({state:e,onDo:t}){let s=e.nodes.filter(r=>r.roles.includes("shard"));return a`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${s.map(r=>a`<th>${r.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(r=>a`<tr key=${r.id}><td>shard ${r.id}</td>${s.map(o=>{let[n,i,l]=Ht(r,o),c=`shard ${r.id} on ${o.name}: ${i}`;return a`<td class=${l} data-ui="shard-cell" title=${c}>${t&&n!=="\xB7"?a`<${Gt} letter=${n} says=${c} shard=${String(r.id)} node=${o.name} onDo=${t} />`:n}</td>`})}<td class="r opt">${b(r.lag)}</td><td class="r">${T(r.bytes)}</td><td><span class=${r.state==="ok"?"":"bad"}>${r.state}</span></td></tr>`)}</tbody></table></div>`}function Gt({letter:e,says:t,shard:s,node:r,onDo:o}){return a`<${K} button=${a`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${n=>{let i=(l,c)=>{n(),o(l,c)};return a`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>i("shard-move",{shard:s,from:r})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>i("rebuild",{shard:s,node:r})}>Rebuild…</button>`}}<//>`}function Ht(e,{name:t,state:s}){return(e.replicas.includes(t)||e.learners.includes(t))&&(s==="down"||s==="lost")?["!","has a replica, and does not answer","x"]:e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function Vt({operations:e,stores:t,may:s}){let{cancelling:r}=t.operations;return e.length===0?a`<p class="quiet none">No operation is running or stored.</p>`:a`<${x} latest=${r} what="Cancelling" /><ul class="ops">${e.map(o=>{let n=o.state==="running",i=o.total_bytes>0?o.done_bytes/o.total_bytes*100:0,l=[n?o.step:`${o.state} ${Kt(o.ended??o.updated)}`,n&&o.total_bytes>0&&`${T(o.done_bytes)} of ${T(o.total_bytes)}`,n&&o.eta_seconds&&`${M(o.eta_seconds*1e3)} left`,o.reason,o.requested_by&&`requested by ${o.requested_by}`].filter(Boolean);return a`<li data-ui="operation" data-state=${o.state} key=${o.id}><h3>${et(o)}${n&&s&&(o.cancel?a`<span class="text">being cancelled</span>`:a`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(o.id).then(()=>t.health.load())}>Cancel</button>`)}</h3>
${n&&o.total_bytes>0&&a`<div class="bar" style=${{"--p":`${i}%`}}></div>`}<p>${l.join(" \xB7 ")}</p></li>`})}</ul>`}function Kt(e){return`${M(Math.max(0,Date.now()-Date.parse(e)))} ago`}var ye=e=>!Number.isNaN(Date.parse(e)),nt=e=>ye(e)?e:"",Yt={pipeline:null,t:null,kind:null,from:ye,to:ye};function Jt({stores:e}){let{rejects:t,place:s,prefs:r,signIn:o}=e,n=s.here.value.params,i={pipeline:n.get("pipeline")??"",table:n.get("t")??"",kind:n.get("kind")??"",from:nt(n.get("from")??""),to:nt(n.get("to")??"")};_(s.page.value==="rejects"?D(n,Yt):[]);let l=JSON.stringify(i),[c,u]=g(!1),[d,p]=g(-1);y(()=>{document.title="Rejects \xB7 cordwood",p(-1),t.load(i)},[l]);let h=k=>s.set("rejects",{pipeline:i.pipeline,t:i.table,kind:i.kind,from:i.from,to:i.to,...k}),$=t.reasons.value.value,m=t.samples.value.value??[],f=$?.total??0,w=[["pipeline",i.pipeline,{pipeline:""}],["table",i.table,{t:""}],["kind",i.kind,{kind:""}],["time",Zt(i,r.zone.value),{from:"",to:""}]];return a`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${$?.there&&`${b(f)} ${f===1?"record":"records"} that could not be stored${Xt(e)}`}</span><span class="grow"></span>
${w.map(([k,v,L])=>v&&a`<button class="button" aria-label=${`Remove the condition ${k} ${v}`} onClick=${()=>h(L)}>${k} ${v} ✕</button>`)}
${i.pipeline&&a`<a class="button" href=${R("pipelines",{name:i.pipeline})}>Fix in pipeline</a>`}
${f>0&&o.canManage.value&&a`<button class="button main" data-ui="replay" onClick=${()=>u(!0)}>Replay…</button>`}</div>
<${F} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
<${x} latest=${t.reasons} what="Counting the rejects" />
${$&&f===0&&a`<${es} there=${$.there} />`}
${f>0&&a`<${Qt} rejects=${t} zone=${r.zone.value} onZoom=${(k,v)=>h({from:k,to:v})} />
<h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${r.zone.value}</th></tr></thead>
<tbody>${$?.list.map((k,v)=>a`<tr data-ui="reason"><td class="r">${b(k.count)}</td><td class="samples" title=${k.reason}><button class="text" data-ui="reason-open" aria-expanded=${v===d} onClick=${()=>p(v===d?-1:v)}>${E(k.reason.slice(0,300))}</button></td>
<td><button class="text" onClick=${()=>h({kind:k.kind})}>${k.kind}</button></td><td><button class="text" onClick=${()=>h({pipeline:k.pipeline})}>${k.pipeline}</button></td>
<td><button class="text" onClick=${()=>h({t:k.table})}>${k.table}</button></td><td class="opt">${S(k.last,r.zone.value)}</td></tr>
${v===d&&a`<tr class="opened"><td></td><td colspan="5"><${Y} stores=${e} rejects=${[k.newest]} /></td></tr>`}`)}</tbody></table></div>
<h2 class="head">The newest<span class="quiet">${b(m.length)}</span><span class="grow"></span>
<a class="text go" href=${R("explore",{db:"svc_private",t:"rejects",q:i.pipeline?`pipeline=${i.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
<${Y} stores=${e} rejects=${m} />`}
${c&&a`<${ts} stores=${e} wanted=${i} count=${f} onClose=${()=>u(!1)} />`}</div>`}function Zt({from:e,to:t},s){return[e&&`from ${S(e,s)}`,t&&`to ${S(t,s)}`].filter(Boolean).join(" ")}function Xt({tables:e}){let t=e.all.value.find(s=>s.db==="svc_private"&&s.name==="rejects")?.ttl??"";return t&&`; they are kept for ${t.replace(/(\d)([a-z])/gi,"$1 $2")}`}function Qt({rejects:e,zone:t,onZoom:s}){let r=e.overTime.value.value;return r?a`<p class="legend overtime">${r.series.map((o,n)=>a`<span><i style=${{background:Le(o.value,n,!1)}}></i>${o.value}<b>${b(o.counts.reduce((i,l)=>i+l,0))}</b></span>`)}</p>
<${Me} hits=${r} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${s} />`:a`<${x} latest=${e.overTime} what="Counting over time" />`}function es({there:e}){return e?a`<${O} title="No record was rejected."><p>With these conditions, as long as rejects are kept.</p><//>`:a`<${O} title="The server keeps no rejected records.">
<p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
<p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function ts({stores:e,wanted:t,count:s,onClose:r}){let{rejects:o}=e,[n,i]=g({toPipeline:"",toTable:""}),l=o.replay.value,c=l!==null&&!l.end;V(()=>(o.replay.value=null,()=>o.cancel()),[]);let u=l?.end&&l.dry&&!l.error&&l.stored>0,d=(p,h,$)=>a`<label>${h}<input value=${n[p]} placeholder=${$} onInput=${m=>i({...n,[p]:m.currentTarget.value.trim()})} /></label>`;return a`<${U} title=${`Replay ${b(s)} ${s===1?"reject":"rejects"}`} onClose=${r}><div class="asks">
<p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
${d("toPipeline","Pipeline","the one that they were sent to")}${d("toTable","Table","the one that they were sent to")}
${l&&a`<p role="status" class=${l.failed>0?"wrong":""}>${l.error&&l.done===0?"":l.dry?`${b(l.stored)} of ${b(l.of||l.done)} would be stored.`:`${b(l.stored)} stored, ${b(l.failed)} failed again, of ${b(l.of||l.done)}.`} ${l.error}</p>
<div class="bar" style=${{"--p":`${l.of>0?l.done/l.of*100:0}%`}}></div>
${(l.reasons??[]).slice(0,5).map(p=>a`<p class="wrong">${typeof p=="string"?p:`${b(p.count)} \xD7 ${p.reason}`}</p>`)}`}
<p class="acts"><button class=${`button ${u?"":"main"}`} data-ui="replay-try" disabled=${c} onClick=${()=>{o.send({...t,...n},!0)}}>Try it first</button>
<button class=${`button ${u?"main":""}`} data-ui="replay-now" disabled=${c} onClick=${()=>{o.send({...t,...n},!1).then(()=>o.load(t))}}>Replay</button>
${c&&a`<button class="button" data-ui="cancel" onClick=${o.cancel}>Stop</button>`}
<button class="button" onClick=${r}>Close</button></p></div><//>`}var de=(e,t)=>t.map(s=>[s,`${s}, ${e}`]),rt=[...de("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...de("on pipelines",["USE","READ","WRITE"]),...de("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...de("on any of these",["ALL"])],lt=["30d","90d","365d","NEVER"],it={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:s})=>`CREATE USER ${C(t)} PASSWORD ${N(s)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${C(e)} PASSWORD ${N(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:s})=>`ALTER USER CURRENT_USER PASSWORD ${N(s)} OLD ${N(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${C(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${C(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${C(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${C(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${C(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${C(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${C(t)} TO ${C(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>ke(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:s,on:r,expires:o,note:n})=>`CREATE TOKEN ${C(t)} FOR ${s==="query"?"QUERY ON":"INGEST INTO"} ${r} EXPIRES ${o==="NEVER"?"NEVER":`IN ${N(o)}`}${n?` NOTE ${N(n)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${C(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${C(e)}`,typed:!0}},dt="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function ke(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function ct(e,t){let s={...t};for(let[r,,o]of e.asks)o==="password"&&(s[r]="\u2026");return s}function ce({name:e,says:t,asks:s,choices:r,patterns:o={},initial:n={},word:i="",statement:l,latest:c,onRun:u,onClose:d,children:p}){let[h,$]=g(()=>({...Object.fromEntries(s.map(([w,,k])=>[w,k==="column"?"":[r[k]?.[0]??""].flat()[0]])),...n})),m=e.replace("\u2026","");return a`<${se} title=${m} word=${i} action=${i?m:"Run it"} busy=${c.since.value>0} onYes=${()=>c.since.value>0||u(h)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${p}
${s.map(([f,w,k])=>a`<label>${w}<${ss} name=${f} kind=${k} choices=${r[k]} pattern=${o[k]} value=${h[f]} onValue=${v=>$({...h,[f]:v})} /></label>`)}
<pre class="asked">${l(h)}</pre>
<${x} latest=${c} what="The statement" inForm /><//>`}function ss({name:e,kind:t,choices:s,pattern:r,value:o,onValue:n}){let i=l=>n(l.currentTarget.value);if(!s){let[l,c]=t==="password"?["password","new-password"]:["text","off"];return a`<input required=${t!=="text?"} type=${l} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${r} value=${o} onInput=${i} />`}return a`<select required data-ui=${`ask-${e}`} value=${o} onChange=${i}>${t==="column"&&a`<option value="">Choose</option>`}${s.map(l=>[l].flat()).map(([l,c=l])=>a`<option value=${l}>${c}</option>`)}</select>`}function ut({stores:e}){let{access:t}=e,[s,r]=g(null),[o,n]=g(""),[i,l]=g(""),[c,u]=g(null);y(()=>{d()},[o]),y(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(o),t.loadTokens(o)])}function p(w){l(w),t.grants.value.value=null,t.loadGrants(w)}async function h(w,k){let v=await t.change(w);v&&(r(null),v[0]?.Token?u(v[0]):W(`Done: ${k}`),await Promise.all([d(),t.loadRoles(),i&&t.loadGrants(i)]))}let $=(w,k="")=>r({id:w,target:k}),m=e.signIn.session.value?.auth==="token",f=t.users.error.value?.status!==403;return a`<section aria-label="Users and tokens"><h2 class="head">${f?"Users and tokens":"My tokens"}<span class="grow"></span>
${!m&&a`<button class="text" data-ui="own-password" onClick=${()=>$("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${o} onInput=${w=>n(w.currentTarget.value)} /></h2>
${f&&a`<${as} access=${t} onAct=${$} onGrants=${p} grantsOf=${i} />`}
${f&&a`<${os} access=${t} onAct=${$} onGrants=${p} grantsOf=${i} />`}
${i&&a`<${ns} of=${i} access=${t} onAct=${$} />`}
<${rs} access=${t} onAct=${$} />
${s&&a`<${ls} key=${`${s.id} ${s.target}`} id=${s.id} target=${s.target} access=${t} onRun=${h} onClose=${()=>r(null)} />`}
${c&&a`<${is} of=${c} onClose=${()=>u(null)} />`}</section>`}function as({access:e,onAct:t,onGrants:s,grantsOf:r}){let o=e.users.value.value??[];return a`<${ue} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${o.length>0&&a`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><th></th></tr></thead>
<tbody>${o.map(n=>{let i=!n.State.startsWith("disabled");return a`<tr key=${n.User} data-ui="user" data-name=${n.User}><td><b>${n.User}</b></td><td>${n.Roles}</td><td>${n.State}</td><td>${xe(n["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${r===n.User} onClick=${()=>s(n.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",n.User)}>Password…</button>
<button class="text" onClick=${()=>t(i?"disable":"enable",n.User)}>${i?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",n.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function os({access:e,onAct:t,onGrants:s,grantsOf:r}){let o=e.roles.value.value??[];return a`<${ue} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${o.length>0&&a`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th></th></tr></thead>
<tbody>${o.map(n=>{let i=n.State==="built in";return a`<tr key=${n.Role} data-ui="role" data-name=${n.Role}><td><b>${n.Role}</b></td><td>${n.Roles}</td><td>${n.State}</td>
<td class="r"><button class="text" aria-expanded=${r===n.Role} onClick=${()=>s(n.Role)}>Grants</button>
${!i&&a`<button class="text" onClick=${()=>t("dropRole",n.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function ns({of:e,access:t,onAct:s}){let r=t.grants.value.value;return a`<${ue} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>s("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>s("grantRole",e)}>Grant a role…</button><//>
${r&&a`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${r.map(o=>a`<tr key=${o} data-ui="granted"><td class="mono">${o}</td><td class="r">${ke(o)&&a`<button class="text" onClick=${()=>s("revoke",o)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${r?.length===0&&a`<p class="quiet none">${e} has no grants.</p>`}`}function rs({access:e,onAct:t}){let s=e.tokens.value.value??[];return a`<${ue} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${s.length>0&&a`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><th></th></tr></thead>
<tbody>${s.map(r=>a`<tr key=${r.Id} data-ui="token" data-name=${r.Token}><td><b>${r.Token}</b><small>cw_${r.Id}</small></td><td class="mono">${r.Scope}</td><td>${r.State}</td>
<td>${xe(r.Expires)||"never"}</td><td title=${r["Last address"]}>${xe(r["Last used"])}</td><td>${r.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",r.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",r.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function ue({title:e,latest:t,children:s}){let r=t.value.value?.length??0;return a`<h3 class="head">${e}<span class="quiet">${r>=he&&`the first ${he}`}</span><span class="grow"></span>${s}</h3>
<${x} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function ls({id:e,target:t,access:s,onRun:r,onClose:o}){let n=it[e],i=(s.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),l=c=>n.statement(t,ct(n,c));return a`<${ce} name=${n.name} says=${n.says} asks=${n.asks} word=${n.typed?t:""}
choices=${{privileges:rt,role:i,scope:["ingest","query"],lifetime:lt}} patterns=${{target:dt}} initial=${{expires:"90d"}}
statement=${l} latest=${s.action} onRun=${c=>r(n.statement(t,c),l(c))} onClose=${o} />`}function is({of:e,onClose:t}){return a`<${U} title=${`Token ${e.Name}`} onClose=${t}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
<p class="acts"><button class="button main" onClick=${()=>A(e.Token)}>Copy</button><button class="button" data-ui="secret-done" onClick=${t}>Done</button></p><//>`}var xe=e=>e.slice(0,16).replace("T"," ");function ds({stores:e}){let{prefs:t,signIn:s,place:r}=e;_(r.page.value==="settings"?D(r.here.value.params,{}):[]),y(()=>{document.title="Settings \xB7 cordwood"},[]);let o=s.session.value;return a`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${pe} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${pe} label="Times" value=${t.zone} choices=${ps()} ui="zone" />
<${pe} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${pe} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${n=>t.table.value=n.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(n=>n.db==="public").map(n=>a`<option value=${n.name}>${n.name}</option>`)}</select></label>
<${cs} stores=${e} />
<div class="setting"><span>Searches</span><span>${b(t.history.value.length)} kept ${t.history.value.length>0&&a`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${o?.auth==="off"?"This server has no users: everybody may do everything.":a`<b>${o?.user??""}</b>${o?.auth==="token"&&", by a token"}`}</span></div>
${o&&o.auth!=="off"&&a`<div class="setting"><span>May</span><span>${us(o).join(", ")||"nothing"}</span></div>`}
${s.user.value&&a`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>s.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${o&&o.auth!=="off"&&a`<${ut} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${o?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${o?.server?.version}</span></div>
<${$s} api=${e.api} />
</section></div>`}function cs({stores:e}){let{prefs:t,tables:s,api:r}=e,o=s.all.value.filter(d=>d.db==="public"),[n,i]=g(t.table.value),[l]=g(()=>B(G)),c=Ue(t,"public",[n]),u=o.some(d=>d.name===n);return y(()=>{if(!u)return;let d={db:"public",tables:[n],...Fe(c)};l.run(p=>r.json({path:"/v1/explore/fields",body:d,signal:p}))},[n,u,c.message,c.level]),a`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?n:""} onChange=${d=>i(d.currentTarget.value)}>
<option value="">a table</option>${o.map(d=>a`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${x} latest=${l} what="Asking for the columns" />
${u&&l.value.value&&a`<${ze} fields=${l.value.value.fields} roles=${c} onRole=${(d,p)=>t.roles.set(We("public",[n]),{...c,[d]:p})} />`}`}function us(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function ps(){return Object.fromEntries([...new Set([Ne,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function pe({label:e,value:t,choices:s,ui:r}){return a`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${r}><span>${e}</span><span class="choices-in-line">${Object.entries(s).map(([o,n])=>a`<label><input type="radio" name=${e} value=${o} checked=${t.value===o} onChange=${()=>t.value=o} />${n}</label>`)}</span></div>`}function $s({api:e}){let[t]=g(()=>B(G));return y(()=>{t.run(async s=>(await e.send({path:"/config",signal:s,need:["MONITOR","CLUSTER"]})).text())},[]),a`<div class="setting"><span>Started with</span><${x} latest=${t} what="Asking for the settings" />${t.value.value&&a`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var ms=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],hs=["INVERTED","SKIPPING","FULLTEXT"],Te=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${N(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:s})=>`ALTER TABLE ${e} ADD COLUMN ${C(t)} ${s}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:s})=>`ALTER TABLE ${e} MODIFY COLUMN ${C(t)} SET ${s} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${C(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function pt({id:e,db:t,name:s,info:r,fields:o,stores:n,onClose:i}){let{table:l,tables:c,place:u}=n,d=Te.find(h=>h.id===e);async function p(h){let $=d.statement(C(s),h);await l.change(t,$)&&(W(`Done: ${$}`),i(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:h.to}:{db:t},{db:"public"}):await l.load(t,s))}return a`<${ce} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?s:""}
choices=${{type:ms,index:hs,column:o.map(h=>h.name)}} initial=${{ttl:r?.ttl??"",to:s}}
statement=${h=>d.statement(C(s),h)} latest=${l.action} onRun=${p} onClose=${i}>
${d.typed&&r&&a`<p><b>${t}.${s}</b> ${r.sized?`has ${b(r.rows)} ${r.rows===1?"row":"rows"}, ${T(r.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function $t({db:e,name:t,info:s,stores:r,onClose:o}){let{table:n,prefs:i,signIn:l}=r,[c,u]=g("");y(()=>{n.latest.value.value=null,n.load(e,t)},[e,t]);let d=n.latest.value.value,p=i.zone.value,h=e==="svc_private"||e==="information_schema";return a`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!h&&l.canManage.value&&a`<${K} button=${a`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${$=>Te.map(({id:m,name:f})=>a`<button class="choice" data-ui=${`do-${m}`} onClick=${()=>{$(),u(m)}}>${f}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${o}>✕</button></div>
<${F} since=${n.latest.since.value} onCancel=${n.latest.cancel} />
<div class="scrolled">
${s&&a`<${bs} info=${s} lastRow=${d?.fields?d.lastRow??"none":""} zone=${p} />`}
<p class="acts"><a class="text go" href=${R("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${R("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${R("sql",{db:e,q:`SELECT * FROM ${C(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${x} latest=${n.latest} what="Asking for the table" />
${d&&a`${d.refused.map($=>a`<p class="quiet none" data-ui="refused">Something is not shown: ${$.message}.</p>`)}
${d.fields&&a`<${vs} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&a`<${gs} segments=${d.segments} zone=${p} />`}
${d.ddl!==null&&a`<${fs} ddl=${d.ddl} />`}`}
</div>
${c&&a`<${pt} id=${c} db=${e} name=${t} info=${s} fields=${d?.fields??[]} stores=${r} onClose=${()=>u("")} />`}
</section>`}function fs({ddl:e}){return a`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>A(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${He(e).map(t=>t.keyword?a`<b>${t.text}</b>`:t.text)}</pre>`}function bs({info:e,lastRow:t,zone:s}){let r=[["rows",e.sized&&b(e.rows)],["bytes",e.sized&&`${T(e.bytes)}${e.rows>0?`, ${T(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${S(t,s)}, ${M(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return a`<dl>${r.map(([o,n])=>n&&a`<div><dt>${o}</dt><dd>${n}</dd></div>`)}</dl>`}function vs({fields:e,rows:t}){return a`<h3 class="head">Columns<span class="quiet">${b(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(s=>{let r=[...new Set(t.map(o=>Oe(o.v[s.name])).filter(Boolean))];return a`<tr><td>${s.name}${s.role&&a`<small>${s.role}</small>`}</td><td>${s.type}</td><td>${s.index??""}</td>
<td class="r">${Math.round(s.fill*100)} %</td><td class="samples" title=${r.join(", ").slice(0,500)}>${E(r.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function gs({segments:e,zone:t}){if(e.length===0)return a`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let s=Math.min(...e.map(l=>Date.parse(l.from))),r=Math.max(...e.map(l=>Date.parse(l.to))),o=Math.max(...e.map(l=>l.rows)),n=l=>r>s?(Date.parse(l)-s)/(r-s)*100:0,i=e.reduce((l,c)=>l+c.bytes,0);return a`<h3 class="head">Segments<span class="quiet">${b(e.length)}, ${T(i)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${S(e[e.length-1].from,t)} to ${S(e[0].to,t)}`}>${e.map(l=>a`<i key=${l.file} title=${`${b(l.rows)} rows, ${T(l.bytes)}, ${S(l.from,t)} \u2013 ${S(l.to,t)}`}
style=${{left:`${n(l.from)}%`,width:`max(2px, ${n(l.to)-n(l.from)}%)`,height:`${Math.max(4,l.rows/o*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${S(new Date(s).toISOString(),t)}</span><span>${S(new Date(r).toISOString(),t)}</span></p>`}var mt=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function ws({stores:e}){let{tables:t,place:s}=e,r=s.here.value.params,[o,n]=[r.get("db")??"public",r.get("t")??""];_(s.page.value==="tables"?D(r,{db:null,t:null}):[]);let[i,l]=g(""),[c,u]=g({by:"name",down:!1});y(()=>{t.load()},[t]),y(()=>{document.title=n?`${o}.${n} \xB7 cordwood`:"Tables \xB7 cordwood"},[o,n]),y(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(f,w){s.set("tables",{db:f,t:w},{db:"public"})}let p=t.all.value,h=Se(()=>ks(p,i,c),[p,i,c]),$=n?p.find(f=>f.db===o&&f.name===n):void 0,m=t.latest.value.value!==null;return a`<h1 class="hidden">Tables</h1>
<${F} since=${m?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${n?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${i}
onInput=${f=>l(f.currentTarget.value)} />
<span class="quiet">${m&&ys(p,h)}</span></div>
<${x} latest=${t.latest} what="Asking for the tables" />
${m&&p.length===0&&a`<${O} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
<p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
${p.length>0&&a`<${xs} shown=${h} sort=${c} onSort=${u} selected=${$} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${n&&($||!m?a`<${$t} key=${`${o}.${n}`} db=${o} name=${n} info=${$} stores=${e} onClose=${()=>d("","")} />`:a`<section class="pane detail" aria-label="Table"><${O} title=${`There is no table ${o}.${n}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function ys(e,t){let s=t.reduce((o,n)=>o+n.bytes,0);return`${e.length===t.length?`${b(e.length)} ${e.length===1?"table":"tables"}`:`${b(t.length)} of ${b(e.length)} tables`}, ${T(s)}`}function ks(e,t,s){let r=t.trim().toLowerCase(),o=mt.find(([l])=>l===s.by)?.[2]??(l=>`${l.db}.${l.name}`),n=new Intl.Collator("en",{numeric:!0}),i=e.filter(l=>`${l.db}.${l.name}`.toLowerCase().includes(r));return i.sort((l,c)=>{let[u,d]=[o(l),o(c)];return typeof u=="number"&&typeof d=="number"?u-d:n.compare(String(u),String(d))}),s.down?i.reverse():i}function xs({shown:e,sort:t,onSort:s,selected:r,onOpen:o,lastRows:n}){let i=z();y(()=>n.stop,[n]);let l=mt.map(([u,d,p,h])=>{if(!p)return a`<span class=${h}>${d}</span>`;let $=t.by===u;return a`<button class=${h} aria-pressed=${$} title=${`Sort by ${d}`}
onClick=${()=>s({by:u,down:$?!t.down:h.startsWith("r")})}>${d}${$&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],p=d===r;return a`<div class=${`row tablerow ${p?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${p} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>o(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&b(d.rows)}</span><span class="r" role="gridcell">${d.sized&&T(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${n.of(d)}>${Ts(n.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?T(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return a`<div class="tablehead tablerow">${l}</div>
<div class="rows"><${Pe} count=${e.length} height=${i?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{n.see(i?[]:e.slice(u,d))}}
focus=${r?e.indexOf(r):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Ts(e){return e===void 0?"":e?`${M(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function Cs({stores:e}){let{tail:t,prefs:s,tables:r}=e,o=t.state.value,n=z(),[i,l]=g(null);y(()=>{t.clear(),l(null),o.table&&(s.table.value=o.table),t.follow(),document.title=`tail ${o.table} \xB7 cordwood`},[o.db,o.table,o.q]),Ss(t),_(t.ignored.value),y(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>ht(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>l(null)]}),[e]);async function c(m){if(l(m),!m.cut)return;let f=await t.wholeRow(m).catch(()=>null);f&&l(w=>w?.id===m.id?f:w)}let{count:u,dropped:d,still:p}=t.drawn.value,h=t.held.value,$=s.zone.value;return a`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${m=>{m.preventDefault(),t.set({q:t.draft.value})}}
>
<${Be}
db=${o.db}
tables=${o.table?[o.table]:[]}
all=${r.all.value}
single
onPick=${(m,f)=>t.set({db:m,t:f[f.length-1]})}
/>
<${Ge}
text=${t.draft.value}
onText=${m=>t.draft.value=m}
onRun=${()=>t.set({q:t.draft.value})}
fault=${t.draft.value===o.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${s.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!h?"":"bad"}`}></span>${h?`Held at ${ae(h.at,$).time}`:t.live.value?`Live \xB7 ${b(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${h!==null}
onClick=${()=>h?t.release():t.hold()}
>
${h?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${o.wrap}
data-ui="wrap"
onClick=${()=>ht(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${m=>t.most.value=Number(m.currentTarget.value)}
>
${Ke.map(m=>a`<option value=${m}>${b(m)}</option>`)}
</select></label
>
<span class="grow"></span>
${h&&a`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${b(t.fresh())} new rows</button>`}
${d>0&&a`<span class="quiet" data-ui="tail-dropped">${b(d)} older rows are in the table only</span>`}
${p&&a`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${ft(t)}
>Explore this</a
>
</div>
${t.ended.value&&a`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${ft(t)}>Show them in Explore</a></div>`}
${!t.isMissing()&&a`<${x} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${i?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows">
${u===0?a`<${O}
title=${t.isMissing()?`There is no table ${o.table} yet.`:o.table?`Waiting for new rows in ${o.table}.`:"Choose a table to follow."}
>
${t.isMissing()&&a`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${o.table&&!t.isMissing()&&a`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:a`<${oe}
count=${u}
at=${t.at}
shape=${t.shape.value}
columns=${Ee(n,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${$}
density=${s.density.value}
narrow=${n}
label=${`${u} rows, newest last`}
selected=${i?.id??""}
dropped=${d}
follow=${!h}
wrap=${o.wrap}
onEnd=${m=>!m&&t.hold()}
onOpen=${m=>{t.hold(),m.id===i?.id?l(null):c(m)}}
/>`}
</section>
${i&&a`<${Ie}
row=${i}
shape=${t.shape.value}
zone=${$}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${m=>t.set({q:qe(o.q,m)})}
onWithout=${m=>t.set({q:je(o.q,m)})}
onClose=${()=>l(null)}
/>`}
</div>`}function ht(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function ft(e){let{db:t,table:s,q:r}=e.state.value;return R("explore",{db:t,t:s,q:r,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function Ss(e){y(()=>{let t,s=0,r=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{s=Date.now(),e.stop()},3e4);else if(s){let n=`${Math.ceil((Date.now()-s)/1e3)+30}s`;s=0,e.follow(n)}},o=()=>{let n=getSelection();n&&!n.isCollapsed&&n.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",r),document.addEventListener("selectionchange",o),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",r),document.removeEventListener("selectionchange",o),e.stop()}},[e])}export{Rt as AddPage,Ft as ClusterPage,vt as Compare,yt as Patterns,Jt as RejectsPage,ds as SettingsPage,ws as TablesPage,Cs as TailPage};
