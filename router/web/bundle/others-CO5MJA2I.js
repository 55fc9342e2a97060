import{$ as Be,A as Se,B as F,D as Oe,E as Re,F as _e,G as Ee,H as S,I as De,J as Q,K as ce,L as Ae,M as Ne,N as Pe,P as qe,Q as je,R as Le,S as Ie,T as Me,U as We,V as Fe,X as Ue,Y as ze,Z as C,_ as A,a as v,aa as U,b as y,ba as z,c as G,ca as ue,d as ye,da as Ge,e as ke,f as a,g as f,h as T,i as I,j as _,l as xe,m as Z,n as Te,o as de,p as E,q as M,r as X,s as H,t as R,v as D,w as k,x as Ce,y as W,z as O}from"./chunk-SDK2F7YX.js";var pt=8;function $t({stores:e}){let{analysis:t,explore:s,prefs:o}=e,n=t.sets.value,r=o.zone.value,{q:l,bq:i}=s.state.value,[c,u]=v(i);y(()=>{t.compare()},[JSON.stringify(n),l]);let d=t.comparison.value.value,$=d!==null&&(d.a.rows===0||d.b.rows===0);return a`<div class="comparing" data-ui="compare"><div class="subhead">${n&&a`<span><i class="set-a"></i>A: ${(m=>`${S(m.from,r)} \u2013 ${S(m.to,r).slice(11)}`)(n.a)} <b>${d&&f(d.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${n.rest?"the rest of the range":i?a`the search <code>${i}</code>`:"the range before"} <b>${d&&f(d.b.rows)}</b></span>`}<span class="grow"></span>${(s.state.value.afrom||i)&&a`<button class="text" onClick=${()=>s.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${m=>{m.preventDefault(),s.set({bq:c.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${c} onInput=${m=>u(m.currentTarget.value)} /></form></div>
<${k} latest=${t.comparison} what="Comparing" />
${d?.low&&!$&&a`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${$&&a`<${ht} answer=${d} before=${!n?.rest&&!i} />`}
${d&&!$&&d.fields.length===0&&a`<${O} title="No field differs."><p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&d?"dim":""}`}>${d?.fields.map(m=>a`<${mt} key=${m.name} field=${m} answer=${d} onOnly=${s.only} onWithout=${s.without} />`)}
${d&&(d.same.length>0||d.unique.length>0)&&a`<p class="quiet none">${d.same.length>0&&`Alike in both: ${d.same.join(", ")}. `}${d.unique.length>0&&`Different in each row: ${d.unique.join(", ")}.`}</p>`}</div></div>`}function ht({answer:e,before:t}){let s=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return a`<${O} title="There is nothing to compare."><p>${s} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function mt({field:e,answer:t,onOnly:s,onWithout:o}){let n=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),r=e.kind==="numbers"?n:[...n].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,pt),l=Math.max(1e-4,...r.flatMap(({a:c,b:u})=>[c,u])),i=c=>{let{value:u}=r[c];if(u===null)return ce(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return ce(e.name,String(u));let d=r[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return a`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${r.map(({value:c,a:u,b:d},$)=>a`<li><button class="only" onClick=${()=>c===null?o(i($)):s(i($))} title=${`A ${ee(u)}, B ${ee(d)}; click: only these`}>${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?Number(Number(c).toPrecision(4)):_(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/l*100}%`}}></i><i class="set-b" style=${{width:`${d/l*100}%`}}></i></span><small>${ee(u)}<br />${ee(d)}</small></li>`)}</ul></section>`}function ee(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var He={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function ft({stores:e}){let{analysis:t,explore:s,prefs:o}=e,[n,r]=v("count"),l=s.range.value,i=s.state.value,c=s.fields.value.value?.fields??[],u=c.filter(g=>g.type==="String").map(g=>g.name),d=`${i.db}.${i.tables.join()}=`,$=o.patternFields.value.find(g=>g.startsWith(d))?.slice(d.length)??"",p=u.includes($)?$:"",m=c.length>0&&p===""&&!c.some(g=>g.role==="message");y(()=>{l&&!m&&t.loadPatterns(p)},[l?.from,l?.to,i.q,p,m]);let x=g=>{o.patternFields.value=[d+g,...o.patternFields.value.filter(L=>!L.startsWith(d))]};if(m)return a`<${bt} texts=${u} onChoose=${x} />`;let h=t.patterns.value.value,b=h?h.patterns.reduce((g,L)=>g+L.count,h.other):0,w=[...h?.patterns??[]].sort(He[n][1]);return a`<div class="subhead"><span class="quiet">${h&&`${h.exact?"":"\u2248 "}${f(b)} rows as ${f(h.patterns.length)} patterns of`}</span>
${h&&a`<select aria-label="Text whose patterns are shown" value=${p||h.field} onChange=${g=>x(g.currentTarget.value)}>${[...new Set([h.field,...u])].map(g=>a`<option value=${g}>${g}</option>`)}</select>`}<span class="grow"></span>
<span role="group" aria-label="Order" class="orders">${Object.entries(He).map(([g,[L]])=>a`<button class="text" aria-pressed=${g===n} onClick=${()=>r(g)}>${L}</button>`)}</span></div>
<${k} latest=${t.patterns} what="Looking for patterns" />
${h&&h.patterns.length===0&&a`<${O} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&h?"dim":""}`}>${w.map(g=>a`<${gt} key=${g.pattern} pattern=${g} total=${b} zone=${o.zone.value} exact=${h?.exact!==!1}
onOnly=${()=>s.only(g.query,{view:"rows"})} onWithout=${()=>s.search(`${i.q} -(${g.query})`.trim())} />`)}</ul>
${h&&h.other>0&&a`<div class="foot"><span>${f(h.other)} rows have none of these patterns</span></div>`}`}function bt({texts:e,onChoose:t}){return e.length===0?a`<${O} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:a`<${O} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(s=>a`<button class="button" data-ui="pattern-field" onClick=${()=>t(s)}>${s}</button> `)}</p><//>`}function gt({pattern:e,total:t,zone:s,exact:o,onOnly:n,onWithout:r}){let l=t>0?e.count/t*100:0,i=Oe.find(u=>e.levels[u]>0&&Re(u))??"",c=e.before===0?"new":`${f(e.before)} before`;return a`<li data-ui="pattern" class=${i}>
<span class="count">${o?"":"\u2248 "}${f(e.count)}<small>${l<.1?"< 0.1":l.toFixed(1)} %</small></span>
<${vt} counts=${e.spark} level=${i} />
<button class="only" title=${e.example.text.slice(0,500)} onClick=${n}>${e.pattern.split("\u27E8*\u27E9").map((u,d)=>a`${d>0&&a`<i>⟨*⟩</i>`}${u}`)}</button>
<small class=${`wide ${e.before===0?"fresh":""}`}>${c}</small><small class="wide">since ${S(e.first,s).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${e.pattern.slice(0,60)}`} title="Hide these rows" onClick=${r}>−</button></li>`}function vt({counts:e,level:t}){let s=Math.max(1,...e),o=e.map((n,r)=>n>0?`M${r*3+1} 18v-${Math.max(1,n/s*16).toFixed(1)}`:"").join("");return a`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true"><path d=${o} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function V({stores:e,rejects:t}){return a`<ul class="rejectlist">${t.map(s=>a`<li data-ui="reject"><p class="mono">${_(s.record.slice(0,500))}</p><p class="why">${_(s.error.slice(0,500))}</p>
<p class="quiet">${S(s.at,e.prefs.zone.value)} · ${s.pipeline} → ${s.table} · ${s.format} ·${" "}
<button class="text go" onClick=${()=>wt(e,s)}>Fix in pipeline</button></p></li>`)}</ul>`}async function wt({pipelines:e,place:t},s){await e.open(s.pipeline,""),e.setSamples([s.record,...e.samples.value.filter(o=>o!==s.record)]),t.set("pipelines",{name:s.pipeline,t:s.table})}function K(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function te(e,t){return K(e)+(e.pipeline===N?`&custom_time_index=${t}`:"")}var N="svc_identity";function se(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===N?"":` --pipeline ${e.pipeline}`}`}function pe(e){return e.user?`export CORDWOOD_USER=${Z(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Ve(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==N&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function B(e){return Ve(e).map(([t,s])=>`${t}: ${P(s)}`).join(", ")}function $e(e){return Ve(e).map(([t,s])=>`"${t}" = "${s}"`).join(", ")}function P(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var yt={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function he({db:e,table:t,pipeline:s}){for(let[o,n]of[["database",e],["table",t],["pipeline",s]])if(!yt[o].test(n))return`\u201C${n}\u201D cannot be the name of a ${o}. Use letters, digits, and the characters _ . : -`;return""}function q(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function me(e,t){let s=e.split(`
`).find(o=>o.startsWith(`${t} = "`));return s?s.slice(t.length+4,s.lastIndexOf('"')):""}function fe(e,t,s){let{host:o,port:n,secure:r}=q(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${o}
      port: ${n}${r?`
      tls: on`:""}
      uri: ${te(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===N?"iso8601":s}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${P(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function be(...e){return t=>{let s=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==N&&`pipeline=${t.pipeline}`];return e.map(o=>`${o}?${s.filter(Boolean).join("&")}`).join(",")}}var Ke=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:be("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${q(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:be("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${q(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:be("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${q(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${q(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${B(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var ae=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${K(e)}' \\
     ${e.user?`-u ${Z(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${pe(e)}cordwood ingest --server ${e.origin} ${se(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${pe(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${se(e)}${e.pipeline===N?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${K(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${P(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>fe(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>fe(e,`  inputs:
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
  endpoint ${te(e,"time;epoch;ms")}
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
    url => "${te(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
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
    url("${K(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${se(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${P(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${B(e)}}
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
    headers             = {${$e(e)}}
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
    headers: {${B(e)}}${e.user?`
    basic_auth: {username: ${P(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:s,secure:o}=q(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${o?"https":"http"}://${t}:${s}/v1/elasticsearch"]${e.user?`
  username: ${P(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${B(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${$e(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===N?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${P(e.table)}
        splunk-format: json`},...Ke];function kt({stores:e}){let{adding:t,place:s,signIn:o}=e,n=s.here.value.params,r=ae.find(p=>p.id===n.get("sender"))??ae[0],[l,i,c]=[n.get("db")||"public",n.get("t")||"app",n.get("pipeline")||"svc_identity"];y(()=>{document.title="Add data \xB7 cordwood"},[]),y(()=>{let p=setTimeout(()=>{t.follow(l,i)},300);return()=>{clearTimeout(p),t.stop()}},[l,i]);let u=p=>s.set("add",{sender:r.id,t:i,db:l,pipeline:c,...p},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=he({db:l,table:i,pipeline:c})||r.lacks?.({db:l,table:i,pipeline:c})||"",$=d?"":r.text({origin:location.origin,db:l,table:i,pipeline:c,user:o.user.value});return a`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${o.session.value?.can_write===!1&&a`<p class="wrong none" data-ui="may-not">Your user may not store rows: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${i} onInput=${p=>u({t:Ye(p)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${p=>u({pipeline:Ye(p)})} /></label>
<${Tt} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${ae.map(p=>a`<button class="text" aria-pressed=${p===r} data-ui=${`sender-${p.id}`} onClick=${()=>u({sender:p.id})}>${p.name}</button>`)}</nav>
${r.port&&!d&&a`<${xt} api=${e.api} flag=${r.port.flag} value=${r.port.text({origin:location.origin,db:l,table:i,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${r.name}><div class="head"><h2>${r.name}</h2><span class="quiet">${r.file}</span><span class="grow"></span>
${!d&&a`<button class="button" onClick=${()=>D($)}>Copy</button>`}</div>
${d?a`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:a`<pre data-ui="snippet" tabindex="0">${$}</pre>`}
${r.note&&a`<p class="quiet none">${r.note}</p>`}
${o.user.value&&a`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${o.session.value?.auth==="token"?"a token that may store rows":`the password of ${o.user.value}`}.</p>`}</section>
<${Ct} adding=${t} to=${{db:l,table:i,pipeline:c}} />
<${St} stores=${e} db=${l} table=${i} />
<${Et} key=${`${l}.${i}`} stores=${e} db=${l} table=${i} />
</div>`}function xt({api:e,flag:t,value:s}){let[o,n]=v("");y(()=>{e.send({path:"/config"}).then(async i=>n(await i.text()),()=>{})},[]);let r=me(o,t),l=`cordwood serve --${t} ${Te(s)}`;return a`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${r?`It listens at ${r}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>D(l)}>Copy</button></div><pre tabindex="0">${l}</pre></section>`}function Ye(e){return e.currentTarget.value.trim()}function Tt({api:e}){let[t,s]=v([]);return y(()=>{e.json({path:"/v1/pipelines"}).then(o=>s(o.pipelines.map(n=>n.name)),()=>{})},[]),a`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(o=>a`<option value=${o}></option>`)}</datalist>`}function Ct({adding:e,to:t}){let[s,o]=v(!1),n=ye(null),r=i=>i?.[0]&&void e.send(i[0],t),l=e.sending.value;return a`<section class=${`drop ${s?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),o(!0)}}
onDragLeave=${()=>o(!1)}
onDrop=${i=>{i.preventDefault(),o(!1),r(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>n.current?.click()}>Choose a file</button>
<input ref=${n} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>{let c=i.currentTarget;r(c.files),c.value=""}} /></p>
${l&&a`<p role="status">${l.name}: ${T(l.sent)} of ${T(l.size)}, ${f(l.rows)} ${l.rows===1?"row":"rows"} stored${l.done?l.error?`. ${l.error}`:", done.":"\u2026"} ${!l.done&&a`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${l.size>0?l.sent/l.size*100:100}%`}}></div>
${l.refused>0&&a`<p class="wrong">${f(l.refused)} ${l.refused===1?"record was":"records were"} refused${l.refused>l.reasons.length&&", for example"}:</p>`}
${l.reasons.map(i=>a`<p class="wrong">${_(i)}</p>`)}`}
</section>`}function St({stores:e,db:t,table:s}){let{adding:o,api:n,prefs:r}=e,l=F(),[i]=v(()=>U(z)),c=o.rows.value,u=c.length>0;if(y(()=>{u&&i.run($=>n.json({path:"/v1/explore/fields",body:{db:t,tables:[s]},signal:$}))},[u,t,s]),!u)return a`<section class="first" aria-live="polite" data-ui="first-row"><${Dt} table=${s} /></section>`;let d=i.value.value;return a`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${f(o.count.value)} ${o.count.value===1?"row":"rows"} arrived in ${s}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map($=>$.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${R("explore",{db:t,t:s},{db:"public"})}>Open in Explore</a></div>
<${Q} count=${c.length} at=${$=>c[$]} shape=${Be(d)} columns=${[]} marks=${null} zone=${r.zone.value}
density=${r.density.value} narrow=${l} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var Ot=10,Rt=3e3,_t=6e4;function Et({stores:e,db:t,table:s}){let[o]=v(()=>U(z));y(()=>{let r=Date.now()-_t,l=()=>document.visibilityState==="visible"&&void o.run(c=>e.rejects.newest({db:t,table:s,since:r},c));l();let i=setInterval(l,Rt);return()=>{clearInterval(i),o.cancel()}},[t,s]);let n=o.value.value??[];return n.length===0?null:a`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${n.length===5?"Newest rejected records":`${f(n.length)} rejected ${n.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${R("rejects",{t:s})}>All rejects of ${s}</a></div>
<${V} stores=${e} rejects=${n} /></section>`}function Dt({table:e}){let[t]=v(Date.now()),s=Ce(1e3),o=Math.floor((s-t)/1e3);return a`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${o} s</p>
${o>=Ot&&a`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var j=()=>"",Y={name:"node",label:"Node",kind:"node"},ne={name:"shard",label:"Shard",kind:"shard"},J=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[Y,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:j,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[Y],word:j,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[Y],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[Y],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:j,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[ne,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:j,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[ne,{name:"replicas",label:"Replicas",kind:"number"}],word:j,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[ne,Y],word:j,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[ne],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:j,request:e=>({kind:"table-move",table:e.table,to_shards:At(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:j,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function At(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}function Je(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,s=>s.toUpperCase())}}function Ze({id:e,given:t,state:s,stores:o,onClose:n}){let{operations:r,health:l,tables:i}=o,c=J.find(b=>b.id===e),[u,d]=v({count:"1",replicas:String(s.replication),partitions:"2",...t});G(()=>r.clear(),[]);let $=r.asks.value,p=r.start.value.value,m=$||c.word(u);async function x(){if(r.start.since.value>0)return;let b=c.request(u);await r.begin($?{...b,confirm:$}:b)&&(E(r.start.value.value?.message||"The operation has started."),n(),await l.load())}let h=b=>w=>d({...u,[b]:w});return a`<${X} key=${$} title=${c.name.replace("\u2026","")} word=${m} action="Begin" busy=${r.start.since.value>0} onYes=${x} onClose=${n}>
<p>${c.says}</p>
${c.asks.map(b=>a`<label class=${b.kind==="check"?"check":""}>${b.kind!=="check"&&b.label}<${Pt} asked=${b} value=${u[b.name]??""} state=${s} tables=${i.all.value} onValue=${h(b.name)} />${b.kind==="check"&&b.label}</label>`)}
<${Nt} values=${u} state=${s} tables=${i.all.value} />
${$&&p?.message&&a`<p class="wrong" role="alert">${p.message}</p>`}
<${k} latest=${r.start} what="Beginning it" inForm /><//>`}function Nt({values:e,state:t,tables:s}){let o=t.nodes.find(i=>i.name===(e.shard?"":e.node)),n=t.shards.find(i=>String(i.id)===e.shard),r=s.find(i=>`${i.db}.${i.name}`===e.table),l=n?`Shard ${n.id} has ${T(n.bytes)} on disk.`:o?`${o.name} has ${o.replicas} replicas with ${T(o.bytes)}, and leads ${o.leads} shards.`:r?`${e.table} has ${T(r.bytes)}.`:"";return l&&a`<p class="quiet">${l}</p>`}function Pt({asked:e,value:t,state:s,tables:o,onValue:n}){let r=c=>n(c.currentTarget.value),l=`act-${e.name}`;if(e.kind==="check")return a`<input type="checkbox" data-ui=${l} checked=${t==="yes"} onChange=${()=>n(t==="yes"?"":"yes")} />`;if(e.kind==="number")return a`<input type="number" data-ui=${l} required min="1" max="64" value=${t} onInput=${r} />`;if(e.kind==="shards")return a`<input required data-ui=${l} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${r} />`;let i={node:()=>s.nodes.map(c=>c.name),shard:()=>s.shards.map(c=>String(c.id)),table:()=>o.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return a`<select required data-ui=${l} value=${t} onChange=${r}><option value="">Choose</option>${i.map(c=>a`<option value=${c}>${c}</option>`)}</select>`}function Xe({state:e,onClose:t}){let[s]=v(()=>new Set(e.nodes.map(l=>l.id))),o=e.nodes.filter(l=>!s.has(l.id)),r=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(l=>l.rpc_addr).join(",")}`].join(` \\
  `);return a`<${M} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${r}</pre>
<p role="status" data-ui="joined">${o.length===0?a`<span class="dot waiting"></span> Waiting for it to join…`:`${o.map(l=>l.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>D(r)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function Qe({stores:e,onClose:t}){let{operations:s,health:o}=e;G(()=>{s.clear(),s.loadPlan()},[]);let n=s.plan.value.value;async function r(l){s.start.since.value>0||await s.begin({kind:l})&&(E(s.start.value.value?.message||"Started."),await o.load(),t())}return a`<${M} title="Rebalance" onClose=${t}><div class="asks">
<${k} latest=${s.plan} what="Asking for the plan" />
${!n&&!s.plan.error.value&&a`<p class="quiet" role="status">Asking what would move…</p>`}
${n&&n.moves.length===0&&a`<p>Nothing would move: ${(n.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${n&&n.moves.length>0&&a`<p>${n.moves.length} replicas would move, ${T(n.moves.reduce((l,i)=>l+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${n.moves.map(l=>a`<tr><td>${l.shard}</td><td>${l.from}</td><td>${l.to}</td><td class="r">${T(l.bytes)}</td><td>${l.reason}</td></tr>`)}</tbody></table></div>`}
${n?.blocked.map(l=>a`<p class="wrong">${l}</p>`)}
<${k} latest=${s.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!n||n.moves.length===0} onClick=${()=>r("rebalance")}>Begin</button>
${n&&a`<button class="button" data-ui="pause" onClick=${()=>r(n.paused?"rebalance-resume":"rebalance-pause")}>${n.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function qt({stores:e}){let{health:t,signIn:s,operations:o}=e;y(()=>{document.title="Cluster \xB7 cordwood";let p=()=>{document.visibilityState==="visible"&&(t.load(),o.loadList())};o.loadList();let m=setInterval(p,2e3);return()=>clearInterval(m)},[t]);let[n,r]=v({id:"",given:{}}),l=t.value.value;if(!l)return a`<h1 class="hidden">Cluster</h1><${k} latest=${t} what="Asking for the state of the cluster" />`;let i=l.health==="ok",c=s.canManage.value,u=((p,m={})=>r({id:p,given:m})),d=()=>r({id:"",given:{}}),$=l.failure_tolerance;return a`<div class="scrolled">
<div class="state"><h1>${i?"The cluster is healthy":a`The cluster is <i>${l.health}</i>`}</h1>
<span class="quiet">${$>0?`It survives the loss of ${$} ${$===1?"node":"nodes"}.`:`It survives the loss of no node; ${l.limited_by} limits it.`}</span></div>
<${k} latest=${t} what="Asking for the state of the cluster" />
${l.problems.map(p=>a`<div class="problem"><p><b>${de(p.text)}</b> ${de(p.advice)}</p></div>`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${c&&a`<button class="text wide" data-ui="add-node" onClick=${()=>u("add-node")}>Add a node…</button><${et} group="nodes" first=${["add-node","Add a node\u2026"]} onDo=${u} />`}</h2><div class="wide-table"><table><thead><tr><th>node</th><th>state</th><th>roles</th><th>metadata</th><th class="r">replicas</th><th class="r">leads</th><th>disk</th><th class="opt">version</th></tr></thead>
<tbody>${l.nodes.map(p=>a`<${jt} key=${p.id} node=${p} />`)}</tbody></table></div>
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${c&&a`<button class="text wide" data-ui="rebalance" onClick=${()=>u("rebalance")}>Rebalance…</button><${et} group="shards" first=${["rebalance","Rebalance\u2026"]} onDo=${u} />`}</h2>
<${Lt} state=${l} onDo=${c?u:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations</h2><${Wt} operations=${o.list.value.value??l.operations} stores=${e} may=${c} /></section>
</div></div>
${n.id==="add-node"&&a`<${Xe} state=${l} onClose=${d} />`}
${n.id==="rebalance"&&a`<${Qe} stores=${e} onClose=${d} />`}
${J.some(p=>p.id===n.id)&&a`<${Ze} id=${n.id} given=${n.given} state=${l} stores=${e} onClose=${d} />`}`}function jt({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0;return a`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${e.silent_seconds>10&&` silent for ${Math.round(e.silent_seconds)} s`}</td>
<td>${e.roles.join(", ")}</td><td>${e.meta}</td><td class="r">${f(e.replicas)}</td><td class="r">${f(e.leads)}</td>
<td><span class=${`disk ${t>85?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span>${T(e.disk_used)} of ${T(e.disk_capacity)}</td>
<td class="opt">${e.version}</td></tr>`}function et({group:e,first:t,onDo:s}){return a`<${H} button=${a`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${o=>[{id:t[0],name:t[1]},...J.filter(n=>n.group===e)].map(({id:n,name:r},l)=>a`<button class=${`choice ${l===0?"narrow-only":""}`} data-ui=${`do-${n}`} onClick=${()=>{o(),s(n)}}>${r}</button>`)}<//>`}function Lt({state:e,onDo:t}){let s=e.nodes.filter(o=>o.roles.includes("shard"));return a`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${s.map(o=>a`<th>${o.name}</th>`)}<th class="r opt">lag</th><th class="r">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(o=>a`<tr key=${o.id}><td>shard ${o.id}</td>${s.map(n=>{let[r,l,i]=Mt(o,n),c=`shard ${o.id} on ${n.name}: ${l}`;return a`<td class=${i} data-ui="shard-cell" title=${c}>${t&&r!=="\xB7"?a`<${It} letter=${r} says=${c} shard=${String(o.id)} node=${n.name} onDo=${t} />`:r}</td>`})}<td class="r opt">${f(o.lag)}</td><td class="r">${T(o.bytes)}</td><td><span class=${o.state==="ok"?"":"bad"}>${o.state}</span></td></tr>`)}</tbody></table></div>`}function It({letter:e,says:t,shard:s,node:o,onDo:n}){return a`<${H} button=${a`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell">${r=>{let l=(i,c)=>{r(),n(i,c)};return a`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>l("shard-move",{shard:s,from:o})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>l("rebuild",{shard:s,node:o})}>Rebuild…</button>`}}<//>`}function Mt(e,{name:t,state:s}){return(e.replicas.includes(t)||e.learners.includes(t))&&(s==="down"||s==="lost")?["!","has a replica, and does not answer","x"]:e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function Wt({operations:e,stores:t,may:s}){let{cancelling:o}=t.operations;return e.length===0?a`<p class="quiet none">No operation is running or stored.</p>`:a`<${k} latest=${o} what="Cancelling" /><ul class="ops">${e.map(n=>{let r=n.state==="running",l=n.total_bytes>0?n.done_bytes/n.total_bytes*100:0,i=[r?n.step:`${n.state} ${Ft(n.ended??n.updated)}`,r&&n.total_bytes>0&&`${T(n.done_bytes)} of ${T(n.total_bytes)}`,r&&n.eta_seconds&&`${I(n.eta_seconds*1e3)} left`,n.reason,n.requested_by&&`requested by ${n.requested_by}`].filter(Boolean);return a`<li data-ui="operation" data-state=${n.state} key=${n.id}><h3>${Je(n)}${r&&s&&(n.cancel?a`<span class="text">being cancelled</span>`:a`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(n.id).then(()=>t.health.load())}>Cancel</button>`)}</h3>
${r&&n.total_bytes>0&&a`<div class="bar" style=${{"--p":`${l}%`}}></div>`}<p>${i.join(" \xB7 ")}</p></li>`})}</ul>`}function Ft(e){return`${I(Math.max(0,Date.now()-Date.parse(e)))} ago`}function Ut({stores:e}){let{rejects:t,place:s,prefs:o,signIn:n}=e,r=s.here.value.params,l={pipeline:r.get("pipeline")??"",table:r.get("t")??"",kind:r.get("kind")??"",from:r.get("from")??"",to:r.get("to")??""},i=JSON.stringify(l),[c,u]=v(!1),[d,$]=v(-1);y(()=>{document.title="Rejects \xB7 cordwood",$(-1),t.load(l)},[i]);let p=w=>s.set("rejects",{pipeline:l.pipeline,t:l.table,kind:l.kind,from:l.from,to:l.to,...w}),m=t.reasons.value.value,x=t.samples.value.value??[],h=m?.total??0,b=[["pipeline",l.pipeline,{pipeline:""}],["table",l.table,{t:""}],["kind",l.kind,{kind:""}],["time",zt(l,o.zone.value),{from:"",to:""}]];return a`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${m?.there&&`${f(h)} ${h===1?"record":"records"} that could not be stored${Bt(e)}`}</span><span class="grow"></span>
${b.map(([w,g,L])=>g&&a`<button class="button" aria-label=${`Remove the condition ${w} ${g}`} onClick=${()=>p(L)}>${w} ${g} ✕</button>`)}
${l.pipeline&&a`<a class="button" href=${R("pipelines",{name:l.pipeline})}>Fix in pipeline</a>`}
${h>0&&n.canManage.value&&a`<button class="button main" data-ui="replay" onClick=${()=>u(!0)}>Replay…</button>`}</div>
<${W} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
<${k} latest=${t.reasons} what="Counting the rejects" />
${m&&h===0&&a`<${Ht} there=${m.there} />`}
${h>0&&a`<${Gt} rejects=${t} zone=${o.zone.value} onZoom=${(w,g)=>p({from:w,to:g})} />
<h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${o.zone.value}</th></tr></thead>
<tbody>${m?.list.map((w,g)=>a`<tr data-ui="reason"><td class="r">${f(w.count)}</td><td class="samples" title=${w.reason}><button class="text" data-ui="reason-open" aria-expanded=${g===d} onClick=${()=>$(g===d?-1:g)}>${_(w.reason.slice(0,300))}</button></td>
<td><button class="text" onClick=${()=>p({kind:w.kind})}>${w.kind}</button></td><td><button class="text" onClick=${()=>p({pipeline:w.pipeline})}>${w.pipeline}</button></td>
<td><button class="text" onClick=${()=>p({t:w.table})}>${w.table}</button></td><td class="opt">${S(w.last,o.zone.value)}</td></tr>
${g===d&&a`<tr class="opened"><td></td><td colspan="5"><${V} stores=${e} rejects=${[w.newest]} /></td></tr>`}`)}</tbody></table></div>
<h2 class="head">The newest<span class="quiet">${f(x.length)}</span><span class="grow"></span>
<a class="text go" href=${R("explore",{db:"svc_private",t:"rejects",q:l.pipeline?`pipeline=${l.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
<${V} stores=${e} rejects=${x} />`}
${c&&a`<${Vt} stores=${e} wanted=${l} count=${h} onClose=${()=>u(!1)} />`}</div>`}function zt({from:e,to:t},s){return[e&&`from ${S(e,s)}`,t&&`to ${S(t,s)}`].filter(Boolean).join(" ")}function Bt({tables:e}){let t=e.all.value.find(s=>s.db==="svc_private"&&s.name==="rejects")?.ttl??"";return t&&`; they are kept for ${t.replace(/(\d)([a-z])/gi,"$1 $2")}`}function Gt({rejects:e,zone:t,onZoom:s}){let o=e.overTime.value.value;return o?a`<p class="legend overtime">${o.series.map((n,r)=>a`<span><i style=${{background:qe(n.value,r,!1)}}></i>${n.value}<b>${f(n.counts.reduce((l,i)=>l+i,0))}</b></span>`)}</p>
<${je} hits=${o} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${s} />`:a`<${k} latest=${e.overTime} what="Counting over time" />`}function Ht({there:e}){return e?a`<${O} title="No record was rejected."><p>With these conditions, as long as rejects are kept.</p><//>`:a`<${O} title="The server keeps no rejected records.">
<p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
<p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function Vt({stores:e,wanted:t,count:s,onClose:o}){let{rejects:n}=e,[r,l]=v({toPipeline:"",toTable:""}),i=n.replay.value,c=i!==null&&!i.end;G(()=>(n.replay.value=null,()=>n.cancel()),[]);let u=i?.end&&i.dry&&!i.error,d=($,p,m)=>a`<label>${p}<input value=${r[$]} placeholder=${m} onInput=${x=>l({...r,[$]:x.currentTarget.value.trim()})} /></label>`;return a`<${M} title=${`Replay ${f(s)} rejects`} onClose=${o}><div class="asks">
<p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
${d("toPipeline","Pipeline","the one that they were sent to")}${d("toTable","Table","the one that they were sent to")}
${i&&a`<p role="status" class=${i.failed>0?"wrong":""}>${i.error&&i.done===0?"":i.dry?`${f(i.stored)} of ${f(i.of||i.done)} would be stored.`:`${f(i.stored)} stored, ${f(i.failed)} failed again, of ${f(i.of||i.done)}.`} ${i.error}</p>
<div class="bar" style=${{"--p":`${i.of>0?i.done/i.of*100:0}%`}}></div>
${(i.reasons??[]).slice(0,5).map($=>a`<p class="wrong">${typeof $=="string"?$:`${f($.count)} \xD7 ${$.reason}`}</p>`)}`}
<p class="acts"><button class=${`button ${u?"":"main"}`} data-ui="replay-try" disabled=${c} onClick=${()=>{n.send({...t,...r},!0)}}>Try it first</button>
<button class=${`button ${u?"main":""}`} data-ui="replay-now" disabled=${c} onClick=${()=>{n.send({...t,...r},!1).then(()=>n.load(t))}}>Replay</button>
${c&&a`<button class="button" data-ui="cancel" onClick=${n.cancel}>Stop</button>`}
<button class="button" onClick=${o}>Close</button></p></div><//>`}var oe=(e,t)=>t.map(s=>[s,`${s}, ${e}`]),tt=[...oe("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...oe("on pipelines",["USE","READ","WRITE"]),...oe("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...oe("on any of these",["ALL"])],st=["30d","90d","365d","NEVER"],at={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:s})=>`CREATE USER ${C(t)} PASSWORD ${A(s)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${C(e)} PASSWORD ${A(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:s})=>`ALTER USER CURRENT_USER PASSWORD ${A(s)} OLD ${A(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${C(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${C(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${C(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${C(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${C(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${C(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${C(t)} TO ${C(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>ge(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:s,on:o,expires:n,note:r})=>`CREATE TOKEN ${C(t)} FOR ${s==="query"?"QUERY ON":"INGEST INTO"} ${o} EXPIRES ${n==="NEVER"?"NEVER":`IN ${A(n)}`}${r?` NOTE ${A(r)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${C(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${C(e)}`,typed:!0}},nt="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function ge(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function ot(e,t){let s={...t};for(let[o,,n]of e.asks)n==="password"&&(s[o]="\u2026");return s}function re({name:e,says:t,asks:s,choices:o,patterns:n={},initial:r={},word:l="",statement:i,latest:c,onRun:u,onClose:d,children:$}){let[p,m]=v(()=>({...Object.fromEntries(s.map(([b,,w])=>[b,w==="column"?"":[o[w]?.[0]??""].flat()[0]])),...r})),x=e.replace("\u2026","");return a`<${X} title=${x} word=${l} action=${l?x:"Run it"} busy=${c.since.value>0} onYes=${()=>c.since.value>0||u(p)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${$}
${s.map(([h,b,w])=>a`<label>${b}<${Kt} name=${h} kind=${w} choices=${o[w]} pattern=${n[w]} value=${p[h]} onValue=${g=>m({...p,[h]:g})} /></label>`)}
<pre class="asked">${i(p)}</pre>
<${k} latest=${c} what="The statement" inForm /><//>`}function Kt({name:e,kind:t,choices:s,pattern:o,value:n,onValue:r}){let l=i=>r(i.currentTarget.value);if(!s){let[i,c]=t==="password"?["password","new-password"]:["text","off"];return a`<input required=${t!=="text?"} type=${i} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${o} value=${n} onInput=${l} />`}return a`<select required data-ui=${`ask-${e}`} value=${n} onChange=${l}>${t==="column"&&a`<option value="">Choose</option>`}${s.map(i=>[i].flat()).map(([i,c=i])=>a`<option value=${i}>${c}</option>`)}</select>`}function rt({stores:e}){let{access:t}=e,[s,o]=v(null),[n,r]=v(""),[l,i]=v(""),[c,u]=v(null);y(()=>{d()},[n]),y(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(n),t.loadTokens(n)])}function $(b){i(b),t.grants.value.value=null,t.loadGrants(b)}async function p(b,w){let g=await t.change(b);g&&(o(null),g[0]?.Token?u(g[0]):E(`Done: ${w}`),await Promise.all([d(),t.loadRoles(),l&&t.loadGrants(l)]))}let m=(b,w="")=>o({id:b,target:w}),x=e.signIn.session.value?.auth==="token",h=t.users.error.value?.status!==403;return a`<section aria-label="Users and tokens"><h2 class="head">${h?"Users and tokens":"My tokens"}<span class="grow"></span>
${!x&&a`<button class="text" data-ui="own-password" onClick=${()=>m("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${n} onInput=${b=>r(b.currentTarget.value)} /></h2>
${h&&a`<${Yt} access=${t} onAct=${m} onGrants=${$} grantsOf=${l} />`}
${h&&a`<${Jt} access=${t} onAct=${m} onGrants=${$} grantsOf=${l} />`}
${l&&a`<${Zt} of=${l} access=${t} onAct=${m} />`}
<${Xt} access=${t} onAct=${m} />
${s&&a`<${Qt} key=${`${s.id} ${s.target}`} id=${s.id} target=${s.target} access=${t} onRun=${p} onClose=${()=>o(null)} />`}
${c&&a`<${es} of=${c} onClose=${()=>u(null)} />`}</section>`}function Yt({access:e,onAct:t,onGrants:s,grantsOf:o}){let n=e.users.value.value??[];return a`<${le} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${n.length>0&&a`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><th></th></tr></thead>
<tbody>${n.map(r=>{let l=!r.State.startsWith("disabled");return a`<tr key=${r.User} data-ui="user" data-name=${r.User}><td><b>${r.User}</b></td><td>${r.Roles}</td><td>${r.State}</td><td>${ve(r["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${o===r.User} onClick=${()=>s(r.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",r.User)}>Password…</button>
<button class="text" onClick=${()=>t(l?"disable":"enable",r.User)}>${l?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",r.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function Jt({access:e,onAct:t,onGrants:s,grantsOf:o}){let n=e.roles.value.value??[];return a`<${le} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${n.length>0&&a`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th></th></tr></thead>
<tbody>${n.map(r=>{let l=r.State==="built in";return a`<tr key=${r.Role} data-ui="role" data-name=${r.Role}><td><b>${r.Role}</b></td><td>${r.Roles}</td><td>${r.State}</td>
<td class="r"><button class="text" aria-expanded=${o===r.Role} onClick=${()=>s(r.Role)}>Grants</button>
${!l&&a`<button class="text" onClick=${()=>t("dropRole",r.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function Zt({of:e,access:t,onAct:s}){let o=t.grants.value.value;return a`<${le} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>s("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>s("grantRole",e)}>Grant a role…</button><//>
${o&&a`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${o.map(n=>a`<tr key=${n} data-ui="granted"><td class="mono">${n}</td><td class="r">${ge(n)&&a`<button class="text" onClick=${()=>s("revoke",n)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${o?.length===0&&a`<p class="quiet none">${e} has no grants.</p>`}`}function Xt({access:e,onAct:t}){let s=e.tokens.value.value??[];return a`<${le} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${s.length>0&&a`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><th></th></tr></thead>
<tbody>${s.map(o=>a`<tr key=${o.Id} data-ui="token" data-name=${o.Token}><td><b>${o.Token}</b><small>cw_${o.Id}</small></td><td class="mono">${o.Scope}</td><td>${o.State}</td>
<td>${ve(o.Expires)||"never"}</td><td title=${o["Last address"]}>${ve(o["Last used"])}</td><td>${o.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",o.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",o.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function le({title:e,latest:t,children:s}){let o=t.value.value?.length??0;return a`<h3 class="head">${e}<span class="quiet">${o>=ue&&`the first ${ue}`}</span><span class="grow"></span>${s}</h3>
<${k} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function Qt({id:e,target:t,access:s,onRun:o,onClose:n}){let r=at[e],l=(s.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),i=c=>r.statement(t,ot(r,c));return a`<${re} name=${r.name} says=${r.says} asks=${r.asks} word=${r.typed?t:""}
choices=${{privileges:tt,role:l,scope:["ingest","query"],lifetime:st}} patterns=${{target:nt}} initial=${{expires:"90d"}}
statement=${i} latest=${s.action} onRun=${c=>o(r.statement(t,c),i(c))} onClose=${n} />`}function es({of:e,onClose:t}){return a`<${M} title=${`Token ${e.Name}`} onClose=${t}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
<p class="acts"><button class="button main" onClick=${()=>D(e.Token)}>Copy</button><button class="button" data-ui="secret-done" onClick=${t}>Done</button></p><//>`}var ve=e=>e.slice(0,16).replace("T"," ");function ts({stores:e}){let{prefs:t,signIn:s}=e;y(()=>{document.title="Settings \xB7 cordwood"},[]);let o=s.session.value;return a`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${ie} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${ie} label="Times" value=${t.zone} choices=${ns()} ui="zone" />
<${ie} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${ie} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${n=>t.table.value=n.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(n=>n.db==="public").map(n=>a`<option value=${n.name}>${n.name}</option>`)}</select></label>
<${ss} stores=${e} />
<div class="setting"><span>Searches</span><span>${f(t.history.value.length)} kept ${t.history.value.length>0&&a`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${o?.auth==="off"?"This server has no users: everybody may do everything.":a`<b>${o?.user??""}</b>${o?.auth==="token"&&", by a token"}`}</span></div>
${o&&o.auth!=="off"&&a`<div class="setting"><span>May</span><span>${as(o).join(", ")||"nothing"}</span></div>`}
${s.user.value&&a`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>s.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${o&&o.auth!=="off"&&a`<${rt} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${o?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${o?.server?.version}</span></div>
<${os} api=${e.api} />
</section></div>`}function ss({stores:e}){let{prefs:t,tables:s,api:o}=e,n=s.all.value.filter(d=>d.db==="public"),[r,l]=v(t.table.value),[i]=v(()=>U(z)),c=Ie(t,"public",[r]),u=n.some(d=>d.name===r);return y(()=>{if(!u)return;let d={db:"public",tables:[r],...Me(c)};i.run($=>o.json({path:"/v1/explore/fields",body:d,signal:$}))},[r,u,c.message,c.level]),a`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?r:""} onChange=${d=>l(d.currentTarget.value)}>
<option value="">a table</option>${n.map(d=>a`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${k} latest=${i} what="Asking for the columns" />
${u&&i.value.value&&a`<${We} fields=${i.value.value.fields} roles=${c} onRole=${(d,$)=>t.roles.set(Le("public",[r]),{...c,[d]:$})} />`}`}function as(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function ns(){return Object.fromEntries([...new Set([_e,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function ie({label:e,value:t,choices:s,ui:o}){return a`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${o}><span>${e}</span><span class="choices-in-line">${Object.entries(s).map(([n,r])=>a`<label><input type="radio" name=${e} value=${n} checked=${t.value===n} onChange=${()=>t.value=n} />${r}</label>`)}</span></div>`}function os({api:e}){let[t]=v(()=>U(z));return y(()=>{t.run(async s=>(await e.send({path:"/config",signal:s})).text())},[]),a`<div class="setting"><span>Started with</span><${k} latest=${t} what="Asking for the settings" />${t.value.value&&a`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var rs=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],ls=["INVERTED","SKIPPING","FULLTEXT"],we=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${A(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:s})=>`ALTER TABLE ${e} ADD COLUMN ${C(t)} ${s}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:s})=>`ALTER TABLE ${e} MODIFY COLUMN ${C(t)} SET ${s} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${C(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function lt({id:e,db:t,name:s,info:o,fields:n,stores:r,onClose:l}){let{table:i,tables:c,place:u}=r,d=we.find(p=>p.id===e);async function $(p){let m=d.statement(C(s),p);await i.change(t,m)&&(E(`Done: ${m}`),l(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:p.to}:{db:t},{db:"public"}):await i.load(t,s))}return a`<${re} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?s:""}
choices=${{type:rs,index:ls,column:n.map(p=>p.name)}} initial=${{ttl:o?.ttl??"",to:s}}
statement=${p=>d.statement(C(s),p)} latest=${i.action} onRun=${$} onClose=${l}>
${d.typed&&o&&a`<p><b>${t}.${s}</b> ${o.sized?`has ${f(o.rows)} ${o.rows===1?"row":"rows"}, ${T(o.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function it({db:e,name:t,info:s,stores:o,onClose:n}){let{table:r,prefs:l,signIn:i}=o,[c,u]=v("");y(()=>{r.latest.value.value=null,r.load(e,t)},[e,t]);let d=r.latest.value.value,$=l.zone.value,p=e==="svc_private"||e==="information_schema";return a`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!p&&i.canManage.value&&a`<${H} button=${a`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${m=>we.map(({id:x,name:h})=>a`<button class="choice" data-ui=${`do-${x}`} onClick=${()=>{m(),u(x)}}>${h}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${n}>✕</button></div>
<${W} since=${r.latest.since.value} onCancel=${r.latest.cancel} />
<div class="scrolled">
${s&&a`<${ds} info=${s} lastRow=${d?.fields?d.lastRow??"none":""} zone=${$} />`}
<p class="acts"><a class="text go" href=${R("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${R("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${R("sql",{db:e,q:`SELECT * FROM ${C(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${k} latest=${r.latest} what="Asking for the table" />
${d&&a`${d.refused.map(m=>a`<p class="quiet none" data-ui="refused">Something is not shown: ${m.message}.</p>`)}
${d.fields&&a`<${cs} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&a`<${us} segments=${d.segments} zone=${$} />`}
${d.ddl!==null&&a`<${is} ddl=${d.ddl} />`}`}
</div>
${c&&a`<${lt} id=${c} db=${e} name=${t} info=${s} fields=${d?.fields??[]} stores=${o} onClose=${()=>u("")} />`}
</section>`}function is({ddl:e}){return a`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>D(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${ze(e).map(t=>t.keyword?a`<b>${t.text}</b>`:t.text)}</pre>`}function ds({info:e,lastRow:t,zone:s}){let o=[["rows",e.sized&&f(e.rows)],["bytes",e.sized&&`${T(e.bytes)}${e.rows>0?`, ${T(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${S(t,s)}, ${I(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return a`<dl>${o.map(([n,r])=>r&&a`<div><dt>${n}</dt><dd>${r}</dd></div>`)}</dl>`}function cs({fields:e,rows:t}){return a`<h3 class="head">Columns<span class="quiet">${f(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(s=>{let o=[...new Set(t.map(n=>xe(n.v[s.name])).filter(Boolean))];return a`<tr><td>${s.name}${s.role&&a`<small>${s.role}</small>`}</td><td>${s.type}</td><td>${s.index??""}</td>
<td class="r">${Math.round(s.fill*100)} %</td><td class="samples" title=${o.join(", ").slice(0,500)}>${_(o.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function us({segments:e,zone:t}){if(e.length===0)return a`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let s=Math.min(...e.map(i=>Date.parse(i.from))),o=Math.max(...e.map(i=>Date.parse(i.to))),n=Math.max(...e.map(i=>i.rows)),r=i=>o>s?(Date.parse(i)-s)/(o-s)*100:0,l=e.reduce((i,c)=>i+c.bytes,0);return a`<h3 class="head">Segments<span class="quiet">${f(e.length)}, ${T(l)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${S(e[e.length-1].from,t)} to ${S(e[0].to,t)}`}>${e.map(i=>a`<i key=${i.file} title=${`${f(i.rows)} rows, ${T(i.bytes)}, ${S(i.from,t)} \u2013 ${S(i.to,t)}`}
style=${{left:`${r(i.from)}%`,width:`max(2px, ${r(i.to)-r(i.from)}%)`,height:`${Math.max(4,i.rows/n*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${S(new Date(s).toISOString(),t)}</span><span>${S(new Date(o).toISOString(),t)}</span></p>`}var dt=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function ps({stores:e}){let{tables:t,place:s}=e,o=s.here.value.params,[n,r]=[o.get("db")??"public",o.get("t")??""],[l,i]=v(""),[c,u]=v({by:"name",down:!1});y(()=>{t.load()},[t]),y(()=>{document.title=r?`${n}.${r} \xB7 cordwood`:"Tables \xB7 cordwood"},[n,r]),y(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(h,b){s.set("tables",{db:h,t:b},{db:"public"})}let $=t.all.value,p=ke(()=>hs($,l,c),[$,l,c]),m=r?$.find(h=>h.db===n&&h.name===r):void 0,x=t.latest.value.value!==null;return a`<h1 class="hidden">Tables</h1>
<${W} since=${x?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${r?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${l}
onInput=${h=>i(h.currentTarget.value)} />
<span class="quiet">${x&&$s($,p)}</span></div>
<${k} latest=${t.latest} what="Asking for the tables" />
${x&&$.length===0&&a`<${O} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
<p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
${$.length>0&&a`<${ms} shown=${p} sort=${c} onSort=${u} selected=${m} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${r&&(m||!x?a`<${it} key=${`${n}.${r}`} db=${n} name=${r} info=${m} stores=${e} onClose=${()=>d("","")} />`:a`<section class="pane detail" aria-label="Table"><${O} title=${`There is no table ${n}.${r}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function $s(e,t){let s=t.reduce((n,r)=>n+r.bytes,0);return`${e.length===t.length?`${f(e.length)} ${e.length===1?"table":"tables"}`:`${f(t.length)} of ${f(e.length)} tables`}, ${T(s)}`}function hs(e,t,s){let o=t.trim().toLowerCase(),n=dt.find(([i])=>i===s.by)?.[2]??(i=>`${i.db}.${i.name}`),r=new Intl.Collator("en",{numeric:!0}),l=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(o));return l.sort((i,c)=>{let[u,d]=[n(i),n(c)];return typeof u=="number"&&typeof d=="number"?u-d:r.compare(String(u),String(d))}),s.down?l.reverse():l}function ms({shown:e,sort:t,onSort:s,selected:o,onOpen:n,lastRows:r}){let l=F();y(()=>r.stop,[r]);let i=dt.map(([u,d,$,p])=>{if(!$)return a`<span class=${p}>${d}</span>`;let m=t.by===u;return a`<button class=${p} aria-pressed=${m} title=${`Sort by ${d}`}
onClick=${()=>s({by:u,down:m?!t.down:p.startsWith("r")})}>${d}${m&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],$=d===o;return a`<div class=${`row tablerow ${$?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${$} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>n(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&f(d.rows)}</span><span class="r" role="gridcell">${d.sized&&T(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${r.of(d)}>${fs(r.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?T(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return a`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${De} count=${e.length} height=${l?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{r.see(l?[]:e.slice(u,d))}}
focus=${o?e.indexOf(o):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function fs(e){return e===void 0?"":e?`${I(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function bs({stores:e}){let{tail:t,prefs:s,tables:o}=e,n=t.state.value,r=F(),[l,i]=v(null);y(()=>{t.clear(),i(null),n.table&&(s.table.value=n.table),t.follow(),document.title=`tail ${n.table} \xB7 cordwood`},[n.db,n.table,n.q]),gs(t);let c=t.ignored.value.join(", ");y(()=>{c&&E(`The page does not know this part of the address, and ignores it: ${c}`)},[c]),y(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>ct(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function u(h){if(i(h),!h.cut)return;let b=await t.wholeRow(h).catch(()=>null);b&&i(w=>w?.id===h.id?b:w)}let{count:d,dropped:$,still:p}=t.drawn.value,m=t.held.value,x=s.zone.value;return a`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${h=>{h.preventDefault(),t.set({q:t.draft.value})}}
>
<${Fe}
db=${n.db}
tables=${n.table?[n.table]:[]}
all=${o.all.value}
single
onPick=${(h,b)=>t.set({db:h,t:b[b.length-1]})}
/>
<${Ue}
text=${t.draft.value}
onText=${h=>t.draft.value=h}
onRun=${()=>t.set({q:t.draft.value})}
fault=${t.draft.value===n.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${s.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!m?"":"bad"}`}></span>${m?`Held at ${Ee(m.at,x).time}`:t.live.value?`Live \xB7 ${f(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${m!==null}
onClick=${()=>m?t.release():t.hold()}
>
${m?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${n.wrap}
data-ui="wrap"
onClick=${()=>ct(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${h=>t.most.value=Number(h.currentTarget.value)}
>
${Ge.map(h=>a`<option value=${h}>${f(h)}</option>`)}
</select></label
>
<span class="grow"></span>
${m&&a`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${f(t.fresh())} new rows</button>`}
${$>0&&a`<span class="quiet" data-ui="tail-dropped">${f($)} older rows are in the table only</span>`}
${p&&a`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${ut(t)}
>Explore this</a
>
</div>
${t.ended.value&&a`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${ut(t)}>Show them in Explore</a></div>`}
${!t.isMissing()&&a`<${k} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${l?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows">
${d===0?a`<${O}
title=${t.isMissing()?`There is no table ${n.table} yet.`:n.table?`Waiting for new rows in ${n.table}.`:"Choose a table to follow."}
>
${t.isMissing()&&a`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${n.table&&!t.isMissing()&&a`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:a`<${Q}
count=${d}
at=${t.at}
shape=${t.shape.value}
columns=${Se(r,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${x}
density=${s.density.value}
narrow=${r}
label=${`${d} rows, newest last`}
selected=${l?.id??""}
dropped=${$}
follow=${!m}
wrap=${n.wrap}
onEnd=${h=>!h&&t.hold()}
onOpen=${h=>{t.hold(),h.id===l?.id?i(null):u(h)}}
/>`}
</section>
${l&&a`<${Pe}
row=${l}
shape=${t.shape.value}
zone=${x}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${h=>t.set({q:Ae(n.q,h)})}
onWithout=${h=>t.set({q:Ne(n.q,h)})}
onClose=${()=>i(null)}
/>`}
</div>`}function ct(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function ut(e){let{db:t,table:s,q:o}=e.state.value;return R("explore",{db:t,t:s,q:o,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function gs(e){y(()=>{let t,s=0,o=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{s=Date.now(),e.stop()},3e4);else if(s){let r=`${Math.ceil((Date.now()-s)/1e3)+30}s`;s=0,e.follow(r)}},n=()=>{let r=getSelection();r&&!r.isCollapsed&&r.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",o),document.addEventListener("selectionchange",n),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",o),document.removeEventListener("selectionchange",n),e.stop()}},[e])}export{kt as AddPage,qt as ClusterPage,$t as Compare,ft as Patterns,Ut as RejectsPage,ts as SettingsPage,ps as TablesPage,bs as TailPage};
