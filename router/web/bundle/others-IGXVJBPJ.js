import{$ as C,A as O,B as Ee,C as B,E as De,F as Ae,G as Ne,H as oe,I as S,J as Pe,K as ne,L as he,M as je,N as qe,O as Ie,Q as Le,R as Me,S as _,T as We,U as Fe,V as Ue,W as ze,X as Be,Z as Ge,_ as He,a as v,aa as P,b as y,ba as Ve,c as K,ca as G,d as Se,da as H,e as Oe,ea as fe,f as s,fa as Ke,g as b,h as x,i as D,j as E,l as Re,m as ae,n as _e,o as me,p as W,q as F,r as se,s as U,t as A,u as R,w as N,x as T,y as Y,z}from"./chunk-YARF7NFP.js";var Ct=8;function St({stores:e}){let{analysis:t,explore:a,prefs:r}=e,o=t.sets.value,n=r.zone.value,{q:i,bq:l}=a.state.value,[c,u]=v(l);y(()=>{t.compare()},[JSON.stringify(o),i]);let d=t.comparison.value.value,$=d!==null&&(d.a.rows===0||d.b.rows===0);return s`<div class="comparing" data-ui="compare"><div class="subhead">${o&&s`<span><i class="set-a"></i>A: ${(p=>`${S(p.from,n)} \u2013 ${S(p.to,n).slice(11)}`)(o.a)} <b>${d&&b(d.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${o.rest?"the rest of the range":l?s`the search <code>${l}</code>`:"the range before"} <b>${d&&b(d.b.rows)}</b></span>`}<span class="grow"></span>${(a.state.value.afrom||l)&&s`<button class="text" onClick=${()=>a.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${p=>{p.preventDefault(),a.set({bq:c.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${c} onInput=${p=>u(p.currentTarget.value)} /></form></div>
<${T} latest=${t.comparison} what="Comparing" />
${d?.low&&!$&&s`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${$&&s`<${Ot} answer=${d} before=${!o?.rest&&!l} />`}
${d&&!$&&d.fields.length===0&&s`<${O} title="No field differs."><p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&d?"dim":""}`}>${d?.fields.map(p=>s`<${Rt} key=${p.name} field=${p} answer=${d} onOnly=${a.only} onWithout=${a.without} />`)}
${d&&(d.same.length>0||d.unique.length>0)&&s`<p class="quiet none">${d.same.length>0&&`Alike in both: ${d.same.join(", ")}. `}${d.unique.length>0&&`Different in each row: ${d.unique.join(", ")}.`}</p>`}</div></div>`}function Ot({answer:e,before:t}){let a=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return s`<${O} title="There is nothing to compare."><p>${a} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function Rt({field:e,answer:t,onOnly:a,onWithout:r}){let o=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),n=e.kind==="numbers"?o:[...o].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,Ct),i=Math.max(1e-4,...n.flatMap(({a:c,b:u})=>[c,u])),l=c=>{let{value:u}=n[c];if(u===null)return he(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return he(e.name,String(u));let d=n[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return s`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${n.map(({value:c,a:u,b:d},$)=>s`<li><button class="only" onClick=${()=>c===null?r(l($)):a(l($))} title=${`A ${re(u)}, B ${re(d)}; click: only these`}>${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?Number(Number(c).toPrecision(4)):E(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/i*100}%`}}></i><i class="set-b" style=${{width:`${d/i*100}%`}}></i></span><small>${re(u)}<br />${re(d)}</small></li>`)}</ul></section>`}function re(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var Ye={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function _t({stores:e}){let{analysis:t,explore:a,prefs:r}=e,[o,n]=v("count"),i=a.range.value,l=a.state.value,c=a.fields.value.value?.fields??[],u=c.filter(g=>g.type==="String").map(g=>g.name),d=`${l.db}.${l.tables.join()}=`,$=r.patternFields.value.find(g=>g.startsWith(d))?.slice(d.length)??"",m=u.includes($)?$:"",p=c.length>0&&m===""&&!c.some(g=>g.role==="message");y(()=>{i&&!p&&t.loadPatterns(m)},[i?.from,i?.to,l.q,m,p]);let h=g=>{r.patternFields.value=[d+g,...r.patternFields.value.filter(M=>!M.startsWith(d))]};if(p)return s`<${Et} texts=${u} onChoose=${h} />`;let f=t.patterns.value.value,w=f?f.patterns.reduce((g,M)=>g+M.count,f.other):0,k=[...f?.patterns??[]].sort(Ye[o][1]);return s`<div class="subhead"><span class="quiet">${f&&`${f.exact?"":"\u2248 "}${b(w)} rows as ${b(f.patterns.length)} patterns of`}</span>
${f&&s`<select aria-label="Text whose patterns are shown" value=${m||f.field} onChange=${g=>h(g.currentTarget.value)}>${[...new Set([f.field,...u])].map(g=>s`<option value=${g}>${g}</option>`)}</select>`}<span class="grow"></span>
<span role="group" aria-label="Order" class="orders">${Object.entries(Ye).map(([g,[M]])=>s`<button class="text" aria-pressed=${g===o} onClick=${()=>n(g)}>${M}</button>`)}</span></div>
<${T} latest=${t.patterns} what="Looking for patterns" />
${f&&f.patterns.length===0&&s`<${O} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&f?"dim":""}`}>${k.map(g=>s`<${Dt} key=${g.pattern} pattern=${g} total=${w} zone=${r.zone.value} exact=${f?.exact!==!1}
onOnly=${()=>a.only(g.query,{view:"rows"})} onWithout=${()=>a.search(`${l.q} -(${g.query})`.trim())} />`)}</ul>
${f&&f.other>0&&s`<div class="foot"><span>${b(f.other)} rows have none of these patterns</span></div>`}`}function Et({texts:e,onChoose:t}){return e.length===0?s`<${O} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:s`<${O} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(a=>s`<button class="button" data-ui="pattern-field" onClick=${()=>t(a)}>${a}</button> `)}</p><//>`}function Dt({pattern:e,total:t,zone:a,exact:r,onOnly:o,onWithout:n}){let i=t>0?e.count/t*100:0,l=De.find(u=>e.levels[u]>0&&Ae(u))??"",c=e.before===0?"new":`${b(e.before)} before`;return s`<li data-ui="pattern" class=${l}>
<span class="count">${r?"":"\u2248 "}${b(e.count)}<small>${i<.1?"< 0.1":i.toFixed(1)} %</small></span>
<${At} counts=${e.spark} level=${l} />
<button class="only" title=${e.example.text.slice(0,500)} onClick=${o}>${e.pattern.split("\u27E8*\u27E9").map((u,d)=>s`${d>0&&s`<i>⟨*⟩</i>`}${u}`)}</button>
<small class=${`wide ${e.before===0?"fresh":""}`}>${c}</small><small class="wide">since ${S(e.first,a).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${e.pattern.slice(0,60)}`} title="Hide these rows" onClick=${n}>−</button></li>`}function At({counts:e,level:t}){let a=Math.max(1,...e),r=e.map((o,n)=>o>0?`M${n*3+1} 18v-${Math.max(1,o/a*16).toFixed(1)}`:"").join("");return s`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true"><path d=${r} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function J({stores:e,rejects:t}){return s`<ul class="rejectlist">${t.map(a=>s`<li data-ui="reject"><p class="mono">${E(a.record.slice(0,500))}</p><p class="why">${E(a.error.slice(0,500))}</p>
<p class="quiet">${S(a.at,e.prefs.zone.value)} · ${a.pipeline} → ${a.table} · ${a.format} ·${" "}
<button class="text go" onClick=${()=>Nt(e,a)}>Fix in pipeline</button></p></li>`)}</ul>`}async function Nt({pipelines:e,place:t},a){await e.open(a.pipeline,""),e.setSamples([a.record,...e.samples.value.filter(r=>r!==a.record)]),t.set("pipelines",{name:a.pipeline,t:a.table})}function Z(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function le(e,t){return Z(e)+(e.pipeline===j?`&custom_time_index=${t}`:"")}var j="svc_identity";function ie(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===j?"":` --pipeline ${e.pipeline}`}`}function be(e){return e.user?`export CORDWOOD_USER=${ae(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Je(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==j&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function V(e){return Je(e).map(([t,a])=>`${t}: ${q(a)}`).join(", ")}function ge(e){return Je(e).map(([t,a])=>`"${t}" = "${a}"`).join(", ")}function q(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var Pt={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function X({db:e,table:t,pipeline:a}){for(let[r,o]of[["database",e],["table",t],["pipeline",a]])if(!Pt[r].test(o))return`\u201C${o}\u201D cannot be the name of a ${r}. Use letters, digits, and the characters _ . : -`;return""}function I(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function ve(e,t){let a=e.split(`
`).find(r=>r.startsWith(`${t} = "`));return a?a.slice(t.length+4,a.lastIndexOf('"')):""}function we(e,t,a){let{host:r,port:o,secure:n}=I(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${r}
      port: ${o}${n?`
      tls: on`:""}
      uri: ${le(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===j?"iso8601":a}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${q(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function ye(...e){return t=>{let a=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==j&&`pipeline=${t.pipeline}`];return e.map(r=>`${r}?${a.filter(Boolean).join("&")}`).join(",")}}var Ze=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:ye("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${I(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:ye("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${I(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:ye("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${I(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${I(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${V(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var Q=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${Z(e)}' \\
     ${e.user?`-u ${ae(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${be(e)}cordwood ingest --server ${e.origin} ${ie(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${be(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${ie(e)}${e.pipeline===j?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${Z(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${q(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>we(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>we(e,`  inputs:
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
  endpoint ${le(e,"time;epoch;ms")}
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
    url => "${le(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
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
    url("${Z(e)}")${e.user?`
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
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${ie(e)} -"
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
    headers: {${V(e)}}
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
    headers             = {${ge(e)}}
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
    headers: {${V(e)}}${e.user?`
    basic_auth: {username: ${q(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:a,secure:r}=I(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${r?"https":"http"}://${t}:${a}/v1/elasticsearch"]${e.user?`
  username: ${q(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${V(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${ge(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===j?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${q(e.table)}
        splunk-format: json`},...Ze];var jt={db:null,t:null,pipeline:null,sender:e=>Q.some(t=>t.id===e)};function qt({stores:e}){let{adding:t,place:a,signIn:r}=e,o=a.here.value.params,n=Q.find(p=>p.id===o.get("sender"))??Q[0],[i,l,c]=[o.get("db")||"public",o.get("t")||"app",o.get("pipeline")||"svc_identity"];_(a.page.value==="add"?A(o,jt):[]),y(()=>{document.title="Add data \xB7 cordwood"},[]),y(()=>{let p=setTimeout(()=>{t.follow(i,l)},300);return()=>{clearTimeout(p),t.stop()}},[i,l]);let u=p=>a.set("add",{sender:n.id,t:l,db:i,pipeline:c,...p},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=X({db:i,table:l,pipeline:c})||n.lacks?.({db:i,table:l,pipeline:c})||"",$=It(r,X({db:i,table:l,pipeline:c})?"":`${C(i)}.${C(l)}`),m=d?"":n.text({origin:location.origin,db:i,table:l,pipeline:c,user:r.user.value});return s`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${!$&&s`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${l}: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${l} onInput=${p=>u({t:Xe(p)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${p=>u({pipeline:Xe(p)})} /></label>
<${Mt} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${Q.map(p=>s`<button class="text" aria-pressed=${p===n} data-ui=${`sender-${p.id}`} onClick=${()=>u({sender:p.id})}>${p.name}</button>`)}</nav>
${n.port&&!d&&s`<${Lt} api=${e.api} flag=${n.port.flag} value=${n.port.text({origin:location.origin,db:i,table:l,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${n.name}><div class="head"><h2>${n.name}</h2><span class="quiet">${n.file}</span><span class="grow"></span>
${!d&&s`<button class="button" onClick=${()=>N(m)}>Copy</button>`}</div>
${d?s`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:s`<pre data-ui="snippet" tabindex="0">${m}</pre>`}
${n.note&&s`<p class="quiet none">${n.note}</p>`}
${r.user.value&&s`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${r.session.value?.auth==="token"?"a token that may store rows":`the password of ${r.user.value}`}.</p>`}</section>
${$&&!X({db:i,table:l,pipeline:c})&&s`<${Wt} adding=${t} to=${{db:i,table:l,pipeline:c}} />`}
<${Ft} stores=${e} db=${i} table=${l} />
<${Gt} key=${`${i}.${l}`} stores=${e} db=${i} table=${l} />
</div>`}function It(e,t){let[a,r]=v(!0);return y(()=>{let o=!0;return t&&e.may(["INSERT",t]).then(n=>o&&r(n)),()=>{o=!1}},[t,e.user.value]),a}function Lt({api:e,flag:t,value:a}){let[r,o]=v("");y(()=>{e.send({path:"/config",need:["MONITOR","CLUSTER"]}).then(async l=>o(await l.text()),()=>{})},[]);let n=ve(r,t),i=`cordwood serve --${t} ${_e(a)}`;return s`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${n?`It listens at ${n}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>N(i)}>Copy</button></div><pre tabindex="0">${i}</pre></section>`}function Xe(e){return e.currentTarget.value.trim()}function Mt({api:e}){let[t,a]=v([]);return y(()=>{e.json({path:"/v1/pipelines"}).then(r=>a(r.pipelines.map(o=>o.name)),()=>{})},[]),s`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(r=>s`<option value=${r}></option>`)}</datalist>`}function Wt({adding:e,to:t}){let[a,r]=v(!1),o=Se(null),n=l=>l?.[0]&&void e.send(l[0],t),i=e.sending.value;return s`<section class=${`drop ${a?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${l=>{l.preventDefault(),r(!0)}}
onDragLeave=${()=>r(!1)}
onDrop=${l=>{l.preventDefault(),r(!1),n(l.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>o.current?.click()}>Choose a file</button>
<input ref=${o} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${l=>{let c=l.currentTarget;n(c.files),c.value=""}} /></p>
${i&&s`<p role="status">${i.name}: ${x(i.sent)} of ${x(i.size)}, ${b(i.rows)} ${i.rows===1?"row":"rows"} stored${i.done?i.error?`. ${i.error}`:", done.":"\u2026"} ${!i.done&&s`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${i.size>0?i.sent/i.size*100:100}%`}}></div>
${i.refused>0&&s`<p class="wrong">${b(i.refused)} ${i.refused===1?"record was":"records were"} refused${i.refused>i.reasons.length&&", for example"}:</p>`}
${i.reasons.map(l=>s`<p class="wrong">${E(l)}</p>`)}`}
</section>`}function Ft({stores:e,db:t,table:a}){let{adding:r,api:o,prefs:n}=e,i=B(),[l]=v(()=>G(H)),c=r.rows.value,u=c.length>0;if(y(()=>{u&&l.run($=>o.json({path:"/v1/explore/fields",body:{db:t,tables:[a]},signal:$}))},[u,t,a]),!u)return s`<section class="first" aria-live="polite" data-ui="first-row"><${Ht} table=${a} /></section>`;let d=l.value.value;return s`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${b(r.count.value)} ${r.count.value===1?"row":"rows"} arrived in ${a}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map($=>$.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${R("explore",{db:t,t:a},{db:"public"})}>Open in Explore</a></div>
<${ne} count=${c.length} at=${$=>c[$]} shape=${Ve(d)} columns=${[]} marks=${null} zone=${n.zone.value}
density=${n.density.value} narrow=${i} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var Ut=10,zt=3e3,Bt=6e4;function Gt({stores:e,db:t,table:a}){let[r]=v(()=>G(H));y(()=>{let n=Date.now()-Bt,i=()=>document.visibilityState==="visible"&&void r.run(c=>e.rejects.newest({db:t,table:a,since:n},c));i();let l=setInterval(i,zt);return()=>{clearInterval(l),r.cancel()}},[t,a]);let o=r.value.value??[];return o.length===0?null:s`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${o.length===5?"Newest rejected records":`${b(o.length)} rejected ${o.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${R("rejects",{t:a})}>All rejects of ${a}</a></div>
<${J} stores=${e} rejects=${o} /></section>`}function Ht({table:e}){let[t]=v(Date.now()),a=Y(1e3),r=Math.floor((a-t)/1e3);return s`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${r} s</p>
${r>=Ut&&s`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var L=()=>"",ee={name:"node",label:"Node",kind:"node"},Qe={name:"force",label:"Also if the metadata group then survives the loss of fewer nodes",kind:"check"},de={name:"shard",label:"Shard",kind:"shard"},te=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[ee,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:L,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[ee],word:L,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[ee,Qe],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node,force:e.force==="yes"})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[ee,Qe],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node,force:e.force==="yes"})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:L,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[de,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:L,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[de,{name:"replicas",label:"Replicas",kind:"number"}],word:L,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[de,ee],word:L,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[de],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:L,request:e=>({kind:"table-move",table:e.table,to_shards:Vt(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:L,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function Vt(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}var Kt={"node-add":()=>({name:"Add a node\u2026",act:"add-node",given:{}}),"node-undrain":({node:e=""})=>({name:`Undrain ${e}\u2026`,act:"undrain",given:{node:e}}),"node-decommission":({node:e=""})=>({name:`Decommission ${e}\u2026`,act:"decommission",given:{node:e}}),"node-remove":({node:e=""})=>({name:`Forget ${e}\u2026`,act:"remove",given:{node:e}}),"shard-move":({node:e="",shard:t})=>({name:"Move a replica\u2026",act:"shard-move",given:{from:e,shard:t?String(t):""}}),"replica-rebuild":({node:e="",shard:t})=>({name:"Rebuild the replica\u2026",act:"rebuild",given:{node:e,shard:String(t??"")}}),rebalance:()=>({name:"Rebalance\u2026",act:"rebalance",given:{}}),"rebalance-resume":()=>({name:"Resume rebalancing\u2026",act:"rebalance",given:{}}),cancel:({operation:e})=>({name:`Cancel operation ${e}`,act:"cancel",given:{operation:String(e??"")}})};function et({actions:e=[]}){return e.flatMap(t=>Kt[t.kind]?.(t)??[])}function tt({id:e,given:t,state:a,stores:r,onClose:o}){let{operations:n,health:i,tables:l}=r,c=te.find(w=>w.id===e),[u,d]=v({count:"1",replicas:String(a.replication),partitions:"2",...t});K(()=>n.clear(),[]);let $=n.asks.value,m=n.start.value.value,p=$||c.word(u);async function h(){if(n.start.since.value>0)return;let w=c.request(u);await n.begin($?{...w,confirm:$}:w)&&(W(n.start.value.value?.message||"The operation has started."),o(),await i.load())}let f=w=>k=>d({...u,[w]:k});return s`<${se} key=${$} title=${c.name.replace("\u2026","")} word=${p} action="Begin" busy=${n.start.since.value>0} onYes=${h} onClose=${o}>
<p>${c.says}</p>
${c.asks.map(w=>s`<label class=${w.kind==="check"?"check":""}>${w.kind!=="check"&&w.label}<${Jt} asked=${w} value=${u[w.name]??""} state=${a} tables=${l.all.value} onValue=${f(w.name)} />${w.kind==="check"&&w.label}</label>`)}
<${Yt} values=${u} state=${a} tables=${l.all.value} />
${$&&m?.message&&s`<p class="wrong" role="alert">${m.message}</p>`}
<${T} latest=${n.start} what="Beginning it" inForm /><//>`}function Yt({values:e,state:t,tables:a}){let r=t.nodes.find(l=>l.name===(e.shard?"":e.node)),o=t.shards.find(l=>String(l.id)===e.shard),n=a.find(l=>`${l.db}.${l.name}`===e.table),i=o?`Shard ${o.id} has ${x(o.bytes)} on disk.`:r?`${r.name} has ${r.replicas} replicas with ${x(r.bytes)}, and leads ${r.leads} shards.`:n?`${e.table} has ${x(n.bytes)}.`:"";return i&&s`<p class="quiet">${i}</p>`}function Jt({asked:e,value:t,state:a,tables:r,onValue:o}){let n=c=>o(c.currentTarget.value),i=`act-${e.name}`;if(e.kind==="check")return s`<input type="checkbox" data-ui=${i} checked=${t==="yes"} onChange=${()=>o(t==="yes"?"":"yes")} />`;if(e.kind==="number")return s`<input type="number" data-ui=${i} required min="1" max="64" value=${t} onInput=${n} />`;if(e.kind==="shards")return s`<input required data-ui=${i} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${n} />`;let l={node:()=>a.nodes.map(c=>c.name),shard:()=>a.shards.map(c=>String(c.id)),table:()=>r.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return s`<select required data-ui=${i} value=${t} onChange=${n}><option value="">Choose</option>${l.map(c=>s`<option value=${c}>${c}</option>`)}</select>`}function at({state:e,onClose:t}){let[a]=v(()=>new Set(e.nodes.map(i=>i.id))),r=e.nodes.filter(i=>!a.has(i.id)),n=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(i=>i.rpc_addr).join(",")}`].join(` \\
  `);return s`<${F} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${n}</pre>
<p role="status" data-ui="joined">${r.length===0?s`<span class="dot waiting"></span> Waiting for it to join…`:`${r.map(i=>i.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>N(n)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function st({stores:e,onClose:t}){let{operations:a,health:r}=e;K(()=>{a.clear(),a.loadPlan()},[]);let o=a.plan.value.value;async function n(i){a.start.since.value>0||await a.begin({kind:i})&&(W(a.start.value.value?.message||"Started."),await r.load(),t())}return s`<${F} title="Rebalance" onClose=${t}><div class="asks">
<${T} latest=${a.plan} what="Asking for the plan" />
${!o&&!a.plan.error.value&&s`<p class="quiet" role="status">Asking what would move…</p>`}
${o&&o.moves.length===0&&s`<p>Nothing would move: ${(o.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${o&&o.moves.length>0&&s`<p>${o.moves.length} replicas would move, ${x(o.moves.reduce((i,l)=>i+l.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${o.moves.map(i=>s`<tr><td>${i.shard}</td><td>${i.from}</td><td>${i.to}</td><td class="r">${x(i.bytes)}</td><td>${i.reason}</td></tr>`)}</tbody></table></div>`}
${o?.blocked.map(i=>s`<p class="wrong">${i}</p>`)}
<${T} latest=${a.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!o||o.moves.length===0} onClick=${()=>n("rebalance")}>Begin</button>
${o&&s`<button class="button" data-ui="pause" onClick=${()=>n(o.paused?"rebalance-resume":"rebalance-pause")}>${o.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function ot({health:e,failure_tolerance:t,limited_by:a}){return t<0?a?`Too much has failed: ${a} does not work.`:"Something does not work.":e==="starting"?"The first shards are being created.":t===0?`No ${e==="ok"?"":"further "}node may fail: ${a} would stop.`:`Any ${t===1?"node":`${t} nodes`} may fail.`}function nt(e,t,a){let r=e.requested_by&&`requested by ${e.requested_by==="cluster"?"the cluster":e.requested_by}`;if(e.state!=="running"){let n=e.ended??e.updated,i=Date.parse(n)-Date.parse(e.created);return[`${e.state} ${Zt(n,t,a)}`,i>=1e3&&`took ${D(i)}`,e.reason,r].filter(Boolean).join(" \xB7 ")}let o=e.total_bytes>0&&`${x(e.done_bytes)} of ${x(e.total_bytes)}`;return[`step ${e.step}`,o,e.eta_seconds&&`${D(e.eta_seconds*1e3)} left`,e.reason,r].filter(Boolean).join(" \xB7 ")}function Zt(e,t,a){let r=Math.max(0,t-Date.parse(e));return r<1e3?"just now":r<864e5?`${D(r)} ago`:`at ${S(e,a)} (${a})`}function rt(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,a=>a.toUpperCase())}}function lt(e){if(e.length<2)return e;let[t,...a]=e,r=0;for(;r<t.length&&a.every(n=>n[r]===t[r]);)r++;let o=Math.max(t.lastIndexOf("-",r-1),t.lastIndexOf(".",r-1))+1;return o<4?e:e.map(n=>`\u2026${n.slice(o)}`)}function it({operations:e,stores:t,may:a}){let{cancelling:r}=t.operations,o=Y(1e3),n=t.prefs.zone.value;return s`<${T} latest=${r} what="Cancelling" />
${e.length===0&&s`<p class="quiet none">No operation is running or stored.</p>`}
<ul class="ops">${e.map(i=>{let l=i.state==="running";return s`<li data-ui="operation" data-state=${i.state} key=${i.id}><h3>${rt(i)}${l&&a&&s`<${Xt} operation=${i} stores=${t} />`}</h3>
${l&&i.total_bytes>0&&s`<div class="bar" style=${{"--p":`${i.done_bytes/i.total_bytes*100}%`}}></div>`}<p>${nt(i,o,n)}</p></li>`})}</ul>`}function Xt({operation:e,stores:t}){return e.cancel?s`<span class="text">being cancelled</span>`:s`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(e.id).then(()=>t.health.load())}>Cancel</button>`}function dt({stores:e}){let t=Math.floor((Y(1e3)-e.health.answered.value)/1e3);return s`<span class="quiet" data-ui="refreshed">refreshed ${t<1?"just now":`${t} s ago`}</span>`}function ct({nodes:e}){return s`<div class="wide-table" tabindex="0" role="region" aria-label="Nodes"><table><thead><tr><th>node</th><th>state</th><th class="opt">roles</th><th class="opt">metadata</th><th>disk</th><th class="r opt">of</th><th class="r">replicas</th><th class="r">leads</th><th class="r opt">bytes</th><th class="opt">version</th></tr></thead>
<tbody>${e.map(t=>s`<${ea} key=${t.id} node=${t} />`)}</tbody></table></div>`}var Qt=85;function ea({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0,a=["down","silent","stopped"].includes(e.state)&&` for ${D(e.silent_seconds*1e3)}`;return s`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${a}</td>
<td class="opt">${e.roles.join(" ")}</td><td class="opt">${e.meta}</td>
<td>${e.disk_capacity>0&&s`<span class=${`disk ${t>Qt?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span><span title=${`${x(e.disk_used)} of ${x(e.disk_capacity)}`}>${t.toFixed(0)} %</span>`}</td>
<td class="r opt">${e.disk_capacity>0&&x(e.disk_capacity)}</td><td class="r">${b(e.replicas)}</td><td class="r">${b(e.leads)}</td>
<td class="r opt">${x(e.bytes??0)}</td><td class="opt">${e.version}</td></tr>`}function ut({state:e,onDo:t}){let a=e.nodes.filter(o=>o.roles.includes("shard")),r=lt(a.map(o=>o.name));return s`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${a.map((o,n)=>s`<th title=${o.name}>${r[n]}</th>`)}<th class="r opt">lag</th><th class="r opt">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(o=>s`<tr key=${o.id}><td>shard ${o.id}</td>${a.map(n=>{let[i,l,c]=aa(o,n),u=`shard ${o.id} on ${n.name}: ${l}`;return s`<td class=${c} data-ui="shard-cell" title=${u}>${t&&i!=="\xB7"?s`<${ta} letter=${i} says=${u} shard=${String(o.id)} node=${n.name} onDo=${t} />`:i}</td>`})}<td class="r opt">${b(o.lag)}</td><td class="r opt">${x(o.bytes)}</td><td><span class=${o.state==="ok"?"":"bad"}>${o.state}</span></td></tr>`)}</tbody></table></div>`}function ta({letter:e,says:t,shard:a,node:r,onDo:o}){return s`<${U} button=${s`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell" floats>${n=>{let i=(l,c)=>{n(),o(l,c)};return s`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>i("shard-move",{shard:a,from:r})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>i("rebuild",{shard:a,node:r})}>Rebuild…</button>`}}<//>`}function aa(e,{name:t,state:a}){return(e.replicas.includes(t)||e.learners.includes(t))&&(a==="down"||a==="lost")?["!","has a replica, and does not answer","x"]:e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function sa({stores:e}){let{health:t,signIn:a,operations:r,place:o}=e;_(o.page.value==="cluster"?A(o.here.value.params,{}):[]),y(()=>{document.title="Cluster \xB7 cordwood";let p=()=>{document.visibilityState==="visible"&&(t.load(),r.loadList())};r.loadList();let h=setInterval(p,2e3);return()=>clearInterval(h)},[t]);let[n,i]=v({id:"",given:{}}),l=t.value.value;if(!l)return s`<h1 class="hidden">Cluster</h1><${T} latest=${t} what="Asking for the state of the cluster" />`;let c=l.health==="ok",u=t.error.value!==null,d=a.canManage.value,$=((p,h={})=>{p==="cancel"?r.cancel(Number(h.operation)).then(()=>t.load()):i({id:p,given:h})}),m=()=>i({id:"",given:{}});return s`<div class="scrolled">
<div class="state"><h1>${u?"The state of the cluster is not known":c?"The cluster is healthy":s`The cluster is <i class=${l.health}>${l.health}</i>`}</h1>
<span class="quiet" data-ui=${u?"known-since":"tolerance"}>${u?`What follows was so at ${oe(t.answered.value,e.prefs.zone.value).time} (${e.prefs.zone.value}).`:ot(l)}</span></div>
<${T} latest=${t} what="Asking for the state of the cluster" />
${l.problems.map(p=>s`<${oa} problem=${p} onDo=${d?$:null} />`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${d&&s`<${pt} group="nodes" first=${{"add-node":"Add a node\u2026",drain:"Drain a node\u2026"}} onDo=${$} />`}</h2>
<${ct} nodes=${l.nodes} />
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${d&&s`<${pt} group="shards" first=${{"shard-move":"Move a replica\u2026",rebalance:"Rebalance\u2026"}} onDo=${$} />`}</h2>
<${ut} state=${l} onDo=${d?$:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations<span class="grow"></span><${dt} stores=${e} /></h2>
<${it} operations=${r.list.value.value??l.operations} stores=${e} may=${d} /></section>
</div></div>
${n.id==="add-node"&&s`<${at} state=${l} onClose=${m} />`}
${n.id==="rebalance"&&s`<${st} stores=${e} onClose=${m} />`}
${te.some(p=>p.id===n.id)&&s`<${tt} id=${n.id} given=${n.given} state=${l} stores=${e} onClose=${m} />`}`}function oa({problem:e,onDo:t}){let a=t?et(e):[];return s`<div class=${`problem ${e.severity??""}`}><p><b>${me(e.text)}</b> ${me(e.advice)}</p>
${a.length>0&&s`<div class="offers">${a.map(({name:r,act:o,given:n})=>s`<button class="button" data-ui=${`mend-${o}`} onClick=${()=>t?.(o,n)}>${r}</button>`)}</div>`}</div>`}function pt({group:e,first:t,onDo:a}){let r=te.filter(o=>o.group===e&&!(o.id in t)).map(({id:o,name:n})=>[o,n]);return s`${Object.entries(t).map(([o,n])=>s`<button class="text wide" data-ui=${o} onClick=${()=>a(o)}>${n}</button>`)}
<${U} button=${s`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${o=>[...Object.entries(t),...r].map(([n,i])=>s`<button class=${`choice ${n in t?"narrow-only":""}`} data-ui=${`do-${n}`} onClick=${()=>{o(),a(n)}}>${i}</button>`)}<//>`}var ke=e=>!Number.isNaN(Date.parse(e)),$t=e=>ke(e)?e:"",na={pipeline:null,t:null,kind:null,from:ke,to:ke};function ra({stores:e}){let{rejects:t,place:a,prefs:r,signIn:o}=e,n=a.here.value.params,i={pipeline:n.get("pipeline")??"",table:n.get("t")??"",kind:n.get("kind")??"",from:$t(n.get("from")??""),to:$t(n.get("to")??"")};_(a.page.value==="rejects"?A(n,na):[]);let l=JSON.stringify(i),[c,u]=v(!1),[d,$]=v(-1);y(()=>{document.title="Rejects \xB7 cordwood",$(-1),t.load(i)},[l]);let m=k=>a.set("rejects",{pipeline:i.pipeline,t:i.table,kind:i.kind,from:i.from,to:i.to,...k}),p=t.reasons.value.value,h=t.samples.value.value??[],f=p?.total??0,w=[["pipeline",i.pipeline,{pipeline:""}],["table",i.table,{t:""}],["kind",i.kind,{kind:""}],["time",la(i,r.zone.value),{from:"",to:""}]];return s`<div class="scrolled"><div class="state"><h1>Rejects</h1><span class="quiet" data-ui="total">${p?.there&&`${b(f)} ${f===1?"record":"records"} that could not be stored${ia(e)}`}</span><span class="grow"></span>
${w.map(([k,g,M])=>g&&s`<button class="button" aria-label=${`Remove the condition ${k} ${g}`} onClick=${()=>m(M)}>${k} ${g} ✕</button>`)}
${i.pipeline&&s`<a class="button" href=${R("pipelines",{name:i.pipeline})}>Fix in pipeline</a>`}
${f>0&&o.canManage.value&&s`<button class="button main" data-ui="replay" onClick=${()=>u(!0)}>Replay…</button>`}</div>
<${z} since=${t.reasons.since.value} onCancel=${t.reasons.cancel} />
<${T} latest=${t.reasons} what="Counting the rejects" />
${p&&f===0&&s`<${ca} there=${p.there} />`}
${f>0&&s`<${da} rejects=${t} zone=${r.zone.value} onZoom=${(k,g)=>m({from:k,to:g})} />
<h2 class="head">By reason</h2><div class="wide-table listed"><table><thead><tr><th class="r">records</th><th>reason</th><th>kind</th><th>pipeline</th><th>table</th><th class="opt">last, ${r.zone.value}</th></tr></thead>
<tbody>${p?.list.map((k,g)=>s`<tr data-ui="reason"><td class="r">${b(k.count)}</td><td class="samples" title=${k.reason}><button class="text" data-ui="reason-open" aria-expanded=${g===d} onClick=${()=>$(g===d?-1:g)}>${E(k.reason.slice(0,300))}</button></td>
<td><button class="text" onClick=${()=>m({kind:k.kind})}>${k.kind}</button></td><td><button class="text" onClick=${()=>m({pipeline:k.pipeline})}>${k.pipeline}</button></td>
<td><button class="text" onClick=${()=>m({t:k.table})}>${k.table}</button></td><td class="opt">${S(k.last,r.zone.value)}</td></tr>
${g===d&&s`<tr class="opened"><td></td><td colspan="5"><${J} stores=${e} rejects=${[k.newest]} /></td></tr>`}`)}</tbody></table></div>
<h2 class="head">The newest<span class="quiet">${b(h.length)}</span><span class="grow"></span>
<a class="text go" href=${R("explore",{db:"svc_private",t:"rejects",q:i.pipeline?`pipeline=${i.pipeline}`:"",from:"-7d"},{db:"public"})}>Search in Explore</a></h2>
<${J} stores=${e} rejects=${h} />`}
${c&&s`<${ua} stores=${e} wanted=${i} count=${f} onClose=${()=>u(!1)} />`}</div>`}function la({from:e,to:t},a){return[e&&`from ${S(e,a)}`,t&&`to ${S(t,a)}`].filter(Boolean).join(" ")}function ia({tables:e}){let t=e.all.value.find(a=>a.db==="svc_private"&&a.name==="rejects")?.ttl??"";return t&&`; they are kept for ${t.replace(/(\d)([a-z])/gi,"$1 $2")}`}function da({rejects:e,zone:t,onZoom:a}){let r=e.overTime.value.value;return r?s`<p class="legend overtime">${r.series.map((o,n)=>s`<span><i style=${{background:Le(o.value,n,!1)}}></i>${o.value}<b>${b(o.counts.reduce((i,l)=>i+l,0))}</b></span>`)}</p>
<${Me} hits=${r} hidden=${[]} zone=${t} height=${72} byLevel=${!1} onZoom=${a} />`:s`<${T} latest=${e.overTime} what="Counting over time" />`}function ca({there:e}){return e?s`<${O} title="No record was rejected."><p>With these conditions, as long as rejects are kept.</p><//>`:s`<${O} title="The server keeps no rejected records.">
<p>Records that cannot be stored fail their request, or are dropped with <b class="mono">skip_error=true</b>.</p>
<p>They are kept, and shown here, with <b class="mono">skip_error=true&on_reject=store</b> in the address of a sender, or if the server runs with <b class="mono">--on-reject store</b>.</p><//>`}function ua({stores:e,wanted:t,count:a,onClose:r}){let{rejects:o}=e,[n,i]=v({toPipeline:"",toTable:""}),l=o.replay.value,c=l!==null&&!l.end;K(()=>(o.replay.value=null,()=>o.cancel()),[]);let u=l?.end&&l.dry&&!l.error&&l.stored>0,d=($,m,p)=>s`<label>${m}<input value=${n[$]} placeholder=${p} onInput=${h=>i({...n,[$]:h.currentTarget.value.trim()})} /></label>`;return s`<${F} title=${`Replay ${b(a)} ${a===1?"reject":"rejects"}`} onClose=${r}><div class="asks">
<p>Each record is sent through its pipeline again. A record that was stored is not stored twice, however often it is replayed.</p>
${d("toPipeline","Pipeline","the one that they were sent to")}${d("toTable","Table","the one that they were sent to")}
${l&&s`<p role="status" class=${l.failed>0?"wrong":""}>${l.error&&l.done===0?"":l.dry?`${b(l.stored)} of ${b(l.of||l.done)} would be stored.`:`${b(l.stored)} stored, ${b(l.failed)} failed again, of ${b(l.of||l.done)}.`} ${l.error}</p>
<div class="bar" style=${{"--p":`${l.of>0?l.done/l.of*100:0}%`}}></div>
${(l.reasons??[]).slice(0,5).map($=>s`<p class="wrong">${typeof $=="string"?$:`${b($.count)} \xD7 ${$.reason}`}</p>`)}`}
<p class="acts"><button class=${`button ${u?"":"main"}`} data-ui="replay-try" disabled=${c} onClick=${()=>{o.send({...t,...n},!0)}}>Try it first</button>
<button class=${`button ${u?"main":""}`} data-ui="replay-now" disabled=${c} onClick=${()=>{o.send({...t,...n},!1).then(()=>o.load(t))}}>Replay</button>
${c&&s`<button class="button" data-ui="cancel" onClick=${o.cancel}>Stop</button>`}
<button class="button" onClick=${r}>Close</button></p></div><//>`}var ce=(e,t)=>t.map(a=>[a,`${a}, ${e}`]),mt=[...ce("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...ce("on pipelines",["USE","READ","WRITE"]),...ce("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...ce("on any of these",["ALL"])],ht=["30d","90d","365d","NEVER"],ft={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:a})=>`CREATE USER ${C(t)} PASSWORD ${P(a)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${C(e)} PASSWORD ${P(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:a})=>`ALTER USER CURRENT_USER PASSWORD ${P(a)} OLD ${P(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${C(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${C(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${C(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${C(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${C(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${C(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${C(t)} TO ${C(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>xe(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:a,on:r,expires:o,note:n})=>`CREATE TOKEN ${C(t)} FOR ${a==="query"?"QUERY ON":"INGEST INTO"} ${r} EXPIRES ${o==="NEVER"?"NEVER":`IN ${P(o)}`}${n?` NOTE ${P(n)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${C(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${C(e)}`,typed:!0}},bt="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function xe(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function gt(e,t){let a={...t};for(let[r,,o]of e.asks)o==="password"&&(a[r]="\u2026");return a}function ue({name:e,says:t,asks:a,choices:r,patterns:o={},initial:n={},word:i="",statement:l,latest:c,onRun:u,onClose:d,children:$}){let[m,p]=v(()=>({...Object.fromEntries(a.map(([w,,k])=>[w,k==="column"?"":[r[k]?.[0]??""].flat()[0]])),...n})),h=e.replace("\u2026","");return s`<${se} title=${h} word=${i} action=${i?h:"Run it"} busy=${c.since.value>0} onYes=${()=>c.since.value>0||u(m)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${$}
${a.map(([f,w,k])=>s`<label>${w}<${pa} name=${f} kind=${k} choices=${r[k]} pattern=${o[k]} value=${m[f]} onValue=${g=>p({...m,[f]:g})} /></label>`)}
<pre class="asked">${l(m)}</pre>
<${T} latest=${c} what="The statement" inForm /><//>`}function pa({name:e,kind:t,choices:a,pattern:r,value:o,onValue:n}){let i=l=>n(l.currentTarget.value);if(!a){let[l,c]=t==="password"?["password","new-password"]:["text","off"];return s`<input required=${t!=="text?"} type=${l} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${r} value=${o} onInput=${i} />`}return s`<select required data-ui=${`ask-${e}`} value=${o} onChange=${i}>${t==="column"&&s`<option value="">Choose</option>`}${a.map(l=>[l].flat()).map(([l,c=l])=>s`<option value=${l}>${c}</option>`)}</select>`}function vt({stores:e}){let{access:t}=e,[a,r]=v(null),[o,n]=v(""),[i,l]=v(""),[c,u]=v(null);y(()=>{d()},[o]),y(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(o),t.loadTokens(o)])}function $(w){l(w),t.grants.value.value=null,t.loadGrants(w)}async function m(w,k){let g=await t.change(w);g&&(r(null),g[0]?.Token?u(g[0]):W(`Done: ${k}`),await Promise.all([d(),t.loadRoles(),i&&t.loadGrants(i)]))}let p=(w,k="")=>r({id:w,target:k}),h=e.signIn.session.value?.auth==="token",f=t.users.error.value?.status!==403;return s`<section aria-label="Users and tokens"><h2 class="head">${f?"Users and tokens":"My tokens"}<span class="grow"></span>
${!h&&s`<button class="text" data-ui="own-password" onClick=${()=>p("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${o} onInput=${w=>n(w.currentTarget.value)} /></h2>
${f&&s`<${$a} access=${t} onAct=${p} onGrants=${$} grantsOf=${i} />`}
${f&&s`<${ma} access=${t} onAct=${p} onGrants=${$} grantsOf=${i} />`}
${i&&s`<${ha} of=${i} access=${t} onAct=${p} />`}
<${fa} access=${t} onAct=${p} />
${a&&s`<${ba} key=${`${a.id} ${a.target}`} id=${a.id} target=${a.target} access=${t} onRun=${m} onClose=${()=>r(null)} />`}
${c&&s`<${ga} of=${c} onClose=${()=>u(null)} />`}</section>`}function $a({access:e,onAct:t,onGrants:a,grantsOf:r}){let o=e.users.value.value??[];return s`<${pe} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${o.length>0&&s`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><th></th></tr></thead>
<tbody>${o.map(n=>{let i=!n.State.startsWith("disabled");return s`<tr key=${n.User} data-ui="user" data-name=${n.User}><td><b>${n.User}</b></td><td>${n.Roles}</td><td>${n.State}</td><td>${Te(n["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${r===n.User} onClick=${()=>a(n.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",n.User)}>Password…</button>
<button class="text" onClick=${()=>t(i?"disable":"enable",n.User)}>${i?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",n.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function ma({access:e,onAct:t,onGrants:a,grantsOf:r}){let o=e.roles.value.value??[];return s`<${pe} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${o.length>0&&s`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th></th></tr></thead>
<tbody>${o.map(n=>{let i=n.State==="built in";return s`<tr key=${n.Role} data-ui="role" data-name=${n.Role}><td><b>${n.Role}</b></td><td>${n.Roles}</td><td>${n.State}</td>
<td class="r"><button class="text" aria-expanded=${r===n.Role} onClick=${()=>a(n.Role)}>Grants</button>
${!i&&s`<button class="text" onClick=${()=>t("dropRole",n.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function ha({of:e,access:t,onAct:a}){let r=t.grants.value.value;return s`<${pe} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>a("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>a("grantRole",e)}>Grant a role…</button><//>
${r&&s`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${r.map(o=>s`<tr key=${o} data-ui="granted"><td class="mono">${o}</td><td class="r">${xe(o)&&s`<button class="text" onClick=${()=>a("revoke",o)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${r?.length===0&&s`<p class="quiet none">${e} has no grants.</p>`}`}function fa({access:e,onAct:t}){let a=e.tokens.value.value??[];return s`<${pe} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${a.length>0&&s`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><th></th></tr></thead>
<tbody>${a.map(r=>s`<tr key=${r.Id} data-ui="token" data-name=${r.Token}><td><b>${r.Token}</b><small>cw_${r.Id}</small></td><td class="mono">${r.Scope}</td><td>${r.State}</td>
<td>${Te(r.Expires)||"never"}</td><td title=${r["Last address"]}>${Te(r["Last used"])}</td><td>${r.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",r.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",r.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function pe({title:e,latest:t,children:a}){let r=t.value.value?.length??0;return s`<h3 class="head">${e}<span class="quiet">${r>=fe&&`the first ${fe}`}</span><span class="grow"></span>${a}</h3>
<${T} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function ba({id:e,target:t,access:a,onRun:r,onClose:o}){let n=ft[e],i=(a.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),l=c=>n.statement(t,gt(n,c));return s`<${ue} name=${n.name} says=${n.says} asks=${n.asks} word=${n.typed?t:""}
choices=${{privileges:mt,role:i,scope:["ingest","query"],lifetime:ht}} patterns=${{target:bt}} initial=${{expires:"90d"}}
statement=${l} latest=${a.action} onRun=${c=>r(n.statement(t,c),l(c))} onClose=${o} />`}function ga({of:e,onClose:t}){return s`<${F} title=${`Token ${e.Name}`} onClose=${t}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
<p class="acts"><button class="button main" onClick=${()=>N(e.Token)}>Copy</button><button class="button" data-ui="secret-done" onClick=${t}>Done</button></p><//>`}var Te=e=>e.slice(0,16).replace("T"," ");function va({stores:e}){let{prefs:t,signIn:a,place:r}=e;_(r.page.value==="settings"?A(r.here.value.params,{}):[]),y(()=>{document.title="Settings \xB7 cordwood"},[]);let o=a.session.value;return s`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${$e} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${$e} label="Times" value=${t.zone} choices=${ka()} ui="zone" />
<${$e} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${$e} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${n=>t.table.value=n.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(n=>n.db==="public").map(n=>s`<option value=${n.name}>${n.name}</option>`)}</select></label>
<${wa} stores=${e} />
<div class="setting"><span>Searches</span><span>${b(t.history.value.length)} kept ${t.history.value.length>0&&s`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${o?.auth==="off"?"This server has no users: everybody may do everything.":s`<b>${o?.user??""}</b>${o?.auth==="token"&&", by a token"}`}</span></div>
${o&&o.auth!=="off"&&s`<div class="setting"><span>May</span><span>${ya(o).join(", ")||"nothing"}</span></div>`}
${a.user.value&&s`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>a.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${o&&o.auth!=="off"&&s`<${vt} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${o?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${o?.server?.version}</span></div>
<${xa} api=${e.api} />
</section></div>`}function wa({stores:e}){let{prefs:t,tables:a,api:r}=e,o=a.all.value.filter(d=>d.db==="public"),[n,i]=v(t.table.value),[l]=v(()=>G(H)),c=Fe(t,"public",[n]),u=o.some(d=>d.name===n);return y(()=>{if(!u)return;let d={db:"public",tables:[n],...Ue(c)};l.run($=>r.json({path:"/v1/explore/fields",body:d,signal:$}))},[n,u,c.message,c.level]),s`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?n:""} onChange=${d=>i(d.currentTarget.value)}>
<option value="">a table</option>${o.map(d=>s`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${T} latest=${l} what="Asking for the columns" />
${u&&l.value.value&&s`<${ze} fields=${l.value.value.fields} roles=${c} onRole=${(d,$)=>t.roles.set(We("public",[n]),{...c,[d]:$})} />`}`}function ya(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function ka(){return Object.fromEntries([...new Set([Ne,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function $e({label:e,value:t,choices:a,ui:r}){return s`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${r}><span>${e}</span><span class="choices-in-line">${Object.entries(a).map(([o,n])=>s`<label><input type="radio" name=${e} value=${o} checked=${t.value===o} onChange=${()=>t.value=o} />${n}</label>`)}</span></div>`}function xa({api:e}){let[t]=v(()=>G(H));return y(()=>{t.run(async a=>(await e.send({path:"/config",signal:a,need:["MONITOR","CLUSTER"]})).text())},[]),s`<div class="setting"><span>Started with</span><${T} latest=${t} what="Asking for the settings" />${t.value.value&&s`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var Ta=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],Ca=["INVERTED","SKIPPING","FULLTEXT"],Ce=[{id:"ttl",name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${P(t)}`},{id:"column",name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:a})=>`ALTER TABLE ${e} ADD COLUMN ${C(t)} ${a}`},{id:"index",name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:a})=>`ALTER TABLE ${e} MODIFY COLUMN ${C(t)} SET ${a} INDEX`},{id:"rename",name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${C(t)}`,gone:!0},{id:"truncate",name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function wt({id:e,db:t,name:a,info:r,fields:o,stores:n,onClose:i}){let{table:l,tables:c,place:u}=n,d=Ce.find(m=>m.id===e);async function $(m){let p=d.statement(C(a),m);await l.change(t,p)&&(W(`Done: ${p}`),i(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:m.to}:{db:t},{db:"public"}):await l.load(t,a))}return s`<${ue} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?a:""}
choices=${{type:Ta,index:Ca,column:o.map(m=>m.name)}} initial=${{ttl:r?.ttl??"",to:a}}
statement=${m=>d.statement(C(a),m)} latest=${l.action} onRun=${$} onClose=${i}>
${d.typed&&r&&s`<p><b>${t}.${a}</b> ${r.sized?`has ${b(r.rows)} ${r.rows===1?"row":"rows"}, ${x(r.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}function yt({db:e,name:t,info:a,stores:r,onClose:o}){let{table:n,prefs:i,signIn:l}=r,[c,u]=v("");y(()=>{n.latest.value.value=null,n.load(e,t)},[e,t]);let d=n.latest.value.value,$=i.zone.value,m=e==="svc_private"||e==="information_schema";return s`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!m&&l.canManage.value&&s`<${U} button=${s`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${p=>Ce.map(({id:h,name:f})=>s`<button class="choice" data-ui=${`do-${h}`} onClick=${()=>{p(),u(h)}}>${f}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${o}>✕</button></div>
<${z} since=${n.latest.since.value} onCancel=${n.latest.cancel} />
<div class="scrolled">
${a&&s`<${Oa} info=${a} lastRow=${d?.fields?d.lastRow??"none":""} zone=${$} />`}
<p class="acts"><a class="text go" href=${R("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${R("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${R("sql",{db:e,q:`SELECT * FROM ${C(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${T} latest=${n.latest} what="Asking for the table" />
${d&&s`${d.refused.map(p=>s`<p class="quiet none" data-ui="refused">Something is not shown: ${p.message}.</p>`)}
${d.fields&&s`<${Ra} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&s`<${_a} segments=${d.segments} zone=${$} />`}
${d.ddl!==null&&s`<${Sa} ddl=${d.ddl} />`}`}
</div>
${c&&s`<${wt} id=${c} db=${e} name=${t} info=${a} fields=${d?.fields??[]} stores=${r} onClose=${()=>u("")} />`}
</section>`}function Sa({ddl:e}){return s`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>N(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${He(e).map(t=>t.keyword?s`<b>${t.text}</b>`:t.text)}</pre>`}function Oa({info:e,lastRow:t,zone:a}){let r=[["rows",e.sized&&b(e.rows)],["bytes",e.sized&&`${x(e.bytes)}${e.rows>0?`, ${x(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${S(t,a)}, ${D(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return s`<dl>${r.map(([o,n])=>n&&s`<div><dt>${o}</dt><dd>${n}</dd></div>`)}</dl>`}function Ra({fields:e,rows:t}){return s`<h3 class="head">Columns<span class="quiet">${b(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(a=>{let r=[...new Set(t.map(o=>Re(o.v[a.name])).filter(Boolean))];return s`<tr><td>${a.name}${a.role&&s`<small>${a.role}</small>`}</td><td>${a.type}</td><td>${a.index??""}</td>
<td class="r">${Math.round(a.fill*100)} %</td><td class="samples" title=${r.join(", ").slice(0,500)}>${E(r.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function _a({segments:e,zone:t}){if(e.length===0)return s`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let a=Math.min(...e.map(l=>Date.parse(l.from))),r=Math.max(...e.map(l=>Date.parse(l.to))),o=Math.max(...e.map(l=>l.rows)),n=l=>r>a?(Date.parse(l)-a)/(r-a)*100:0,i=e.reduce((l,c)=>l+c.bytes,0);return s`<h3 class="head">Segments<span class="quiet">${b(e.length)}, ${x(i)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${S(e[e.length-1].from,t)} to ${S(e[0].to,t)}`}>${e.map(l=>s`<i key=${l.file} title=${`${b(l.rows)} rows, ${x(l.bytes)}, ${S(l.from,t)} \u2013 ${S(l.to,t)}`}
style=${{left:`${n(l.from)}%`,width:`max(2px, ${n(l.to)-n(l.from)}%)`,height:`${Math.max(4,l.rows/o*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${S(new Date(a).toISOString(),t)}</span><span>${S(new Date(r).toISOString(),t)}</span></p>`}var kt=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function Ea({stores:e}){let{tables:t,place:a}=e,r=a.here.value.params,[o,n]=[r.get("db")??"public",r.get("t")??""];_(a.page.value==="tables"?A(r,{db:null,t:null}):[]);let[i,l]=v(""),[c,u]=v({by:"name",down:!1});y(()=>{t.load()},[t]),y(()=>{document.title=n?`${o}.${n} \xB7 cordwood`:"Tables \xB7 cordwood"},[o,n]),y(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d(f,w){a.set("tables",{db:f,t:w},{db:"public"})}let $=t.all.value,m=Oe(()=>Aa($,i,c),[$,i,c]),p=n?$.find(f=>f.db===o&&f.name===n):void 0,h=t.latest.value.value!==null;return s`<h1 class="hidden">Tables</h1>
<${z} since=${h?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${n?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${i}
onInput=${f=>l(f.currentTarget.value)} />
<span class="quiet">${h&&Da($,m)}</span></div>
<${T} latest=${t.latest} what="Asking for the tables" />
${h&&$.length===0&&s`<${O} title="There is no table yet."><p>The first rows that you send to a table create it.</p>
<p class="acts"><a class="button main" href="/dashboard/add">Add data</a></p><//>`}
${$.length>0&&s`<${Na} shown=${m} sort=${c} onSort=${u} selected=${p} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${n&&(p||!h?s`<${yt} key=${`${o}.${n}`} db=${o} name=${n} info=${p} stores=${e} onClose=${()=>d("","")} />`:s`<section class="pane detail" aria-label="Table"><${O} title=${`There is no table ${o}.${n}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function Da(e,t){let a=t.reduce((o,n)=>o+n.bytes,0);return`${e.length===t.length?`${b(e.length)} ${e.length===1?"table":"tables"}`:`${b(t.length)} of ${b(e.length)} tables`}, ${x(a)}`}function Aa(e,t,a){let r=t.trim().toLowerCase(),o=kt.find(([l])=>l===a.by)?.[2]??(l=>`${l.db}.${l.name}`),n=new Intl.Collator("en",{numeric:!0}),i=e.filter(l=>`${l.db}.${l.name}`.toLowerCase().includes(r));return i.sort((l,c)=>{let[u,d]=[o(l),o(c)];return typeof u=="number"&&typeof d=="number"?u-d:n.compare(String(u),String(d))}),a.down?i.reverse():i}function Na({shown:e,sort:t,onSort:a,selected:r,onOpen:o,lastRows:n}){let i=B();y(()=>n.stop,[n]);let l=kt.map(([u,d,$,m])=>{if(!$)return s`<span class=${m}>${d}</span>`;let p=t.by===u;return s`<button class=${m} aria-pressed=${p} title=${`Sort by ${d}`}
onClick=${()=>a({by:u,down:p?!t.down:m.startsWith("r")})}>${d}${p&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],$=d===r;return s`<div class=${`row tablerow ${$?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${$} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>o(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&b(d.rows)}</span><span class="r" role="gridcell">${d.sized&&x(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${n.of(d)}>${Pa(n.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?x(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return s`<div class="tablehead tablerow">${l}</div>
<div class="rows"><${Pe} count=${e.length} height=${i?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{n.see(i?[]:e.slice(u,d))}}
focus=${r?e.indexOf(r):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Pa(e){return e===void 0?"":e?`${D(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function ja({stores:e}){let{tail:t,prefs:a,tables:r}=e,o=t.state.value,n=B(),[i,l]=v(null);y(()=>{t.clear(),l(null),o.table&&(a.table.value=o.table),t.follow(),document.title=`tail ${o.table} \xB7 cordwood`},[o.db,o.table,o.q]),qa(t),_(t.ignored.value),y(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>xt(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>l(null)]}),[e]);async function c(h){if(l(h),!h.cut)return;let f=await t.wholeRow(h).catch(()=>null);f&&l(w=>w?.id===h.id?f:w)}let{count:u,dropped:d,still:$}=t.drawn.value,m=t.held.value,p=a.zone.value;return s`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${h=>{h.preventDefault(),t.set({q:t.draft.value})}}
>
<${Be}
db=${o.db}
tables=${o.table?[o.table]:[]}
all=${r.all.value}
single
onPick=${(h,f)=>t.set({db:h,t:f[f.length-1]})}
/>
<${Ge}
text=${t.draft.value}
onText=${h=>t.draft.value=h}
onRun=${()=>t.set({q:t.draft.value})}
fault=${t.draft.value===o.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${a.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!m?"":"bad"}`}></span>${m?`Held at ${oe(m.at,p).time}`:t.live.value?`Live \xB7 ${b(t.rate.value)} rows/s`:"Not connected"}</span
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
aria-pressed=${o.wrap}
data-ui="wrap"
onClick=${()=>xt(t)}
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
${Ke.map(h=>s`<option value=${h}>${b(h)}</option>`)}
</select></label
>
<span class="grow"></span>
${m&&s`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${b(t.fresh())} new rows</button>`}
${d>0&&s`<span class="quiet" data-ui="tail-dropped">${b(d)} older rows are in the table only</span>`}
${$&&s`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${Tt(t)}
>Explore this</a
>
</div>
${t.ended.value&&s`<div class="banner" role="alert" data-ui="banner">${t.ended.value} <button class="text go" data-ui="retry" onClick=${()=>t.follow()}>Follow again</button> <a class="text go" href=${Tt(t)}>Show them in Explore</a></div>`}
${!t.isMissing()&&s`<${T} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${i?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows">
${u===0?s`<${O}
title=${t.isMissing()?`There is no table ${o.table} yet.`:o.table?`Waiting for new rows in ${o.table}.`:"Choose a table to follow."}
>
${t.isMissing()&&s`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${o.table&&!t.isMissing()&&s`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:s`<${ne}
count=${u}
at=${t.at}
shape=${t.shape.value}
columns=${Ee(n,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${p}
density=${a.density.value}
narrow=${n}
label=${`${u} rows, newest last`}
selected=${i?.id??""}
dropped=${d}
follow=${!m}
wrap=${o.wrap}
onEnd=${h=>!h&&t.hold()}
onOpen=${h=>{t.hold(),h.id===i?.id?l(null):c(h)}}
/>`}
</section>
${i&&s`<${Ie}
row=${i}
shape=${t.shape.value}
zone=${p}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${h=>t.set({q:je(o.q,h)})}
onWithout=${h=>t.set({q:qe(o.q,h)})}
onClose=${()=>l(null)}
/>`}
</div>`}function xt(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function Tt(e){let{db:t,table:a,q:r}=e.state.value;return R("explore",{db:t,t:a,q:r,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function qa(e){y(()=>{let t,a=0,r=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{a=Date.now(),e.stop()},3e4);else if(a){let n=`${Math.ceil((Date.now()-a)/1e3)+30}s`;a=0,e.follow(n)}},o=()=>{let n=getSelection();n&&!n.isCollapsed&&n.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",r),document.addEventListener("selectionchange",o),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",r),document.removeEventListener("selectionchange",o),e.stop()}},[e])}export{qt as AddPage,sa as ClusterPage,St as Compare,_t as Patterns,ra as RejectsPage,va as SettingsPage,Ea as TablesPage,ja as TailPage};
